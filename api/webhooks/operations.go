package webhooks

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	webhooksPath   = "/v1/settings/webhooks"
	webhookPath    = webhooksPath + "/{id}"
	deliveriesPath = webhookPath + "/deliveries"
)

const (
	createText = "A server of the account's own is then told of events, by messages that are signed as Standard Webhooks has it: " +
		"the answer has the secret, which is shown once. What happened before is not told."
	replaceText = "Replaces everything but the secret. A webhook that is enabled again is told of what happens from then on."
	deleteText  = "Messages that wait are not sent, and no more are listed."
	rotateText  = "Makes a new secret, which is shown once and signs everything from now on, also what is sent again."
	testText    = "Sends a message of the type webhook.test, whatever the webhook asks for. The deliveries say what came of it."
	listText    = "The newest messages, with what was sent, how often and what was answered. They are kept for 30 days."
	replayText  = "Sends a message once more, as the same message, also one that was taken or given up. The webhook must be " +
		"enabled."
)

// Register adds the group's operations. All need a browser session.
func Register(api huma.API, s *Service) {
	huma.Register(api, operation("list-webhooks", http.MethodGet, webhooksPath, "List webhooks",
		"Every webhook of the account, newest first."), s.list)
	create := operation("create-webhook", http.MethodPost, webhooksPath, "Add a webhook", createText)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, s.create)
	huma.Register(api, operation("get-webhook", http.MethodGet, webhookPath, "Read a webhook",
		"One webhook, without its secret."), s.get)
	huma.Register(api, operation("replace-webhook", http.MethodPut, webhookPath, "Change a webhook", replaceText), s.replace)
	remove := operation("delete-webhook", http.MethodDelete, webhookPath, "Remove a webhook", deleteText)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, s.remove)
	huma.Register(api, operation("rotate-webhook-secret", http.MethodPost, webhookPath+"/rotate-secret",
		"Make a new secret of a webhook", rotateText), s.rotate)
	huma.Register(api, operation("test-webhook", http.MethodPost, webhookPath+"/test", "Test a webhook", testText), s.test)
	huma.Register(api, operation("list-webhook-deliveries", http.MethodGet, deliveriesPath, "List messages to a webhook", listText),
		s.deliveries)
	huma.Register(api, operation("replay-webhook-delivery", http.MethodPost, deliveriesPath+"/{deliveryId}/replay",
		"Send a message once more", replayText), s.replay)
}

func operation(id, method, path, summary, text string) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Settings"},
	}, access.Rule{SessionOnly: true})
}

type createInput struct{ Body contract.WebhookRequest }

type createOutput struct {
	Location string `header:"Location" doc:"Address of the webhook."`
	Body     contract.Webhook
}

type listOutput struct{ Body contract.WebhookList }

type webhookInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the webhook."`
}

type replaceInput struct {
	ID   string `path:"id" maxLength:"64" doc:"Id of the webhook."`
	Body contract.WebhookRequest
}

type webhookOutput struct{ Body contract.Webhook }

type deliveriesOutput struct{ Body contract.WebhookDeliveryList }

type deliveryInput struct {
	ID         string `path:"id" maxLength:"64" doc:"Id of the webhook."`
	DeliveryID string `path:"deliveryId" maxLength:"128" doc:"Id of the message."`
}

type deliveryOutput struct{ Body contract.WebhookDelivery }

func (s *Service) list(ctx context.Context, _ *struct{}) (*listOutput, error) {
	found, err := s.List(ctx, access.From(ctx).AccountID)
	if err != nil {
		return nil, err
	}
	return &listOutput{Body: contract.WebhookList{Webhooks: found}}, nil
}

func (s *Service) create(ctx context.Context, in *createInput) (*createOutput, error) {
	created, err := s.Create(ctx, access.From(ctx).AccountID, in.Body)
	if err != nil {
		return nil, err
	}
	return &createOutput{Location: "/api" + webhooksPath + "/" + created.ID, Body: created}, nil
}

func (s *Service) get(ctx context.Context, in *webhookInput) (*webhookOutput, error) {
	return answer(s.Get(ctx, access.From(ctx).AccountID, in.ID))
}

func (s *Service) replace(ctx context.Context, in *replaceInput) (*webhookOutput, error) {
	return answer(s.Replace(ctx, access.From(ctx).AccountID, in.ID, in.Body))
}

func (s *Service) remove(ctx context.Context, in *webhookInput) (*struct{}, error) {
	return nil, s.Delete(ctx, access.From(ctx).AccountID, in.ID)
}

func (s *Service) rotate(ctx context.Context, in *webhookInput) (*webhookOutput, error) {
	return answer(s.Rotate(ctx, access.From(ctx).AccountID, in.ID))
}

func (s *Service) test(ctx context.Context, in *webhookInput) (*deliveryOutput, error) {
	return delivery(s.Test(ctx, access.From(ctx).AccountID, in.ID))
}

func (s *Service) deliveries(ctx context.Context, in *webhookInput) (*deliveriesOutput, error) {
	found, err := s.Deliveries(ctx, access.From(ctx).AccountID, in.ID)
	if err != nil {
		return nil, err
	}
	return &deliveriesOutput{Body: contract.WebhookDeliveryList{Deliveries: found}}, nil
}

func (s *Service) replay(ctx context.Context, in *deliveryInput) (*deliveryOutput, error) {
	return delivery(s.Replay(ctx, access.From(ctx).AccountID, in.ID, in.DeliveryID))
}

func answer(found contract.Webhook, err error) (*webhookOutput, error) {
	if err != nil {
		return nil, err
	}
	return &webhookOutput{Body: found}, nil
}

func delivery(found contract.WebhookDelivery, err error) (*deliveryOutput, error) {
	if err != nil {
		return nil, err
	}
	return &deliveryOutput{Body: found}, nil
}
