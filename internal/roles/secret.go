package roles

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/secret"
)

const (
	// sealingFile holds, in the home directory, the secret that seals; it was made there.
	sealingFile = "key-secret"
	// earlierFile holds those that it has followed, the newest first: base64, one a line.
	earlierFile = "key-secrets-read"
)

// errNoSecret is for a home where nothing has been made yet.
var errNoSecret = errors.New("there is no secret yet: `molfabric up` makes one in its home at its first start, and other " +
	"deployments set MOLFABRIC_KEY_SECRET")

// keySecrets are the deployment's secrets: the configured ones, or those of the home directory, where the first is made once for
// its owner alone. Several API instances must be configured with the same, in any order.
func keySecrets(cfg config.Config) (secret.Ring, error) {
	ring, err := knownSecrets(cfg)
	if !errors.Is(err, errNoSecret) {
		return ring, err
	}
	if err := os.MkdirAll(cfg.Home, 0o755); err != nil {
		return secret.Ring{}, fmt.Errorf("make the home directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(cfg.Home, sealingFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return knownSecrets(cfg)
	}
	if err == nil {
		_, err = file.Write(newSecret())
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return secret.Ring{}, fmt.Errorf("keep the key secret: %w", err)
	}
	return knownSecrets(cfg)
}

// knownSecrets is keySecrets where none is made. Errors: errNoSecret.
func knownSecrets(cfg config.Config) (secret.Ring, error) {
	sealing, others := []byte(cfg.KeySecret), make([][]byte, 0, len(cfg.KeySecretsRead))
	for _, one := range cfg.KeySecretsRead {
		others = append(others, []byte(one))
	}
	source := "MOLFABRIC_KEY_SECRET and MOLFABRIC_KEY_SECRETS_READ (keySecret, keySecretsRead)"
	if cfg.KeySecret == "" {
		kept, earlier, err := readHome(cfg.Home)
		if err != nil {
			return secret.Ring{}, err
		}
		sealing, others, source = kept, append(others, earlier...), sealingFile+" and "+earlierFile+
			" in the home, and MOLFABRIC_KEY_SECRETS_READ"
	}
	ring, err := secret.NewRing(sealing, others...)
	if err != nil {
		return secret.Ring{}, fmt.Errorf("%s: %w (the environment's list is split at commas; molfabric.yaml takes a secret "+
			"with one)", source, err)
	}
	return ring, nil
}

// readHome reads the secrets of a home directory. Errors: errNoSecret.
func readHome(home string) (sealing []byte, earlier [][]byte, err error) {
	sealing, err = os.ReadFile(filepath.Join(home, sealingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errNoSecret
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the key secret: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(home, earlierFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read the earlier key secrets: %w", err)
	}
	for i, line := range strings.Fields(string(text)) {
		one, err := base64.StdEncoding.DecodeString(line)
		if err != nil {
			return nil, nil, fmt.Errorf("%s in the home: line %d is not base64", earlierFile, i+1)
		}
		earlier = append(earlier, one)
	}
	return sealing, earlier, nil
}

// RotateSecret gives a home directory a new secret that seals from the next start on; the one before opens until ForgetSecrets.
// Errors say where the secrets are kept when that is not the home.
func RotateSecret(cfg config.Config) (secret.Ring, error) {
	if err := keptInHome(cfg); err != nil {
		return secret.Ring{}, err
	}
	sealing, earlier, err := readHome(cfg.Home)
	if err != nil {
		return secret.Ring{}, err
	}
	var lines strings.Builder
	for _, one := range append([][]byte{sealing}, earlier...) {
		fmt.Fprintln(&lines, base64.StdEncoding.EncodeToString(one))
	}
	// In this order: a crash in between leaves the old secret in both files, which opens and seals as before.
	err = replaceFile(filepath.Join(cfg.Home, earlierFile), []byte(lines.String()))
	if err == nil {
		err = replaceFile(filepath.Join(cfg.Home, sealingFile), newSecret())
	}
	if err != nil {
		return secret.Ring{}, fmt.Errorf("keep the key secrets: %w", err)
	}
	return knownSecrets(cfg)
}

// ForgetSecrets ends, from the next start on, what a home directory's earlier secrets open.
func ForgetSecrets(cfg config.Config) error {
	if err := keptInHome(cfg); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(cfg.Home, earlierFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("forget the earlier key secrets: %w", err)
	}
	return nil
}

func keptInHome(cfg config.Config) error {
	if cfg.KeySecret == "" {
		return nil
	}
	return errors.New("the secrets are configured (MOLFABRIC_KEY_SECRET, keySecret) and not kept in the home: change them there, " +
		`as "Replacing the key secret" in doc/operating.md says`)
}

// newSecret is a secret that is also a text.
func newSecret() []byte {
	raw := make([]byte, secret.MinBytes)
	_, _ = rand.Read(raw) // never fails
	return []byte(base64.RawStdEncoding.EncodeToString(raw))
}
