package roles

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/config"
)

// TestSecretsOfAHome: a secret is made once, replaced on request, and the earlier one opens until it is forgotten.
func TestSecretsOfAHome(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Home: t.TempDir()}
	if _, err := RotateSecret(cfg); !errors.Is(err, errNoSecret) {
		t.Errorf("a rotation before the first start: %v", err)
	}
	if _, err := knownSecrets(cfg); !errors.Is(err, errNoSecret) {
		t.Errorf("to look makes a secret: %v", err)
	}
	first, err := keySecrets(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := keySecrets(cfg); err != nil || again.ID() != first.ID() || len(again.IDs()) != 1 {
		t.Errorf("the second start has %v, %v, want %v", again, err, first)
	}
	if err := ForgetSecrets(cfg); err != nil {
		t.Errorf("nothing to forget: %v", err)
	}
	second, err := RotateSecret(cfg)
	if err != nil || len(second.IDs()) != 2 || second.IDs()[1] != first.ID() || second.ID() == first.ID() {
		t.Fatalf("after a rotation: %v, %v", second, err)
	}
	third, err := RotateSecret(cfg)
	if err != nil || len(third.IDs()) != 3 || third.IDs()[1] != second.ID() || third.IDs()[2] != first.ID() {
		t.Fatalf("after another: %v, %v", third, err)
	}
	for _, name := range []string{sealingFile, earlierFile} {
		if info, err := os.Stat(filepath.Join(cfg.Home, name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", name, info, err)
		}
	}
	if err := ForgetSecrets(cfg); err != nil {
		t.Fatal(err)
	}
	if left, err := keySecrets(cfg); err != nil || left.ID() != third.ID() || len(left.IDs()) != 1 {
		t.Errorf("left are %v, %v, want %s", left, err, third.ID())
	}
}

// TestConfiguredSecrets: what is configured is neither changed nor shown.
func TestConfiguredSecrets(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("first ", 8), strings.Repeat("second ", 8)
	cfg := config.Config{Home: t.TempDir(), KeySecret: first, KeySecretsRead: []string{second}}
	here, err := keySecrets(cfg)
	if err != nil || len(here.IDs()) != 2 {
		t.Fatal(here, err)
	}
	cfg.KeySecret, cfg.KeySecretsRead = second, []string{first}
	if there, err := keySecrets(cfg); err != nil || there.ID() != here.IDs()[1] {
		t.Errorf("the other order: %v, %v", there, err)
	}
	if files, err := os.ReadDir(cfg.Home); err != nil || len(files) > 0 {
		t.Errorf("the home has %v, %v", files, err)
	}
	if _, err := RotateSecret(cfg); err == nil || !strings.Contains(err.Error(), "MOLFABRIC_KEY_SECRET") ||
		strings.Contains(err.Error(), "second ") {
		t.Errorf("rotated: %v", err)
	}
	if err := ForgetSecrets(cfg); err == nil {
		t.Error("a configured secret is forgotten")
	}
	cfg.KeySecretsRead = []string{"hunter2"}
	if _, err := keySecrets(cfg); err == nil || strings.Contains(err.Error(), "hunter2") ||
		!strings.Contains(err.Error(), "MOLFABRIC_KEY_SECRETS_READ") {
		t.Errorf("a short secret: %v", err)
	}
	if got := excessSecrets(cfg); len(got) != 2 || got[1] != "MOLFABRIC_KEY_SECRETS_READ" {
		t.Errorf("a worker needs neither: %v", got)
	}
}
