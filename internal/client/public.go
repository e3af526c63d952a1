package client

import (
	"context"
	"net/http"
	"time"
)

// Tier is an amount of credit that can be bought, in GBP pence.
type Tier struct {
	ID         string `json:"id"`
	PricePence int64  `json:"pricePence"` // what is paid and credited
	BonusPence int64  `json:"bonusPence"` // what is credited beside it
}

// Pricing is what this client shows of the public price book.
type Pricing struct {
	Document
	Currency string `json:"currency"`
	Tiers    []Tier `json:"tiers"`
}

// ServiceStatus is how the service is doing.
type ServiceStatus struct {
	Document
	Status  string `json:"status"` // operational or degraded
	Version string `json:"version"`
	Parts   []struct {
		Name        string `json:"name"`
		Operational bool   `json:"operational"`
	} `json:"parts"`
	Workers []struct {
		Simulator string `json:"simulator"`
		Workers   int    `json:"workers"`
		Slots     int    `json:"slots"` // cores for engines
	} `json:"workers"`
	CheckedAt time.Time `json:"checkedAt"`
}

// Pricing reads the public price book. It needs no credential.
func (c *Client) Pricing(ctx context.Context) (Pricing, error) {
	var pricing Pricing
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/public/pricing", into: &pricing})
	return pricing, err
}

// ServiceStatus reads how the service is doing. It needs no credential.
func (c *Client) ServiceStatus(ctx context.Context) (ServiceStatus, error) {
	var status ServiceStatus
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/public/status", into: &status})
	return status, err
}
