package client

import (
	"context"
	"net/http"

	"github.com/molfabric/molfabric/internal/contract"
)

const noticesPath = "/v1/settings/notices"

// Notices reads what the account is told by mail. It needs a session.
func (c *Client) Notices(ctx context.Context) (Answer[contract.NoticeSettings], error) {
	return ask[contract.NoticeSettings](ctx, c, call{method: http.MethodGet, path: noticesPath, sessionOnly: true})
}

// ReplaceNotices changes what the account is told by mail. It needs a session.
func (c *Client) ReplaceNotices(ctx context.Context, notices contract.NoticeRequest) (Answer[contract.NoticeSettings], error) {
	return ask[contract.NoticeSettings](ctx, c, call{
		method: http.MethodPut, path: noticesPath, body: notices, sessionOnly: true, idempotent: true,
	})
}
