package roles

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/molfabric/molfabric/internal/config"
)

// secretBytes is the length of a generated key secret, that of the digest it keys.
const secretBytes = 32

// keySecret returns the secret under which API keys are hashed: the configured one, or one that is made once and kept in the
// home directory for its owner alone. Several API instances must be configured with the same.
func keySecret(cfg config.Config) ([]byte, error) {
	if cfg.KeySecret != "" {
		return []byte(cfg.KeySecret), nil
	}
	path := filepath.Join(cfg.Home, "key-secret")
	stored, err := os.ReadFile(path)
	if err == nil {
		return stored, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the key secret: %w", err)
	}
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails
	secret := []byte(base64.RawStdEncoding.EncodeToString(raw))
	if err := os.MkdirAll(cfg.Home, 0o755); err != nil {
		return nil, fmt.Errorf("make the home directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the key secret: %w", err)
	}
	_, err = file.Write(secret)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("keep the key secret: %w", err)
	}
	return secret, nil
}
