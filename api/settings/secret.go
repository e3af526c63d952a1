package settings

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// sealPurpose separates the key of licence secrets from every other key that is derived from the deployment's secret.
const sealPurpose = "molfabric licence servers v1"

// sealer encrypts the secrets of licence servers with AES-256-GCM under a key derived from the deployment's secret.
type sealer struct{ aead cipher.AEAD }

func newSealer(secret []byte) (sealer, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, sealPurpose, 32)
	if err != nil {
		return sealer{}, fmt.Errorf("derive the key of licence secrets: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, fmt.Errorf("make the cipher of licence secrets: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return sealer{}, fmt.Errorf("make the cipher of licence secrets: %w", err)
	}
	return sealer{aead}, nil
}

// seal returns a random nonce and the ciphertext behind it. The server's id is bound to it: in another row it cannot be opened.
func (s sealer) seal(serverID, secret string) []byte {
	return s.aead.Seal(nil, nil, []byte(secret), []byte(serverID)) //nolint:gosec // G407: this AEAD draws its own nonce
}
