package uploads

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

// maxCompleteBody holds the longest list of parts, 10,000 with ETag and checksum of about 180 bytes each.
const maxCompleteBody = 4 << 20

const (
	createText = "Reserves a storage key and answers with a presigned URL. Send the file there with the method and every header " +
		"of the answer, before the URL expires.\n\n" +
		"With projectId and logicalPath the file becomes part of a project package: the key ends in the path, so that relative " +
		"paths between files of one package resolve. " +
		"The same path again replaces the file, until a submitted job refers to its package; then it is refused. The URL of such " +
		"a file takes one PUT; a second gets 412 from the store.\n\n" +
		quotaText
	initText = "For files that are too large, or lines that are too poor, for one PUT. Put every part at its URL, in any order " +
		"and as often as needed, and then complete the upload. " +
		"An upload lives for seven days; a part's URL for expiresIn seconds, then ask for a new one.\n\n" +
		quotaText
	quotaText = "A file beyond the account's quota is refused, naming size. GET /v1/auth/session shows what is taken (storage)."
	partsText = "At most 1000 parts a request. In checksum mode the checksum is signed into the URL: send it as the headers " +
		"say, and the store refuses other bytes."
	completeText = "List every part, ascending. The file can be used once this has succeeded. It may be repeated and answers the " +
		"same. A stated sha256 has the whole file read back, which takes its time: " +
		"if the line breaks meanwhile or the answer is 503, repeat the request."
	abortText = "Frees what has arrived. It may be repeated. A completed upload has nothing left to abort: its file stays."
)

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	rule := access.Rule{Scope: access.JobsWrite}
	tags := []string{"Uploads"}
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "create-upload-url", Method: http.MethodPost, Path: "/v1/jobs/upload-url",
		Summary: "Get an address to upload a file to", Description: createText, Tags: []string{"Jobs"},
	}, rule), s.create)
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "init-upload", Method: http.MethodPost, Path: "/v1/uploads", DefaultStatus: http.StatusCreated,
		Summary: "Begin an upload in parts", Description: initText, Tags: tags,
	}, rule), s.initUpload)
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "get-upload", Method: http.MethodGet, Path: "/v1/uploads/{uploadId}", Errors: []int{http.StatusGone},
		Summary: "See which parts have arrived", Description: "What the store itself has of the upload, so that it can go on " +
			"after an interruption.", Tags: tags,
	}, rule), s.getUpload)
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "sign-upload-parts", Method: http.MethodPost, Path: "/v1/uploads/{uploadId}/parts",
		Errors: []int{http.StatusGone}, Summary: "Get addresses of parts, for the first time or anew", Description: partsText,
		Tags: tags,
	}, rule), s.signParts)
	large := rule
	large.MaxBody = maxCompleteBody
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "complete-upload", Method: http.MethodPost, Path: "/v1/uploads/{uploadId}/complete",
		DefaultStatus: http.StatusOK, Errors: []int{http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity},
		Summary: "Make the file of its parts", Description: completeText, Tags: tags,
	}, large), s.completeUpload)
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "abort-upload", Method: http.MethodDelete, Path: "/v1/uploads/{uploadId}", DefaultStatus: http.StatusNoContent,
		Summary: "Abort an upload", Description: abortText, Tags: tags,
	}, rule), s.abortUpload)
}

type createInput struct{ Body contract.UploadURLRequest }

type createOutput struct{ Body contract.UploadURLResponse }

func (s *Service) create(ctx context.Context, in *createInput) (*createOutput, error) {
	created, err := s.Create(ctx, access.From(ctx).AccountID, in.Body)
	if err != nil {
		return nil, err
	}
	return &createOutput{Body: created}, nil
}

type initInput struct{ Body contract.MultipartInitRequest }

type initOutput struct {
	Location string `header:"Location" doc:"Address of the upload."`
	Body     contract.MultipartInitResponse
}

func (s *Service) initUpload(ctx context.Context, in *initInput) (*initOutput, error) {
	begun, err := s.Init(ctx, access.From(ctx).AccountID, in.Body)
	if err != nil {
		return nil, err
	}
	return &initOutput{Location: "/api/v1/uploads/" + begun.UploadID, Body: begun}, nil
}

type named struct {
	UploadID string `path:"uploadId" doc:"Handle of the upload."`
}

type statusOutput struct{ Body contract.MultipartStatus }

func (s *Service) getUpload(ctx context.Context, in *named) (*statusOutput, error) {
	status, err := s.Status(ctx, access.From(ctx).AccountID, in.UploadID)
	if err != nil {
		return nil, err
	}
	return &statusOutput{Body: status}, nil
}

type signInput struct {
	UploadID string `path:"uploadId" doc:"Handle of the upload."`
	Body     contract.PartURLsRequest
}

type signOutput struct{ Body contract.PartURLsResponse }

func (s *Service) signParts(ctx context.Context, in *signInput) (*signOutput, error) {
	signed, err := s.SignParts(ctx, access.From(ctx).AccountID, in.UploadID, in.Body)
	if err != nil {
		return nil, err
	}
	return &signOutput{Body: signed}, nil
}

type completeInput struct {
	UploadID string `path:"uploadId" doc:"Handle of the upload."`
	Body     contract.MultipartCompleteRequest
}

type completeOutput struct {
	Body contract.MultipartCompleteResponse
}

func (s *Service) completeUpload(ctx context.Context, in *completeInput) (*completeOutput, error) {
	completed, err := s.Complete(ctx, access.From(ctx).AccountID, in.UploadID, in.Body)
	if err != nil {
		return nil, err
	}
	return &completeOutput{Body: completed}, nil
}

func (s *Service) abortUpload(ctx context.Context, in *named) (*struct{}, error) {
	return nil, s.Abort(ctx, access.From(ctx).AccountID, in.UploadID)
}
