package structures

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/cif"
	"github.com/molfabric/molfabric/internal/object"
)

// headBytes of an entry are searched for what says which one it is: it stands at the very beginning of the archive's files.
const headBytes = 256 << 10

// Entry is an entry of the Protein Data Bank, or a predicted structure, in the object store, as uncompressed mmCIF.
type Entry struct {
	PDBID      string    `db:"pdb_id"` // in upper case; of a prediction its id, "AF-P04637-F1"
	SHA256     string    `db:"sha256"` // hex, of the file
	StorageKey string    `db:"storage_key"`
	ByteSize   int64     `db:"byte_size"`
	Source     string    `db:"source"` // where it was fetched
	FetchedAt  time.Time `db:"fetched_at"`
	CheckAfter time.Time `db:"check_after"` // when the source is asked whether it has changed
}

// Structure finds an entry by its id, in either case. What is kept is good for 30 days, and longer while the source cannot give
// a newer one.
//
// Errors: ErrNotFound, ErrNoSource, ErrTooLarge; fault.ProviderUnavailable; object.ErrUnavailable.
func (l *Library) Structure(ctx context.Context, pdbID string) (Entry, error) {
	id, ok := entryID(pdbID)
	if !ok {
		return Entry{}, fmt.Errorf("entry %q: %w", pdbID, ErrNotFound)
	}
	return once(ctx, l, "entry "+id, func(ctx context.Context) (Entry, error) { return l.structure(ctx, id, l.entries) })
}

// Kept finds an entry among those that were fetched before, in either case of its id, however long ago. It asks no source. Errors:
// object.ErrUnavailable.
func (l *Library) Kept(ctx context.Context, pdbID string) (entry Entry, ok bool, err error) {
	id, valid := entryID(pdbID)
	if !valid {
		return Entry{}, false, nil
	}
	return l.keptEntry(ctx, id)
}

// structure finds what is kept of an entry or prediction, or fetches it; from is nil where there is no source.
func (l *Library) structure(ctx context.Context, id string, from source) (Entry, error) {
	kept, isKept, err := l.keptEntry(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	switch {
	case isKept && (from == nil || l.now().Before(kept.CheckAfter)):
		return kept, nil
	case from == nil:
		return Entry{}, ErrNoSource
	}
	fetched, err := l.fetchEntry(ctx, id, from)
	if err == nil {
		return fetched, l.store.keepEntry(ctx, fetched)
	}
	if !isKept {
		return Entry{}, err
	}
	l.log.WarnContext(ctx, "structure not refreshed, the kept one serves", "entry", id, "fetched_at", kept.FetchedAt, "error", err)
	return kept, l.store.postponeEntry(ctx, id, l.now().UTC().Add(askAgain))
}

// keptEntry finds an entry that was fetched before and whose file is still there.
func (l *Library) keptEntry(ctx context.Context, id string) (kept Entry, isKept bool, err error) {
	kept, isKept, err = l.store.entry(ctx, id)
	if err != nil || !isKept {
		return Entry{}, false, err
	}
	info, err := l.objects.Head(ctx, kept.StorageKey)
	if errors.Is(err, object.ErrNotFound) || err == nil && info.ByteSize != kept.ByteSize {
		l.log.WarnContext(ctx, "file of a structure is gone, it is fetched again", "entry", id, "key", kept.StorageKey)
		return Entry{}, false, nil
	}
	return kept, err == nil, err
}

// fetchEntry fetches an entry into the object store.
func (l *Library) fetchEntry(ctx context.Context, id string, from source) (Entry, error) {
	giveBack, err := l.slot(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer giveBack()
	file, err := os.CreateTemp("", "molfabric-structure-")
	if err != nil {
		return Entry{}, fmt.Errorf("fetch entry %s: %w", id, err)
	}
	defer func() {
		_ = file.Close() // its content is stored, or of no use
		_ = os.Remove(file.Name())
	}()
	found := Entry{PDBID: id}
	found.Source, err = from.entry(ctx, id, func(body io.Reader) error {
		found.SHA256, found.ByteSize, err = spool(file, body, id)
		return err
	})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrTooLarge) {
		return Entry{}, fmt.Errorf("entry %s: %w", id, err)
	}
	if err != nil {
		return Entry{}, unavailable(fmt.Errorf("fetch entry %s: %w", id, err))
	}
	found.StorageKey = "public/structures/" + found.SHA256 + ".cif"
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Entry{}, fmt.Errorf("fetch entry %s: %w", id, err)
	}
	if _, err := l.objects.Put(ctx, found.StorageKey, file, "chemical/x-mmcif", found.SHA256); err != nil {
		return Entry{}, fmt.Errorf("keep entry %s: %w", id, err)
	}
	found.FetchedAt = l.now().UTC().Truncate(time.Microsecond)
	found.CheckAfter = found.FetchedAt.Add(freshFor)
	l.log.InfoContext(ctx, "structure fetched", "entry", id, "source", found.Source, "bytes", found.ByteSize, "sha256",
		found.SHA256)
	return found, nil
}

// spool writes an entry to the beginning of a file and checks on the way that it is the one asked for.
func spool(file *os.File, body io.Reader, id string) (digest string, size int64, err error) {
	if err := errors.Join(file.Truncate(0), seekStart(file)); err != nil {
		return "", 0, err
	}
	head, err := io.ReadAll(io.LimitReader(body, headBytes))
	if err != nil {
		return "", 0, err
	}
	if err := checkEntry(string(head), id); err != nil {
		return "", 0, err
	}
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(file, sum), io.MultiReader(bytes.NewReader(head), body))
	return hex.EncodeToString(sum.Sum(nil)), size, err
}

func seekStart(file *os.File) error {
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// checkEntry looks at the head of a file that should be an entry as mmCIF. The archive names the data block after the entry;
// others may write its longer form.
func checkEntry(head, id string) error {
	b := cif.ReadBlock(head)
	isID := func(name string) bool { return strings.EqualFold(name, id) || strings.EqualFold(name, "pdb_0000"+id) }
	if !isID(b.Name) {
		return fmt.Errorf("the file is not entry %s as mmCIF: its first data block is %.40q", id, b.Name)
	}
	if name := b.First("_entry.id"); name != "" && !isID(name) {
		return fmt.Errorf("the file is not entry %s as mmCIF: its _entry.id is %.40q", id, name)
	}
	return nil
}
