package client

import (
	"context"
	"net/http"

	"github.com/molfabric/molfabric/internal/contract"
)

// Pricing reads the public price book. It needs no credential.
func (c *Client) Pricing(ctx context.Context) (Answer[contract.Pricing], error) {
	return ask[contract.Pricing](ctx, c, call{method: http.MethodGet, path: "/v1/public/pricing"})
}

// ServiceStatus reads how the service is doing. It needs no credential.
func (c *Client) ServiceStatus(ctx context.Context) (Answer[contract.ServiceStatus], error) {
	return ask[contract.ServiceStatus](ctx, c, call{method: http.MethodGet, path: "/v1/public/status"})
}

// ReceiptKeys reads the public keys of receipts. It needs no credential.
func (c *Client) ReceiptKeys(ctx context.Context) (Answer[contract.ReceiptKeyList], error) {
	return ask[contract.ReceiptKeyList](ctx, c, call{method: http.MethodGet, path: "/v1/receipts/keys"})
}
