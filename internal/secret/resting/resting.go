// Package resting tells what rests on which of the deployment's secrets, so that whoever runs it knows when an earlier one may go.
// It knows where ids of secrets are stored, and no secret.
package resting

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/secret"
)

// lately is how long ago a key may have been used to count as in use.
const lately = 30 * 24 * time.Hour

// Kinds of what rests on a secret.
const (
	Keys     = "API keys"
	Licences = "secrets of licence servers"
	Webhooks = "secrets of webhooks"
	Shares   = "links of shared projects"
	// Addresses are those of closed accounts that have had their free credit.
	Addresses = "addresses that have had their free credit"
)

// Rest is what of one kind rests on the secrets of a ring.
type Rest struct {
	Kind    string `json:"kind"`
	Sealing int    `json:"sealing"` // on the secret that seals
	Earlier int    `json:"earlier"` // on another, or on one that nobody has noted
	// Lately are those of Earlier that were used in the last 30 days; all of them where uses are not noted.
	Lately int `json:"lately"`
}

// Count counts what is still good: no revoked or expired key, no revoked share. The context must see everybody's rows.
func Count(ctx context.Context, db *sqlx.DB, secrets secret.Ring, now time.Time) ([]Rest, error) {
	return selectRests(ctx, db, secrets.ID(), now, now.Add(-lately))
}

// Hindrance is what would end with the earlier secrets, or "" for nothing that is in use. Links do not count, nor addresses: nobody
// can make them anew but their owners.
func Hindrance(rests []Rest) (kind string, count int) {
	for _, one := range rests {
		if one.Kind != Shares && one.Kind != Addresses && one.Lately > 0 {
			return one.Kind, one.Lately
		}
	}
	return "", 0
}
