// Package alignments reads what describes a database of sequences that proteins are aligned to. The database is a folder of the
// operator's, as ColabFold's search wants it; engines/alphafold/tools/database.py makes one and describes it in the file Described.
// Neither the front door nor a worker reads more of a database than that: those in use have hundreds of gigabytes.
package alignments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// Described is the file of a database's folder that says what is in it.
	Described = "molfabric-database.json"
	schema    = "molfabric.alignment-database/v1"
	// maxDescriptionBytes is far above what some dozen files take.
	maxDescriptionBytes = 1 << 20
	// MostRead is how large a database may be whose files Examine reads whole.
	MostRead = 1 << 30

	howToDescribe = "; describe the database with engines/alphafold/tools/database.py describe"
)

// Database is a database of sequences that proteins are aligned to. Digest is the lower-case hex SHA-256 of the list of its files.
type Database struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Digest    string `json:"digest"`
	Prefix    string `json:"prefix"`    // what its files begin with
	Sequences int64  `json:"sequences"` // in all its clusters
	Residues  int64  `json:"residues"`  // of the representatives, which are what is searched
}

// Folder is a described database with its files.
type Folder struct {
	Database
	Bytes int64 // of all files
	files []file
}

type file struct {
	Name     string `json:"name"`
	ByteSize int64  `json:"byteSize"`
	SHA256   string `json:"sha256"`
}

var (
	word   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	digest = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Open reads the description in a folder, and nothing else.
func Open(folder string) (Folder, error) {
	if !filepath.IsAbs(folder) || filepath.Clean(folder) != folder {
		return Folder{}, fmt.Errorf("%q: must be an absolute path without \"..\" and a slash at its end", folder)
	}
	content, err := read(filepath.Join(folder, Described))
	if err != nil {
		return Folder{}, fmt.Errorf("read %s: %w%s", filepath.Join(folder, Described), err, howToDescribe)
	}
	var said struct {
		Database
		Schema string `json:"schema"`
		Files  []file `json:"files"`
	}
	if err := json.Unmarshal(content, &said); err != nil {
		return Folder{}, fmt.Errorf("read %s: %w", filepath.Join(folder, Described), err)
	}
	found := Folder{Database: said.Database, files: said.Files}
	for _, f := range said.Files {
		found.Bytes += f.ByteSize
	}
	if err := found.check(said.Schema); err != nil {
		return Folder{}, fmt.Errorf("%s: %w%s", filepath.Join(folder, Described), err, howToDescribe)
	}
	return found, nil
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxDescriptionBytes+1))
	if err = errors.Join(err, file.Close()); err == nil && len(content) > maxDescriptionBytes {
		err = fmt.Errorf("it has more than %d bytes", maxDescriptionBytes)
	}
	return content, err
}

// check refuses a description that contradicts itself.
func (d Folder) check(said string) error {
	switch {
	case said != schema:
		return fmt.Errorf("schema is %.60q; it must be %s", said, schema)
	case !word.MatchString(d.Name) || !word.MatchString(d.Version) || !word.MatchString(d.Prefix):
		return fmt.Errorf("name %.60q, version %.60q and prefix %.60q must be words of letters, digits, \".\", \"_\" and \"-\"",
			d.Name, d.Version, d.Prefix)
	case d.Sequences < 1 || d.Residues < 1:
		return fmt.Errorf("%d sequences and %d residues; both must be positive", d.Sequences, d.Residues)
	case len(d.files) == 0:
		return errors.New("it names no files")
	}
	lines := make([]string, len(d.files))
	for i, f := range d.files {
		if !word.MatchString(f.Name) || !digest.MatchString(f.SHA256) || f.ByteSize < 0 {
			return fmt.Errorf("file %.60q of %d bytes with the SHA-256 %.80q: is no file of a database", f.Name, f.ByteSize,
				f.SHA256)
		}
		lines[i] = f.SHA256 + "  " + f.Name + "\n"
	}
	slices.Sort(lines)
	if sum := sha256.Sum256([]byte(strings.Join(lines, ""))); hex.EncodeToString(sum[:]) != d.Digest {
		return errors.New("its digest is not that of its files")
	}
	return nil
}

// Examine compares the files in the folder with the description: their sizes, and where all of them have at most MostRead bytes
// together, which read says, their content too.
func (d Folder) Examine(folder string) (whole bool, err error) {
	whole = d.Bytes <= MostRead
	for _, f := range d.files {
		info, err := os.Lstat(filepath.Join(folder, f.Name))
		switch {
		case err != nil:
			return whole, fmt.Errorf("%s is missing: %w", f.Name, err)
		case !info.Mode().IsRegular() || info.Size() != f.ByteSize:
			return whole, fmt.Errorf("%s has %d bytes, and %d when it was described", f.Name, info.Size(), f.ByteSize)
		}
		if !whole {
			continue
		}
		if sum, err := digestOf(filepath.Join(folder, f.Name)); err != nil || sum != f.SHA256 {
			return whole, errors.Join(fmt.Errorf("%s is not what was described", f.Name), err)
		}
	}
	return whole, nil
}

func digestOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
