package settings

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"fmt"

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
	s, err := newSealer(secrets)
	if err != nil {
		return done, err
	}
	for after := ""; ; {
		var page []sealedSecret
		err := postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
			page, err = selectElsewhere(ctx, tx, s.id, after, resealPage)
			for _, one := range page {
				if err == nil {
					err = s.reseal(ctx, tx, one, &done)
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

func (s sealer) reseal(ctx context.Context, tx *sqlx.Tx, one sealedSecret, done *Resealed) error {
	plain, ok := s.open(one.ID, one.Sealed)
	if !ok {
		done.Lost++
		return nil
	}
	done.Sealed++
	return storeSealed(ctx, tx, sealedSecret{ID: one.ID, Sealed: s.seal(one.ID, plain)}, s.id)
}

// resealPage bounds the rows that one transaction holds.
const resealPage = 200

// sealPurpose separates the key of licence secrets from every other key that is derived from the deployment's secret.
const sealPurpose = "molfabric licence servers v1"

// sealer encrypts the secrets of licence servers with AES-256-GCM under keys derived from the deployment's secrets: with the first,
// and opens with any.
type sealer struct {
	aeads []cipher.AEAD
	id    string // of the secret that seals
}

func newSealer(secrets secret.Ring) (sealer, error) {
	keys, err := secrets.Derive(sealPurpose)
	if err != nil {
		return sealer{}, fmt.Errorf("the keys of licence secrets: %w", err)
	}
	s := sealer{id: secrets.ID()}
	for _, key := range keys {
		aead, err := newAEAD(key)
		if err != nil {
			return sealer{}, fmt.Errorf("make the cipher of licence secrets: %w", err)
		}
		s.aeads = append(s.aeads, aead)
	}
	return s, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal returns a random nonce and the ciphertext behind it. The server's id is bound to it: in another row it cannot be opened.
func (s sealer) seal(serverID, secret string) []byte {
	return s.aeads[0].Seal(nil, nil, []byte(secret), []byte(serverID)) //nolint:gosec // G407: this AEAD draws its own nonce
}

// open returns what was sealed for the server under any of the secrets.
func (s sealer) open(serverID string, sealed []byte) (secret string, ok bool) {
	for _, aead := range s.aeads {
		if plain, err := aead.Open(nil, nil, sealed, []byte(serverID)); err == nil {
			return string(plain), true
		}
	}
	return "", false
}
