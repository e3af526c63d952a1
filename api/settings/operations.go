package settings

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	serversPath = "/v1/settings/license-servers"
	serverPath  = serversPath + "/{id}"
)

const (
	createText = "Software that a job names in its metadata then runs on this licence: without a licence fee, on no more tasks " +
		"at once than there are seats. Jobs that are already submitted stay as they are."
	replaceText = "Replaces everything but a secret that is left out. Another host, port or protocol makes the server " +
		"UNVERIFIED. Seats and switches count from the next task that starts."
	deleteText = "Jobs that rely on the server wait until the account has another one for the same software, or are cancelled."
	testText   = "Resolves the host and opens a TCP connection to the port: no more is sent or checked. The answer says what was " +
		"found. Addresses inside the service's own network are never contacted."
)

// Register adds the group's operations. All need a browser session.
func Register(api huma.API, s *Service) {
	huma.Register(api, operation("list-license-servers", http.MethodGet, serversPath, "List licence servers",
		"Every licence server of the account, newest first."), s.list)
	create := operation("create-license-server", http.MethodPost, serversPath, "Add a licence server", createText)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, s.create)
	huma.Register(api, operation("get-license-server", http.MethodGet, serverPath, "Read a licence server",
		"One server with the seats that are in use now. A secret is never shown."), s.get)
	huma.Register(api, operation("replace-license-server", http.MethodPut, serverPath, "Change a licence server", replaceText),
		s.replace)
	remove := operation("delete-license-server", http.MethodDelete, serverPath, "Remove a licence server", deleteText)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, s.remove)
	huma.Register(api, operation("test-license-server", http.MethodPost, serverPath+"/test", "Test a licence server", testText),
		s.test)
}

func operation(id, method, path, summary, text string) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Settings"},
	}, access.Rule{SessionOnly: true})
}

func (s *Service) list(ctx context.Context, _ *struct{}) (*listOutput, error) {
	found, err := s.List(ctx, access.From(ctx).AccountID)
	if err != nil {
		return nil, err
	}
	return &listOutput{Body: contract.LicenseServerList{LicenseServers: found}}, nil
}

func (s *Service) create(ctx context.Context, in *createInput) (*createOutput, error) {
	created, err := s.Create(ctx, access.From(ctx).AccountID, in.Body)
	if err != nil {
		return nil, err
	}
	return &createOutput{Location: "/api" + serversPath + "/" + created.ID, Body: created}, nil
}

func (s *Service) get(ctx context.Context, in *serverInput) (*serverOutput, error) {
	return answer(s.Get(ctx, access.From(ctx).AccountID, in.ID))
}

func (s *Service) replace(ctx context.Context, in *replaceInput) (*serverOutput, error) {
	return answer(s.Replace(ctx, access.From(ctx).AccountID, in.ID, in.Body))
}

func (s *Service) remove(ctx context.Context, in *serverInput) (*struct{}, error) {
	return nil, s.Delete(ctx, access.From(ctx).AccountID, in.ID)
}

func (s *Service) test(ctx context.Context, in *serverInput) (*serverOutput, error) {
	return answer(s.Test(ctx, access.From(ctx).AccountID, in.ID))
}

func answer(server contract.LicenseServer, err error) (*serverOutput, error) {
	if err != nil {
		return nil, err
	}
	return &serverOutput{Body: server}, nil
}
