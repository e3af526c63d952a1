// Package sequences is the registry of a deployment's BLAST databases: it builds them from FASTA files, keeps their files in the
// object store by their content, and finds the one that a search names. It runs no search; workers fetch a database's files as
// inputs of their tasks, by the digests that are kept here.
package sequences

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/object"
)

// Types of a database, as BLAST+ calls them.
const (
	Protein    = "prot"
	Nucleotide = "nucl"
)

const (
	// MaxDatabases bounds the registry, retired ones included: every look-up reads it whole.
	MaxDatabases = 10_000
	// MaxTitleBytes bounds a title: every report of BLAST+ repeats it.
	MaxTitleBytes = 200
	// keyPrefix is where the files of databases lie in the object store.
	keyPrefix = "databases/blast/"
	// dateForm is a day of the calendar.
	dateForm = time.DateOnly
)

// Database is a BLAST database of the deployment. Its name and version name it, and its files never change.
type Database struct {
	Name       string `db:"name"`
	Version    string `db:"version"`
	ReleasedOn string `db:"released_on"` // YYYY-MM-DD
	Type       string `db:"type"`        // Protein or Nucleotide
	// Checksum is the SHA-256 of the database as a whole, in lower-case hex: that of the lines "<sha256>  <name>\n" of its files by
	// name, which is what `sha256sum * | sha256sum` prints in a folder that holds nothing else.
	Checksum  string `db:"checksum"`
	Title     string `db:"title"`
	Sequences int64  `db:"sequences"`
	Residues  int64  `db:"residues"` // bases of a nucleotide database
	Bytes     int64  `db:"bytes"`    // of all files
	Files     []File `db:"-"`        // by name; all begin with Name and "."
	// SourceSHA256 is that of the FASTA that it was built from, uncompressed.
	SourceSHA256 string     `db:"source_sha256"`
	Program      string     `db:"program"` // what built it, e.g. "makeblastdb 2.12.0+"
	CreatedAt    time.Time  `db:"created_at"`
	RetiredAt    *time.Time `db:"retired_at"` // nil while it is in use
}

// File is one file of a database.
type File struct {
	Name     string `json:"name"`
	SHA256   string `json:"sha256"` // lower-case hex
	ByteSize int64  `json:"byteSize"`
}

// Key is where a file of the database lies in the object store.
func (d Database) Key(file string) string { return keyPrefix + d.Checksum + "/" + file }

// String names the database for people.
func (d Database) String() string { return d.Name + " " + d.Version }

// checksumOf is the checksum of a database with these files.
func checksumOf(files []File) string {
	sum := sha256.New()
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Name, b.Name) }) {
		fmt.Fprintf(sum, "%s  %s\n", f.SHA256, f.Name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Progress is told how far a long step is: done of total bytes, which may grow a little beyond it. It may be nil.
type Progress func(step string, done, total int64)

func (p Progress) tell(step string, done, total int64) {
	if p != nil {
		p(step, done, total)
	}
}

// Deps is what a Registry needs; all are required.
type Deps struct {
	DB      *sqlx.DB
	Objects *object.Store
	Log     *slog.Logger
	Now     func() time.Time
}

// Registry keeps the databases. It is safe for concurrent use, also by several processes.
type Registry struct {
	store   store
	objects *object.Store
	log     *slog.Logger
	now     func() time.Time
}

// New returns a Registry. It contacts nobody.
func New(deps Deps) *Registry {
	return &Registry{store: store{deps.DB}, objects: deps.Objects, log: deps.Log, now: deps.Now}
}

// nameForm is that of names and versions (doc/contract.md §2.2, blastDatabaseName).
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)

const nameRule = "1 to 128 letters, digits, '.', '_', '+' or '-', the first a letter or digit"

// Source says what a database is built from and how it is described.
type Source struct {
	Path       string // of a FASTA file, gzip'd or not
	Name       string
	Version    string
	ReleasedOn string // YYYY-MM-DD; only Add takes ""
	Type       string // Protein or Nucleotide; "" finds out from the letters
	Title      string // "" is the name and the version

	volumeBytes int64 // at most of one file; 0 is makeblastdb's own limit, 1 GB
}

// completed fills in the title and checks what can be checked without the file.
func (s Source) completed() (Source, error) {
	if s.Title == "" {
		s.Title = s.Name + " " + s.Version
	}
	switch _, err := time.Parse(dateForm, s.ReleasedOn); {
	case !nameForm.MatchString(s.Name):
		return s, fmt.Errorf("name: %q; a name has %s", s.Name, nameRule)
	case !nameForm.MatchString(s.Version):
		return s, fmt.Errorf("version: %q; a version has %s", s.Version, nameRule)
	case err != nil:
		return s, fmt.Errorf("date: %q; give the day of the release as YYYY-MM-DD", s.ReleasedOn)
	case s.Type != "" && s.Type != Protein && s.Type != Nucleotide:
		return s, fmt.Errorf("type: %q; allowed are %s and %s", s.Type, Protein, Nucleotide)
	case len(s.Title) > MaxTitleBytes || strings.ContainsFunc(s.Title, func(r rune) bool { return r < ' ' || r > '~' }):
		return s, fmt.Errorf("title: at most %d characters of ASCII, without line breaks: the reports of BLAST+ repeat it",
			MaxTitleBytes)
	}
	return s, nil
}
