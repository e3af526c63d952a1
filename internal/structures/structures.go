// Package structures finds public data by its name: entries of the Protein Data Bank in a mirror directory or at a web server,
// and chemical components in a dictionary file or at that server. What was fetched is kept, entries in the object store and
// components in the database, so that it is fetched once. It reads no chemistry: a file is checked to be the entry or the
// component that was asked for, and nothing more.
package structures

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/singleflight"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

// SourceOff is the source of a deployment that looks nothing up.
const SourceOff = "off"

const (
	// MaxEntryBytes bounds an entry as mmCIF: as much as docking reads of a receptor.
	MaxEntryBytes = 64 << 20
	// maxComponentBytes bounds the definition of one component; the largest of the dictionary has about 100 kB.
	maxComponentBytes = 4 << 20
	// MaxRemote bounds the components of one request that are asked for one by one; whole libraries need a dictionary file.
	MaxRemote = 200

	// freshFor is how long what was fetched is taken as it is. Entries are remediated a few times in their life.
	freshFor = 30 * 24 * time.Hour
	// askAgain is when a source is asked again that could not refresh what is kept.
	askAgain = time.Hour
	// lookUpTimeout bounds finding one entry or component, with the second try, whoever waits for it.
	lookUpTimeout = 90 * time.Second
	// maxFetches bounds what is fetched at once, over all requests: a source is somebody's service, and an entry takes disk.
	maxFetches = 8
)

// ErrNotFound says that the source has nothing of this name.
var ErrNotFound = errors.New("the source of structures has nothing of this name")

// ErrNoSource says that the deployment looks nothing up, or not this kind of thing.
var ErrNoSource = errors.New("this deployment has no source of structures")

// ErrTooLarge says that a file has more bytes than are read of its kind. A repetition gives the same.
var ErrTooLarge = errors.New("the file is too large")

// TooManyError says that more components of a request than MaxRemote would have to be asked for one by one.
type TooManyError struct{ Count int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d components are not in this deployment's dictionary and would be asked for one by one; at most %d are",
		e.Count, MaxRemote)
}

// Deps is what a Library needs; all are required but Components.
type Deps struct {
	DB      *sqlx.DB
	Objects *object.Store
	// Source is where entries come from: the base URL of a server that is laid out as files.rcsb.org or as the wwPDB archive, a
	// directory, or SourceOff. Components come from a server alone.
	Source string
	// Predictions is where predicted structures come from: the base URL of a server that answers as the AlphaFold database, a
	// directory with its files, or SourceOff. "" is SourceOff.
	Predictions string
	// Components is the path of a dictionary file; "" for none. See LoadDictionary.
	Components string
	Log        *slog.Logger
	Now        func() time.Time
}

// Library answers look-ups. It is safe for concurrent use; look-ups of one name at the same moment are one.
type Library struct {
	store   store
	objects *object.Store
	entries source // nil for none
	// predictions is nil for none.
	predictions source
	server      *server // nil when there is none; then it is also the source of entries
	dictionary  *Dictionary
	flights     singleflight.Group
	fetches     chan struct{}
	unknown     absences // components that the server does not have
	log         *slog.Logger
	now         func() time.Time
}

// Open returns a Library. It reads the dictionary file and contacts nobody. An error names the setting that is wrong.
func Open(deps Deps) (*Library, error) {
	l := &Library{
		store: store{deps.DB}, objects: deps.Objects, fetches: make(chan struct{}, maxFetches), log: deps.Log, now: deps.Now,
		dictionary: &Dictionary{}, unknown: absences{now: deps.Now},
	}
	if deps.Components != "" {
		dictionary, err := LoadDictionary(deps.Components)
		if err != nil {
			return nil, fmt.Errorf("component dictionary: %w", err)
		}
		l.dictionary = dictionary
	}
	switch {
	case deps.Source == SourceOff:
	case IsURL(deps.Source):
		l.server = newServer(deps.Source, deps.Now)
		l.entries = l.server
	case !isDirectory(deps.Source):
		return nil, fmt.Errorf("structures: %q is no directory, no http or https address, and not %q", deps.Source, SourceOff)
	default:
		l.entries = directory(deps.Source)
	}
	switch {
	case deps.Predictions == "" || deps.Predictions == SourceOff:
	case IsURL(deps.Predictions):
		l.predictions = predictedAt{newServer(deps.Predictions, deps.Now)}
	case !isDirectory(deps.Predictions):
		return nil, fmt.Errorf("predictions: %q is no directory, no http or https address, and not %q", deps.Predictions, SourceOff)
	default:
		l.predictions = predictedIn(deps.Predictions)
	}
	return l, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// IsURL tells whether a source is the address of a web server.
func IsURL(text string) bool {
	address, err := url.Parse(text)
	return err == nil && (address.Scheme == "https" || address.Scheme == "http") && address.Host != "" && address.RawQuery == "" &&
		address.Fragment == ""
}

var (
	entryForm     = regexp.MustCompile(`^[0-9][A-Z0-9]{3}$`)
	componentForm = regexp.MustCompile(`^[A-Z0-9]{1,8}$`)
)

// entryID is an entry's id as it is kept, and may become part of an address or a file name.
func entryID(text string) (string, bool) {
	id := strings.ToUpper(text)
	return id, entryForm.MatchString(id)
}

// componentID is the same of a component.
func componentID(text string) (string, bool) {
	id := strings.ToUpper(text)
	return id, componentForm.MatchString(id)
}

// once runs find for all that ask for the same key at the same moment. It goes on when the one that began it has left, because
// the others wait for it; its time is bounded by lookUpTimeout.
func once[T any](ctx context.Context, l *Library, key string, find func(context.Context) (T, error)) (T, error) {
	found, err, _ := l.flights.Do(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookUpTimeout)
		defer cancel()
		return find(ctx)
	})
	value, _ := found.(T) // nil beside an error
	return value, err
}

// slot waits for a place among those that fetch. The caller gives it back.
func (l *Library) slot(ctx context.Context) (giveBack func(), err error) {
	select {
	case l.fetches <- struct{}{}:
		return func() { <-l.fetches }, nil
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
}

// unavailable is the answer while a source cannot be used.
func unavailable(cause error) error {
	return fault.Wrap(cause, fault.ProviderUnavailable, "the source of structures and components does not answer as it should; "+
		"try again later, or give the data itself instead of its name")
}
