package settings

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/secret"
)

// Resealed says what Reseal has done.
type Resealed struct {
	Sealed int `json:"sealed"` // that rest on the sealing secret now
	Lost   int `json:"lost"`   // that none of the secrets opens; their owners have to enter them again
}

// Reseal seals the secrets of all licence servers under the secret that seals, where they rest on another. It may run beside the
// API, be called again, and be given up: what it has done stays. The context must see everybody's rows.
func Reseal(ctx context.Context, db *sqlx.DB, secrets secret.Ring) (done Resealed, err error) {
	s, err := secret.NewSealer(secrets, sealPurpose)
	if err != nil {
		return done, err
	}
	for after := ""; ; {
		var page []sealedSecret
		err := postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
			page, err = selectElsewhere(ctx, tx, s.ID(), after, resealPage)
			for _, one := range page {
				if err == nil {
					err = resealOne(ctx, tx, s, one, &done)
				}
			}
			return err
		})
		if err != nil || len(page) < resealPage {
			return done, err
		}
		after = page[len(page)-1].ID
	}
}

func resealOne(ctx context.Context, tx *sqlx.Tx, s secret.Sealer, one sealedSecret, done *Resealed) error {
	plain, ok := s.Open(one.ID, one.Sealed)
	if !ok {
		done.Lost++
		return nil
	}
	done.Sealed++
	return storeSealed(ctx, tx, sealedSecret{ID: one.ID, Sealed: s.Seal(one.ID, plain)}, s.ID())
}

// resealPage bounds the rows that one transaction holds.
const resealPage = 200

// sealPurpose separates the key of licence secrets from every other key that is derived from the deployment's secret.
const sealPurpose = "molfabric licence servers v1"
