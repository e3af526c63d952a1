package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

// Purposes of sealers, each the kind of row whose secrets it seals. They separate its keys from every other key of the deployment.
const (
	LicenceServers = "molfabric licence servers v1"
	Webhooks       = "molfabric webhooks v1"
)

// Sealer encrypts secrets of accounts with AES-256-GCM under keys derived from the deployment's secrets: with the first, and opens
// with any.
type Sealer struct {
	aeads []cipher.AEAD
	id    string // of the secret that seals
}

// NewSealer returns the sealer of one purpose.
func NewSealer(secrets Ring, purpose string) (Sealer, error) {
	keys, err := secrets.Derive(purpose)
	if err != nil {
		return Sealer{}, fmt.Errorf("the keys of %s: %w", purpose, err)
	}
	s := Sealer{id: secrets.ID()}
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return Sealer{}, fmt.Errorf("the cipher of %s: %w", purpose, err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return Sealer{}, fmt.Errorf("the cipher of %s: %w", purpose, err)
		}
		s.aeads = append(s.aeads, aead)
	}
	return s, nil
}

// ID is that of the secret that seals.
func (s Sealer) ID() string { return s.id }

// Seal returns a random nonce and the ciphertext behind it. The row's id is bound to it: in another row it cannot be opened.
func (s Sealer) Seal(rowID, secret string) []byte {
	return s.aeads[0].Seal(nil, nil, []byte(secret), []byte(rowID)) //nolint:gosec // G407: this AEAD draws its own nonce
}

// Open returns what was sealed for the row under any of the secrets.
func (s Sealer) Open(rowID string, sealed []byte) (secret string, ok bool) {
	for _, aead := range s.aeads {
		if plain, err := aead.Open(nil, nil, sealed, []byte(rowID)); err == nil {
			return string(plain), true
		}
	}
	return "", false
}
