package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// NewLicenseServer is a licence server to add. Empty members are the server's to choose.
type NewLicenseServer struct {
	Name        string `json:"name"`
	Vendor      string `json:"vendor"`
	Product     string `json:"product"`
	Protocol    string `json:"protocol"` // flexlm, rlm, sesi or custom
	Host        string `json:"host"`
	Port        int    `json:"port"`
	Seats       int    `json:"seats"`
	Enforcement string `json:"enforcement,omitempty"` // ENFORCED, ADVISORY or DISABLED
	Secret      string `json:"secret,omitempty"`      // never shown again
}

// LicenseServer is a licence server of the account's own.
type LicenseServer struct {
	Document
	ID            string     `json:"id"`
	Name          string     `json:"name"`
	Vendor        string     `json:"vendor"`
	Product       string     `json:"product"`
	Protocol      string     `json:"protocol"`
	Host          string     `json:"host"`
	Port          int        `json:"port"`
	Seats         int        `json:"seats"`
	SeatsInUse    int        `json:"seatsInUse"`
	Enforcement   string     `json:"enforcement"`
	Enabled       bool       `json:"enabled"`
	Status        string     `json:"status"` // UNVERIFIED, READY or NOT_READY
	LastCheckedAt *time.Time `json:"lastCheckedAt"`
	LastError     *string    `json:"lastError"`
}

// LicenseServers is every licence server of an account, newest first.
type LicenseServers struct {
	Document
	LicenseServers []LicenseServer `json:"licenseServers"`
}

const licenseServersPath = "/v1/settings/license-servers"

// LicenseServers lists the account's licence servers. It needs a session.
func (c *Client) LicenseServers(ctx context.Context) (LicenseServers, error) {
	var servers LicenseServers
	err := c.do(ctx, call{method: http.MethodGet, path: licenseServersPath, sessionOnly: true, into: &servers})
	return servers, err
}

// AddLicenseServer adds a licence server, untested. It needs a session, and is not repeated after a broken connection.
func (c *Client) AddLicenseServer(ctx context.Context, server NewLicenseServer) (LicenseServer, error) {
	var added LicenseServer
	err := c.do(ctx, call{method: http.MethodPost, path: licenseServersPath, body: server, sessionOnly: true, into: &added})
	return added, err
}

// TestLicenseServer has the service connect to a licence server; Status and LastError say what was found. It needs a session.
func (c *Client) TestLicenseServer(ctx context.Context, serverID string) (LicenseServer, error) {
	var tested LicenseServer
	err := c.do(ctx, call{method: http.MethodPost, path: licenseServerPath(serverID) + "/test", sessionOnly: true, idempotent: true, into: &tested})
	return tested, err
}

// RemoveLicenseServer removes a licence server. It needs a session, and is not repeated after a broken connection: the server
// would be gone already.
func (c *Client) RemoveLicenseServer(ctx context.Context, serverID string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: licenseServerPath(serverID), sessionOnly: true})
}

func licenseServerPath(serverID string) string {
	return licenseServersPath + "/" + url.PathEscape(serverID)
}
