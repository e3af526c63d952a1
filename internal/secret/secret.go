// Package secret holds the deployment's secrets, under which API keys are hashed, links of shares are made and secrets of accounts
// are sealed. One seals; others only open, so that a secret can be replaced while everything that rests on the one before still
// works. It knows nothing of what is sealed.
package secret

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// MinBytes is the least length of a secret: that of the digests it keys.
const MinBytes = 32

// idPurpose separates the ids of secrets from everything else that is derived from them.
const idPurpose = "molfabric secret id v1"

// idBytes tell the few secrets of one deployment apart, and are no help to guess a secret of MinBytes.
const idBytes = 6

// Ring is the secrets of a deployment. Its zero value has none and seals nothing. Rings are values: they never change.
type Ring struct {
	all [][]byte // the sealing one first
	ids []string
}

// NewRing returns a ring that seals with one secret and opens with the others as well, in any order; repeats count once. An error
// says which secret is too short, by its place, and never what it is.
func NewRing(sealing []byte, others ...[]byte) (Ring, error) {
	var r Ring
	for i, one := range append([][]byte{sealing}, others...) {
		if len(one) < MinBytes {
			return Ring{}, fmt.Errorf("%s has %d bytes; it needs at least %d", place(i), len(one), MinBytes)
		}
		id, err := idOf(one)
		if err != nil {
			return Ring{}, err
		}
		if !r.holds(one) {
			r.all, r.ids = append(r.all, bytes.Clone(one)), append(r.ids, id)
		}
	}
	return r, nil
}

// One is a ring of a single secret, for programs that have checked it.
func One(sealing []byte) Ring {
	r, err := NewRing(sealing)
	if err != nil {
		panic(err)
	}
	return r
}

func place(i int) string {
	if i == 0 {
		return "the secret that seals"
	}
	return fmt.Sprintf("secret %d of those that only open", i)
}

func (r Ring) holds(secret []byte) bool {
	for _, one := range r.all {
		if bytes.Equal(one, secret) {
			return true
		}
	}
	return false
}

func idOf(secret []byte) (string, error) {
	id, err := hkdf.Key(sha256.New, secret, nil, idPurpose, idBytes)
	if err != nil {
		return "", fmt.Errorf("derive the id of a secret: %w", err)
	}
	return hex.EncodeToString(id), nil
}

// IsZero reports whether the ring has no secret.
func (r Ring) IsZero() bool { return len(r.all) == 0 }

// Sealing is the secret that everything new is made under.
func (r Ring) Sealing() []byte { return r.all[0] }

// All are the secrets, the sealing one first.
func (r Ring) All() [][]byte { return r.all }

// ID names the sealing secret: it may be shown and stored, and tells nothing of the secret.
func (r Ring) ID() string { return r.ids[0] }

// IDs name the secrets in the order of All.
func (r Ring) IDs() []string { return r.ids }

// String keeps secrets out of logs and errors.
func (r Ring) String() string { return fmt.Sprintf("secrets %v", r.ids) }

// GoString is String.
func (r Ring) GoString() string { return r.String() }

// Derive returns a key of sha256.Size bytes for a purpose from each secret, in the order of All.
func (r Ring) Derive(purpose string) ([][]byte, error) {
	keys := make([][]byte, len(r.all))
	for i, one := range r.all {
		key, err := hkdf.Key(sha256.New, one, nil, purpose, sha256.Size)
		if err != nil {
			return nil, fmt.Errorf("derive a key: %w", err)
		}
		keys[i] = key
	}
	return keys, nil
}
