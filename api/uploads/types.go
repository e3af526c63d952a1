package uploads

import "time"

// urlLifetime is how long an upload URL is good (specification §8).
const urlLifetime = time.Hour

// provider is the storage provider that answers name: every deployment speaks S3.
const provider = "s3"

// UploadURLRequest asks for a place to put one file (specification §2.6).
type UploadURLRequest struct {
	Filename    string `json:"filename" minLength:"1" maxLength:"1024" doc:"Name of the file; the storage key keeps its letters, digits, dots, dashes and underscores."`
	ContentType string `json:"contentType" minLength:"1" maxLength:"255" pattern:"^[!-~]([ -~]*[!-~])?$" patternDescription:"printable ASCII" doc:"Media type of the file; it is signed, so the PUT must send it."`
	Size        int64  `json:"size" minimum:"1" maximum:"5368709120" doc:"Size of the file in bytes; it is signed, so the PUT must send exactly as many."`
	SHA256      string `json:"sha256,omitempty" pattern:"^[0-9A-Fa-f]{64}$" patternDescription:"64 hexadecimal digits" doc:"SHA-256 of the whole file; the store then refuses other bytes."`
	ProjectID   string `json:"projectId,omitempty" format:"uuid" example:"0190b8a4-7d7c-7c3e-8f6b-2f1d6c0a9e11" doc:"Project package that the file belongs to, made up by the client and shared by the package's files; needs logicalPath."`
	LogicalPath string `json:"logicalPath,omitempty" minLength:"1" example:"textures/wood.png" doc:"Path of the file relative to its project, POSIX style; needs projectId. It is the end of the storage key, to the letter."`
}

// UploadURLResponse says where and how to put the file.
type UploadURLResponse struct {
	UploadURL string            `json:"uploadUrl" doc:"Presigned URL of the PUT."`
	S3Key     string            `json:"s3Key" doc:"Storage key to pass as sceneFile or in an artifact reference."`
	Method    string            `json:"method" enum:"PUT" doc:"Always PUT."`
	ExpiresIn int               `json:"expiresIn" doc:"Life of the URL in seconds."`
	Provider  string            `json:"provider" doc:"Storage provider."`
	Headers   map[string]string `json:"headers,omitempty" doc:"Headers that the PUT must carry, unchanged."`
}
