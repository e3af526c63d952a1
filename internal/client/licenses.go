package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/molfabric/molfabric/internal/contract"
)

const licenseServersPath = "/v1/settings/license-servers"

// LicenseServers lists the account's licence servers. It needs a session.
func (c *Client) LicenseServers(ctx context.Context) (Answer[contract.LicenseServerList], error) {
	return ask[contract.LicenseServerList](ctx, c, call{method: http.MethodGet, path: licenseServersPath, sessionOnly: true})
}

// AddLicenseServer adds a licence server, untested. It needs a session, and is not repeated after a broken connection.
func (c *Client) AddLicenseServer(
	ctx context.Context, server contract.LicenseServerRequest,
) (Answer[contract.LicenseServer], error) {
	return ask[contract.LicenseServer](ctx, c, call{
		method: http.MethodPost, path: licenseServersPath, body: server, sessionOnly: true,
	})
}

// TestLicenseServer has the service connect to a licence server; Status and LastError say what was found. It needs a session.
func (c *Client) TestLicenseServer(ctx context.Context, serverID string) (Answer[contract.LicenseServer], error) {
	return ask[contract.LicenseServer](ctx, c, call{
		method: http.MethodPost, path: licenseServerPath(serverID) + "/test", sessionOnly: true, idempotent: true,
	})
}

// RemoveLicenseServer removes a licence server. It needs a session, and is not repeated after a broken connection: the server
// would be gone already.
func (c *Client) RemoveLicenseServer(ctx context.Context, serverID string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: licenseServerPath(serverID), sessionOnly: true})
}

func licenseServerPath(serverID string) string {
	return licenseServersPath + "/" + url.PathEscape(serverID)
}
