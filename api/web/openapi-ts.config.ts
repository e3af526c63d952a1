import { defineConfig } from '@hey-api/openapi-ts'

// The types and the client of the API, from its recorded OpenAPI document. Nobody writes a wire type by hand.
export default defineConfig({
  input: '../testdata/openapi.json',
  output: { path: 'src/api/generated' },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
})
