package contract

// UploadURLRequest asks for a place to put one file (doc/contract.md §2.6).
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

// MultipartInitRequest asks for an upload in parts.
type MultipartInitRequest struct {
	Filename          string `json:"filename" minLength:"1" maxLength:"1024" example:"trajectory.dcd" doc:"Name of the file; the storage key keeps its letters, digits, dots, dashes and underscores."`
	ContentType       string `json:"contentType" minLength:"1" maxLength:"255" pattern:"^[!-~]([ -~]*[!-~])?$" patternDescription:"printable ASCII" example:"application/octet-stream" doc:"Media type of the file."`
	Size              int64  `json:"size" minimum:"1" maximum:"5497558138880" example:"21474836480" doc:"Size of the file in bytes, at most 5 TiB."`
	PartSize          int64  `json:"partSize,omitempty" minimum:"1" example:"16777216" doc:"Size of every part but the last in bytes, brought to 5 MiB to 5 GiB and to at most 10,000 parts. Left out, it grows with the file."`
	SHA256            string `json:"sha256,omitempty" pattern:"^[0-9A-Fa-f]{64}$" patternDescription:"64 hexadecimal digits" doc:"SHA-256 of the whole file; completion reads the file back and refuses other bytes."`
	ProjectID         string `json:"projectId,omitempty" format:"uuid" example:"0190b8a4-7d7c-7c3e-8f6b-2f1d6c0a9e11" doc:"Project package that the file belongs to; needs logicalPath."`
	LogicalPath       string `json:"logicalPath,omitempty" minLength:"1" example:"textures/wood.png" doc:"Path of the file relative to its project, POSIX style; needs projectId."`
	JobType           string `json:"jobType,omitempty" maxLength:"64" example:"simulation" doc:"What kind of job the file is for; a hint."`
	ChecksumAlgorithm string `json:"checksumAlgorithm,omitempty" enum:"sha256" doc:"The store holds every part against its SHA-256. Part URLs then come from POST …/parts alone, which takes the checksums."`
}

// MultipartInitResponse says how the file is cut and where its first parts go.
type MultipartInitResponse struct {
	UploadID          string            `json:"uploadId" doc:"Handle of the upload."`
	Key               string            `json:"key" doc:"Storage key to pass as sceneFile or in an artifact reference, once the upload is complete."`
	PartSize          int64             `json:"partSize" doc:"Size of every part but the last in bytes."`
	PartCount         int               `json:"partCount" doc:"Number of parts."`
	Parts             []UploadPartURL   `json:"parts" doc:"Where the first 1000 parts go; POST …/parts gives the others. Empty with checksumAlgorithm."`
	Headers           map[string]string `json:"headers" doc:"Headers that each PUT of a part must carry beside its Content-Length."`
	ExpiresIn         int               `json:"expiresIn" doc:"Life of the URLs in seconds."`
	Provider          string            `json:"provider" doc:"Storage provider."`
	ChecksumAlgorithm *string           `json:"checksumAlgorithm" nullable:"true" doc:"sha256 when the store enforces checksums of parts."`
}

// UploadPartURL is where one part goes.
type UploadPartURL struct {
	PartNumber int    `json:"partNumber" minimum:"1" doc:"Number of the part."`
	URL        string `json:"url" doc:"Presigned URL of the PUT. It takes exactly the part's bytes and may be used again."`
}

// MultipartStatus says what of an upload has arrived.
type MultipartStatus struct {
	UploadID  string               `json:"uploadId" doc:"Handle of the upload."`
	Key       string               `json:"key" doc:"Storage key of the file."`
	PartSize  int64                `json:"partSize" doc:"Size of every part but the last in bytes."`
	PartCount int                  `json:"partCount" doc:"Number of parts."`
	Received  []UploadPartReceived `json:"received" doc:"Parts that the store has, ascending."`
	Missing   []int                `json:"missing" doc:"Numbers of the parts that the store lacks, ascending."`
	Complete  bool                 `json:"complete" doc:"Whether the upload has been completed and the file can be used."`
	Provider  string               `json:"provider" doc:"Storage provider."`
}

// UploadPartReceived is a part that the store has.
type UploadPartReceived struct {
	PartNumber int    `json:"partNumber" minimum:"1" doc:"Number of the part."`
	ETag       string `json:"etag" doc:"The store's name for the part's bytes."`
	Size       int64  `json:"size,omitempty" doc:"Size of the part in bytes."`
}

// PartURLsRequest asks for URLs of parts, for the first time or anew.
type PartURLsRequest struct {
	Parts []UploadPartRequest `json:"parts" minItems:"1" maxItems:"1000" doc:"Parts to sign URLs for, each once."`
}

// UploadPartRequest names a part.
type UploadPartRequest struct {
	PartNumber     int    `json:"partNumber" minimum:"1" doc:"Number of the part, up to partCount."`
	ChecksumSHA256 string `json:"checksumSha256,omitempty" minLength:"44" maxLength:"44" pattern:"^[A-Za-z0-9+/]{43}=$" patternDescription:"base64 of 32 bytes" example:"TeUH/dlKS9BPCCvMwFIVBEnvVqlqbhq7Q5gDFR09KQA=" doc:"SHA-256 of the part's bytes; required with checksumAlgorithm sha256, forbidden without."`
}

// PartURLsResponse says where the parts go.
type PartURLsResponse struct {
	UploadID  string             `json:"uploadId" doc:"Handle of the upload."`
	Parts     []UploadPartSigned `json:"parts" doc:"The parts asked for, in the request's order."`
	PartSize  int64              `json:"partSize" doc:"Size of every part but the last in bytes."`
	PartCount int                `json:"partCount" doc:"Number of parts."`
	ExpiresIn int                `json:"expiresIn" doc:"Life of the URLs in seconds."`
	Provider  string             `json:"provider" doc:"Storage provider."`
}

// UploadPartSigned is where one part goes and what must go with it.
type UploadPartSigned struct {
	PartNumber int               `json:"partNumber" minimum:"1" doc:"Number of the part."`
	URL        string            `json:"url" doc:"Presigned URL of the PUT. It takes exactly the part's bytes and may be used again."`
	Headers    map[string]string `json:"headers" doc:"Headers that the PUT must carry beside its Content-Length."`
}

// MultipartCompleteRequest lists what was sent.
type MultipartCompleteRequest struct {
	Parts  []UploadPartDone `json:"parts" minItems:"1" maxItems:"10000" doc:"Every part of the file, ascending."`
	SHA256 string           `json:"sha256,omitempty" pattern:"^[0-9A-Fa-f]{64}$" patternDescription:"64 hexadecimal digits" doc:"SHA-256 of the whole file; the file is read back and other bytes are refused."`
}

// UploadPartDone is a part as its sender knows it.
type UploadPartDone struct {
	PartNumber     int    `json:"partNumber" minimum:"1" doc:"Number of the part."`
	ETag           string `json:"etag,omitempty" maxLength:"256" doc:"Header ETag of the store's answer to the PUT; when given it must be the stored part's."`
	ChecksumSHA256 string `json:"checksumSha256,omitempty" minLength:"44" maxLength:"44" pattern:"^[A-Za-z0-9+/]{43}=$" patternDescription:"base64 of 32 bytes" doc:"SHA-256 of the part's bytes; required with checksumAlgorithm sha256, forbidden without."`
}

// MultipartCompleteResponse says what the file rests on.
type MultipartCompleteResponse struct {
	Key       string `json:"key" doc:"Storage key to pass as sceneFile or in an artifact reference."`
	Size      int64  `json:"size" doc:"Size of the file in bytes, as the store counts it."`
	Verified  bool   `json:"verified" doc:"Always true: what could be checked has been."`
	Integrity string `json:"integrity" enum:"parts-sha256,size" doc:"parts-sha256 when the store has held every part against its SHA-256, size when the bytes were counted. A sha256 of the whole file is checked in either case."`
	Provider  string `json:"provider" doc:"Storage provider."`
	ETag      string `json:"etag,omitempty" doc:"The store's name for the file's bytes."`
}
