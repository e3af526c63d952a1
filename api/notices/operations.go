package notices

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

const noticesPath = "/v1/settings/notices"

const (
	getText = "What the account is told by mail, where mails go, and whether any are sent. Credit that runs low and a key that " +
		"is used from somewhere new are mailed until the account says otherwise; jobs that end are not."
	replaceText = "Mails of what is left out end at once, also those that wait. What happened before an event was asked for is " +
		"not mailed."
)

// Register adds the group's operations. All need a browser session.
func Register(api huma.API, s *Service) {
	huma.Register(api, operation("get-notices", http.MethodGet, "Read what is mailed", getText), s.get)
	huma.Register(api, operation("replace-notices", http.MethodPut, "Choose what is mailed", replaceText), s.replace)
}

func operation(id, method, summary, text string) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: method, Path: noticesPath, Summary: summary, Description: text, Tags: []string{"Settings"},
	}, access.Rule{SessionOnly: true})
}

type replaceInput struct{ Body contract.NoticeRequest }

type output struct{ Body contract.NoticeSettings }

func (s *Service) get(ctx context.Context, _ *struct{}) (*output, error) {
	found, err := s.Get(ctx, access.From(ctx).AccountID)
	if err != nil {
		return nil, err
	}
	return &output{Body: found}, nil
}

func (s *Service) replace(ctx context.Context, in *replaceInput) (*output, error) {
	if err := s.Replace(ctx, access.From(ctx).AccountID, in.Body); err != nil {
		return nil, err
	}
	return s.get(ctx, nil)
}
