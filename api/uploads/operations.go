package uploads

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
)

const createText = "Reserves a storage key and answers with a presigned URL. Send the file there with the method and every header of the answer, before the URL expires."

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "create-upload-url", Method: http.MethodPost, Path: "/v1/jobs/upload-url",
		Summary: "Get an address to upload a file to", Description: createText, Tags: []string{"Jobs"},
	}, access.Rule{Scope: access.JobsWrite}), s.create)
}

type createInput struct{ Body UploadURLRequest }

type createOutput struct{ Body UploadURLResponse }

func (s *Service) create(ctx context.Context, in *createInput) (*createOutput, error) {
	created, err := s.Create(ctx, access.From(ctx).AccountID, in.Body)
	if err != nil {
		return nil, err
	}
	return &createOutput{Body: created}, nil
}
