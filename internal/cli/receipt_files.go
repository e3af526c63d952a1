package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/molfabric/molfabric/internal/receipt"
)

// maxNamed bounds the files that are named for people; with --json all are.
const maxNamed = 20

// comparison is a folder held against a receipt.
type comparison struct {
	Right   int      `json:"right"`   // files with the digest of the receipt
	Changed []string `json:"changed"` // files with another, by their places in the folder
	Missing []string `json:"missing"` // files of the receipt that are not there, by their names in it
	Unknown []string `json:"unknown"` // files of the folder that the receipt does not have
}

// compareFolder looks for each output at its places in a folder, and nowhere outside it. Errors: a folder or a file that
// cannot be read.
func compareFolder(ctx context.Context, folder string, outputs []receipt.Output) (comparison, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return comparison{}, invalidInput("--dir: %v", err)
	}
	defer root.Close()
	found := comparison{Changed: []string{}, Missing: []string{}, Unknown: []string{}}
	seen := map[string]bool{}
	for _, output := range outputs {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if err := found.look(root, output, seen); err != nil {
			return found, err
		}
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !seen[name] {
			found.Unknown = append(found.Unknown, name)
		}
		return err
	})
	if err != nil {
		return found, fmt.Errorf("looking through %s: %w", folder, err)
	}
	return found, nil
}

// look checks the files at the places of an output. Of a file that two outputs may be, one with its digest is enough.
func (c *comparison) look(root *os.Root, output receipt.Output, seen map[string]bool) error {
	var other []string
	for _, place := range output.Places() {
		place = path.Clean(place)
		if !filepath.IsLocal(filepath.FromSlash(place)) || strings.ContainsAny(place, "\\\x00") {
			continue
		}
		sum, err := digestOf(root, place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", place, err)
		}
		seen[place] = true
		if sum == output.Digest.SHA256 {
			c.Right++
			return nil
		}
		other = append(other, place)
	}
	if len(other) == 0 {
		c.Missing = append(c.Missing, output.Name)
	}
	c.Changed = append(c.Changed, other...)
	return nil
}

func digestOf(root *os.Root, place string) (string, error) {
	file, err := root.Open(filepath.FromSlash(place))
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return "", errors.Join(err, fs.ErrNotExist)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (c comparison) show(w io.Writer, folder string) error {
	_, err := fmt.Fprintf(w, "in %s: %d files are as the receipt says, %d are not, %d are not there\n", folder, c.Right,
		len(c.Changed), len(c.Missing))
	if err == nil && len(c.Unknown) > 0 {
		_, err = fmt.Fprintf(w, "not of the receipt: %s\n", named(c.Unknown))
	}
	return err
}

// verdict is an error for files that are changed, for missing ones where all must be there, and for a folder without any of them.
func (c comparison) verdict(o verifyOptions) error {
	switch {
	case len(c.Changed) > 0:
		return unverified(fmt.Errorf("changed: %s", named(c.Changed)))
	case o.complete && len(c.Missing) > 0:
		return unverified(fmt.Errorf("missing: %s", named(c.Missing)))
	case o.folder != "" && c.Right == 0 && len(c.Missing) > 0 && o.sample.size == "": // a sample's may hold inputs alone
		return unverified(fmt.Errorf("%s has no file of the receipt", o.folder))
	}
	return nil
}

// named are the first of some files.
func named(files []string) string {
	if len(files) <= maxNamed {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:maxNamed], ", "), len(files)-maxNamed)
}
