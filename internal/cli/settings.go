package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// settings is what `molfabric login` remembers. The file holds secrets and is readable by its owner alone.
type settings struct {
	Server  string `json:"server,omitempty"`
	Email   string `json:"email,omitempty"`
	APIKey  string `json:"apiKey,omitempty"`
	KeyID   string `json:"keyId,omitempty"`
	Session string `json:"session,omitempty"` // for managing keys, which a key may not
}

// settingsPath is $MOLFABRIC_CONFIG, else molfabric/config.json in $XDG_CONFIG_HOME or ~/.config.
func settingsPath(getenv func(string) string) (string, error) {
	if path := getenv(envConfig); path != "" {
		return path, nil
	}
	// The XDG specification asks to ignore a relative path.
	if base := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "molfabric", "config.json"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", usage("neither %s nor HOME is set: there is no place for the configuration", envConfig)
	}
	return filepath.Join(home, ".config", "molfabric", "config.json"), nil
}

// loadSettings reads the file; a missing one holds nothing.
func loadSettings(path string) (settings, error) {
	var kept settings
	err := readPrivate(path, &kept)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, nil
	}
	return kept, err
}

func (s settings) save(path string) error { return writePrivate(path, s) }

func readPrivate(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return invalidInput("%s: is not readable as JSON (%v); remove it and sign in again", path, err)
	}
	return nil
}

// writePrivate replaces a file in one step by one that its owner alone can read.
func writePrivate(path string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
