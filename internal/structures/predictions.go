package structures

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// accessionForm is that of UniProt's accessions: https://www.uniprot.org/help/accession_numbers.
var accessionForm = regexp.MustCompile(`^(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})$`)

// maxListBytes bounds what the AlphaFold database tells about one accession.
const maxListBytes = 1 << 20

// Prediction finds the predicted structure of a protein by UniProt's accession, in either case. It is kept as entries are, under
// the id that the AlphaFold database gives it: "AF-P04637-F1".
//
// Errors: ErrNotFound, ErrNoSource, ErrTooLarge; fault.ProviderUnavailable; object.ErrUnavailable.
func (l *Library) Prediction(ctx context.Context, accession string) (Entry, error) {
	accession = strings.ToUpper(accession)
	if !accessionForm.MatchString(accession) {
		return Entry{}, fmt.Errorf("prediction %q: %w", accession, ErrNotFound)
	}
	id := "AF-" + accession + "-F1"
	return once(ctx, l, "entry "+id, func(ctx context.Context) (Entry, error) { return l.structure(ctx, id, l.predictions) })
}

// accessionOf is the accession within the id of a prediction.
func accessionOf(id string) string { return strings.TrimSuffix(strings.TrimPrefix(id, "AF-"), "-F1") }

// predictedAt is the AlphaFold database at a web server.
type predictedAt struct{ *server }

// entry asks the database which file is the newest of an accession, and fetches that from the same server.
func (s predictedAt) entry(ctx context.Context, id string, take func(io.Reader) error) (string, error) {
	var models []struct {
		EntryID string `json:"entryId"`
		CIF     string `json:"cifUrl"`
	}
	err := s.get(ctx, "/api/prediction/"+accessionOf(id), maxListBytes, func(body io.Reader) error {
		return json.NewDecoder(body).Decode(&models)
	})
	if err != nil {
		return "", err
	}
	for _, model := range models {
		if model.EntryID != id {
			continue
		}
		at, err := url.Parse(model.CIF)
		if err != nil || at.Path == "" {
			return "", fmt.Errorf("the file of %s has no address: %.80q", id, model.CIF)
		}
		return s.base + at.Path, s.get(ctx, at.Path, MaxEntryBytes, take) // whatever server the answer names, ours is asked
	}
	return "", ErrNotFound
}

// predictedIn is a directory with files of the AlphaFold database: AF-P04637-F1-model_v4.cif, or the same with .gz.
type predictedIn string

// entry reads the newest version of a prediction.
func (d predictedIn) entry(_ context.Context, id string, take func(io.Reader) error) (string, error) {
	files, err := os.ReadDir(string(d))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errAway, err) // no proof that the prediction does not exist
	}
	form := regexp.MustCompile("^" + regexp.QuoteMeta(id) + `-model_v([0-9]+)\.cif(?:\.gz)?$`)
	newest, best := "", -1
	for _, file := range files {
		match := form.FindStringSubmatch(file.Name())
		if match == nil {
			continue
		}
		if version, err := strconv.Atoi(match[1]); err == nil && version > best {
			newest, best = file.Name(), version
		}
	}
	if newest == "" {
		return "", ErrNotFound
	}
	err = readFile(filepath.Join(string(d), newest), take)
	if errors.Is(err, os.ErrNotExist) {
		err = ErrNotFound
	}
	return "file:" + newest, err
}
