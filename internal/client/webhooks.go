package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/molfabric/molfabric/internal/contract"
)

const webhooksPath = "/v1/settings/webhooks"

// Webhooks lists the account's webhooks. It needs a session, as everything about them does.
func (c *Client) Webhooks(ctx context.Context) (Answer[contract.WebhookList], error) {
	return ask[contract.WebhookList](ctx, c, call{method: http.MethodGet, path: webhooksPath, sessionOnly: true})
}

// Webhook reads one webhook.
func (c *Client) Webhook(ctx context.Context, webhookID string) (Answer[contract.Webhook], error) {
	return ask[contract.Webhook](ctx, c, call{method: http.MethodGet, path: webhookPath(webhookID), sessionOnly: true})
}

// AddWebhook adds a webhook; the answer has its secret. It is not repeated after a broken connection.
func (c *Client) AddWebhook(ctx context.Context, webhook contract.WebhookRequest) (Answer[contract.Webhook], error) {
	return ask[contract.Webhook](ctx, c, call{method: http.MethodPost, path: webhooksPath, body: webhook, sessionOnly: true})
}

// ReplaceWebhook changes everything of a webhook but its secret.
func (c *Client) ReplaceWebhook(
	ctx context.Context, webhookID string, webhook contract.WebhookRequest,
) (Answer[contract.Webhook], error) {
	return ask[contract.Webhook](ctx, c, call{
		method: http.MethodPut, path: webhookPath(webhookID), body: webhook, sessionOnly: true, idempotent: true,
	})
}

// RotateWebhookSecret makes a new secret, which the answer has. It is not repeated after a broken connection.
func (c *Client) RotateWebhookSecret(ctx context.Context, webhookID string) (Answer[contract.Webhook], error) {
	return ask[contract.Webhook](ctx, c, call{
		method: http.MethodPost, path: webhookPath(webhookID) + "/rotate-secret", sessionOnly: true,
	})
}

// TestWebhook has a message sent; the webhook's deliveries say what came of it.
func (c *Client) TestWebhook(ctx context.Context, webhookID string) (Answer[contract.WebhookDelivery], error) {
	return ask[contract.WebhookDelivery](ctx, c, call{
		method: http.MethodPost, path: webhookPath(webhookID) + "/test", sessionOnly: true,
	})
}

// WebhookDeliveries lists the newest messages to a webhook.
func (c *Client) WebhookDeliveries(ctx context.Context, webhookID string) (Answer[contract.WebhookDeliveryList], error) {
	return ask[contract.WebhookDeliveryList](ctx, c, call{
		method: http.MethodGet, path: webhookPath(webhookID) + "/deliveries", sessionOnly: true,
	})
}

// ReplayWebhookDelivery has a message sent once more.
func (c *Client) ReplayWebhookDelivery(
	ctx context.Context, webhookID, deliveryID string,
) (Answer[contract.WebhookDelivery], error) {
	return ask[contract.WebhookDelivery](ctx, c, call{
		method: http.MethodPost, path: webhookPath(webhookID) + "/deliveries/" + url.PathEscape(deliveryID) + "/replay",
		sessionOnly: true, idempotent: true,
	})
}

// RemoveWebhook removes a webhook with its messages. It is not repeated after a broken connection: the webhook would be gone
// already.
func (c *Client) RemoveWebhook(ctx context.Context, webhookID string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: webhookPath(webhookID), sessionOnly: true})
}

func webhookPath(webhookID string) string { return webhooksPath + "/" + url.PathEscape(webhookID) }
