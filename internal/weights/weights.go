// Package weights is the registry of a deployment's models' weights: it takes them from a folder of the operator's, keeps their
// files in the object store by their content, and finds those that a prediction runs on. It downloads nothing and runs no model;
// workers fetch the files as inputs of their tasks, by the digests that are kept here.
package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/object"
)

const (
	// MaxWeights bounds the registry, retired ones included: every look-up reads it whole.
	MaxWeights = 1000
	// maxFiles bounds the files of one model, and maxTextBytes its title and licence.
	maxFiles     = 200
	maxTextBytes = 200
	// keyPrefix is where the files lie in the object store.
	keyPrefix = "weights/"
	// ShownDigits are the digits of a digest that people see and may name weights by.
	ShownDigits = 12
)

// Models are the models that this build has an engine for.
var Models = []string{esmfold, alphafold}

const (
	esmfold   = "esmfold"
	alphafold = "alphafold"
)

// Weights are the parameters of a model. Their digest names them, and their files never change.
type Weights struct {
	// Digest is the SHA-256 of all files in lower-case hex: that of the lines "<sha256>  <name>\n" of its files by name, which is
	// what `sha256sum * | sha256sum` prints in a folder that holds nothing else.
	Digest        string     `db:"digest"`
	Model         string     `db:"model"`
	Title         string     `db:"title"`
	Licence       string     `db:"licence"`
	CommercialUse bool       `db:"commercial_use"`
	Trained       bool       `db:"trained"`
	Bytes         int64      `db:"bytes"` // of all files
	Files         []File     `db:"-"`     // by name
	CreatedAt     time.Time  `db:"created_at"`
	RetiredAt     *time.Time `db:"retired_at"` // nil while they are in use
}

// File is one file of a model.
type File struct {
	Name     string `json:"name"`
	SHA256   string `json:"sha256"` // lower-case hex
	ByteSize int64  `json:"byteSize"`
}

// Key is where a file lies in the object store.
func (w Weights) Key(file string) string { return keyPrefix + w.Digest + "/" + file }

// String names the weights for people.
func (w Weights) String() string { return w.Model + " " + w.Digest[:ShownDigits] }

// digestOf is the digest of weights with these files, which are sorted by name.
func digestOf(files []File) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s  %s\n", f.SHA256, f.Name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// NoneError says that the deployment has no weights for a model.
type NoneError struct{ Model string }

func (e *NoneError) Error() string {
	return fmt.Sprintf("this deployment has no weights for %s; its operator adds them with `molfabric weights add`", e.Model)
}

// Deps is what a Registry needs; all are required.
type Deps struct {
	DB      *sqlx.DB
	Objects *object.Store
	Log     *slog.Logger
	Now     func() time.Time
}

// Registry keeps the weights. It is safe for concurrent use, also by several processes.
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
