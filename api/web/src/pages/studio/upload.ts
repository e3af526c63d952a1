// A file on its way to the account's uploads.

import { answered, ApiError, createUploadUrl } from '@/api/client'

/** Stores a file and returns its storage key. */
export async function upload(file: File): Promise<string> {
  const contentType = file.type || 'application/octet-stream'
  const place = await answered(createUploadUrl({ body: { filename: file.name, size: file.size, contentType } }))
  let response: Response
  try {
    response = await fetch(place.uploadUrl,
      { method: place.method, headers: { ...(place.headers as Record<string, string> | undefined), 'Content-Type': contentType },
      body: file })
  } catch {
    throw new ApiError(0, { error: 'The file did not arrive. Look at your connection and try again.' })
  }
  if (!response.ok) throw new ApiError(response.status, { error: `The store did not take the file (${response.status}). Try again.` })
  return place.s3Key
}
