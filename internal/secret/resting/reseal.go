package resting

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

// resealPage bounds the rows that one transaction holds.
const resealPage = 200

// Reseal seals the secrets that accounts have entrusted to the deployment under the secret that seals, where they rest on another.
// It may run beside the API, be called again, and be given up: what it has done stays. The context must see everybody's rows.
func Reseal(ctx context.Context, db *sqlx.DB, secrets secret.Ring) (done Resealed, err error) {
	for _, kind := range sealedKinds {
		sealer, err := secret.NewSealer(secrets, kind.purpose)
		if err != nil {
			return done, err
		}
		for after := ""; ; {
			var page []sealed
			err := postgres.InTx(ctx, db, func(tx *sqlx.Tx) (err error) {
				page, err = kind.elsewhere(ctx, tx, sealer.ID(), after, resealPage)
				for _, one := range page {
					if err == nil {
						err = kind.reseal(ctx, tx, sealer, one, &done)
					}
				}
				return err
			})
			if err != nil {
				return done, err
			}
			if len(page) < resealPage {
				break
			}
			after = page[len(page)-1].ID
		}
	}
	return done, nil
}

func (k sealedKind) reseal(ctx context.Context, tx *sqlx.Tx, sealer secret.Sealer, one sealed, done *Resealed) error {
	plain, ok := sealer.Open(one.ID, one.Sealed)
	if !ok {
		done.Lost++
		return nil
	}
	done.Sealed++
	return k.store(ctx, tx, sealed{ID: one.ID, Sealed: sealer.Seal(one.ID, plain)}, sealer.ID())
}
