package images

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Unpack lays an image out by its digest below folder, where a worker with the sandbox `container` looks for it, so that it needs
// neither podman nor docker. It checks all that it reads, and returns the folder of the image's files. An image that is there
// already is left alone.
func Unpack(place Place, image, digest, folder string) (root string, err error) {
	found, err := described(place, image, digest)
	if err != nil {
		return "", err
	}
	config, err := found.ConfigFile()
	if err != nil {
		return "", err
	}
	id, err := found.ConfigName()
	if err != nil {
		return "", err
	}
	target := filepath.Join(folder, strings.TrimPrefix(digest, "sha256:"))
	root = filepath.Join(target, "root")
	if _, err := os.Stat(filepath.Join(target, "image.json")); err == nil {
		return root, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	partial, err := os.MkdirTemp(folder, "unpacking-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(partial)
	unpacked := filepath.Join(partial, "root")
	if err := os.MkdirAll(unpacked, 0o755); err != nil {
		return "", err
	}
	err = readLayers(found, func(content io.Reader) error {
		plain, err := gzip.NewReader(content)
		if err != nil {
			return err
		}
		return unpackTo(unpacked, tar.NewReader(plain))
	})
	if err != nil {
		return "", fmt.Errorf("image %s: %w", image, err)
	}
	record, err := json.Marshal(map[string]any{"digest": digest, "id": id.String(), "path": pathOf(config.Config.Env)})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(partial, "image.json"), record, 0o600); err != nil {
		return "", err
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return "", err
	}
	return root, os.Rename(partial, target)
}

func pathOf(environment []string) []string {
	for _, variable := range environment {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			return strings.Split(value, ":")
		}
	}
	return nil
}
