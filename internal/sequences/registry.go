package sequences

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/object"
)

// maxTransfers bounds the files that are stored or read at once: they share one line.
const maxTransfers = 4

// fileType is the media type of a database's files.
const fileType = "application/octet-stream"

// Outcome says what an addition has done.
type Outcome string

// What Add can have done.
const (
	Added    Outcome = "added"
	Known    Outcome = "known"    // it was there
	Returned Outcome = "returned" // it was there and retired, and is in use again
	Repaired Outcome = "repaired" // it was there, and files of it were missing or damaged
)

// Add builds a database from a FASTA and takes it into the registry. It may be called again, and by many at once: a name and
// version stand for one content for ever. The same content with the same description changes nothing, but takes a retired database
// into use again and replaces files that are gone from the object store; any other is refused. A date that source leaves out is
// today's, or that of the database that is there. Temporary files take about as much of $TMPDIR as the FASTA has bytes.
//
// Errors: *servers.MissingError; object.ErrUnavailable; all others say what is wrong with the FASTA or the description.
func (r *Registry) Add(ctx context.Context, source Source, report Progress) (Database, Outcome, error) {
	asked := source
	if source.ReleasedOn == "" {
		source.ReleasedOn = r.now().UTC().Format(dateForm)
	}
	source, err := source.completed()
	if err != nil {
		return Database{}, "", err
	}
	program, err := builderVersion(ctx)
	if err != nil {
		return Database{}, "", err
	}
	held, err := inspect(ctx, source.Path, source.Type, func(done, total int64) { report.tell(StepRead, done, total) })
	if err != nil {
		return Database{}, "", err
	}
	unlock, err := r.store.lockName(ctx, source.Name, func() {
		r.log.InfoContext(ctx, "another process adds a database of this name; waiting for it", "name", source.Name)
	})
	if err != nil {
		return Database{}, "", err
	}
	defer unlock()
	kept, isKept, err := r.store.one(ctx, source.Name, source.Version)
	if err != nil {
		return Database{}, "", err
	}
	if isKept {
		source.ReleasedOn, source.Title = cmp.Or(asked.ReleasedOn, kept.ReleasedOn), cmp.Or(asked.Title, kept.Title)
		if err := sameAs(kept, source, held); err != nil {
			return Database{}, "", err
		}
		damaged, err := r.damaged(ctx, kept)
		if err != nil || len(damaged) == 0 {
			return r.known(ctx, kept, Known, err)
		}
	}
	built, err := r.buildAndStore(ctx, source, held, program, kept.Checksum, report)
	switch {
	case err != nil:
		return Database{}, "", err
	case isKept:
		return r.known(ctx, kept, Repaired, nil)
	}
	return r.take(ctx, built)
}

// take inserts the row of a database whose files are stored.
func (r *Registry) take(ctx context.Context, d Database) (Database, Outcome, error) {
	d.CreatedAt = r.now().UTC().Truncate(time.Microsecond)
	inserted, err := r.store.insert(ctx, d)
	if err != nil {
		return Database{}, "", err
	}
	if !inserted {
		return Database{}, "", fmt.Errorf("database %s: another process has added this name and version meanwhile, or the "+
			"registry holds %d databases already", d, MaxDatabases)
	}
	r.log.InfoContext(ctx, "sequence database added", "name", d.Name, "version", d.Version, "type", d.Type, "sequences",
		d.Sequences, "residues", d.Residues, "bytes", d.Bytes, "checksum", d.Checksum, "program", d.Program)
	return d, Added, nil
}

// known takes a database that was there into use, where it is not.
func (r *Registry) known(ctx context.Context, d Database, outcome Outcome, err error) (Database, Outcome, error) {
	if err == nil && d.RetiredAt != nil {
		err = r.store.setRetired(ctx, d.Name, d.Version, nil)
		d.RetiredAt = nil
		if outcome == Known {
			outcome = Returned
		}
	}
	if err != nil {
		return Database{}, "", err
	}
	if outcome != Known {
		r.log.InfoContext(ctx, "sequence database in use again", "name", d.Name, "version", d.Version, "outcome", outcome)
	}
	return d, outcome, nil
}

// sameAs refuses another content or description under a name and version that are taken.
func sameAs(kept Database, source Source, held contents) error {
	for _, is := range []struct{ what, kept, given string }{
		{"content", kept.SourceSHA256, held.SHA256}, {"type", kept.Type, held.Type}, {"date", kept.ReleasedOn, source.ReleasedOn},
		{"title", kept.Title, source.Title},
	} {
		if is.kept != is.given {
			return fmt.Errorf("database %s is there with another %s (%s, not %s); a name and version never change: add this one "+
				"under another version", kept, is.what, is.kept, is.given)
		}
	}
	return nil
}

// buildAndStore builds a database and puts its files into the object store. wanted is the checksum that it must have, or "".
func (r *Registry) buildAndStore(
	ctx context.Context, source Source, held contents, program, wanted string, report Progress,
) (Database, error) {
	dir, err := os.MkdirTemp("", "molfabric-blastdb-")
	if err != nil {
		return Database{}, fmt.Errorf("build database %s: %w", source.Name, err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // its files are stored, or of no use
	built, err := build(ctx, source, held, program, dir, report)
	if err != nil {
		return Database{}, err
	}
	if wanted != "" && built.Checksum != wanted {
		return Database{}, fmt.Errorf("database %s is damaged in the object store, and %s builds other bytes from the same FASTA "+
			"(checksum %s, not %s); retire it and add the FASTA under another version",
			built.Database, program, built.Checksum, wanted)
	}
	var stored atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxTransfers)
	for _, f := range built.Files {
		group.Go(func() error {
			if _, err := r.objects.PutFile(ctx, built.Key(f.Name), filepath.Join(dir, f.Name), fileType, f.SHA256); err != nil {
				return err
			}
			report.tell(StepStore, stored.Add(f.ByteSize), built.Bytes)
			return nil
		})
	}
	return built.Database, group.Wait()
}

// damaged lists the files of a database that are gone from the object store, or others there by what it says without their being
// read.
func (r *Registry) damaged(ctx context.Context, d Database) ([]string, error) {
	var names []string
	for _, f := range d.Files {
		info, err := r.objects.Head(ctx, d.Key(f.Name))
		switch {
		case errors.Is(err, object.ErrNotFound), err == nil && (info.ByteSize != f.ByteSize || info.SHA256 != "" &&
			info.SHA256 != f.SHA256):
			names = append(names, f.Name)
		case err != nil:
			return nil, err
		}
	}
	return names, nil
}

// List returns the databases in use, by name and then from the newest release to the oldest; those of one type, or "" for all.
func (r *Registry) List(ctx context.Context, typ string) ([]Database, error) {
	all, err := r.store.all(ctx)
	return slices.DeleteFunc(all, func(d Database) bool { return d.RetiredAt != nil || typ != "" && d.Type != typ }), err
}

// All is List with the retired ones.
func (r *Registry) All(ctx context.Context) ([]Database, error) { return r.store.all(ctx) }

// Retire takes a database out of use: no later search finds it. Jobs that were submitted before keep it, and so its files stay. It
// may be called again. Errors: *UnknownError.
func (r *Registry) Retire(ctx context.Context, name, version string) (Database, error) {
	at := r.now().UTC().Truncate(time.Microsecond)
	if err := r.store.setRetired(ctx, name, version, &at); err != nil {
		return Database{}, err
	}
	d, found, err := r.store.one(ctx, name, version)
	if err == nil && !found {
		var all []Database
		if all, err = r.List(ctx, ""); err == nil {
			err = &UnknownError{ByName, fmt.Sprintf("there is no database %q of version %q; there is %s", name, version,
				listed(all))}
		}
	}
	if err != nil {
		return Database{}, err
	}
	r.log.InfoContext(ctx, "sequence database retired", "name", d.Name, "version", d.Version)
	return d, nil
}

// Damage is a file of a database that is not what it must be.
type Damage struct {
	Database Database
	File     string // "" when the row itself is wrong
	Problem  string
}

// Verify reads every file of a database and holds it against its digest, and the digests against the checksum. What differs is in
// the answer, empty when all is well. Errors: object.ErrUnavailable.
func (r *Registry) Verify(ctx context.Context, d Database, report func(done, total int64)) ([]Damage, error) {
	found := make([]*Damage, len(d.Files))
	var read atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxTransfers)
	for i, f := range d.Files {
		group.Go(func() error {
			problem, err := r.verify(ctx, d, f, func(n int64) { report(read.Add(n), d.Bytes) })
			if problem != "" {
				found[i] = &Damage{d, f.Name, problem}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var damages []Damage
	if computed := checksumOf(d.Files); computed != d.Checksum {
		damages = append(damages, Damage{d, "", fmt.Sprintf("the digests of its files give the checksum %s, not the %s of the "+
			"registry", computed, d.Checksum)})
	}
	for _, one := range found {
		if one != nil {
			damages = append(damages, *one)
		}
	}
	for _, one := range damages {
		r.log.ErrorContext(ctx, "sequence database damaged", "name", d.Name, "version", d.Version, "file", one.File, "problem",
			one.Problem)
	}
	return damages, nil
}

// verify reads one file; problem is "" when it is what it must be.
func (r *Registry) verify(ctx context.Context, d Database, f File, report func(n int64)) (problem string, err error) {
	body, info, err := r.objects.Get(ctx, d.Key(f.Name))
	if errors.Is(err, object.ErrNotFound) {
		return "is gone from the object store", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }() // read to its end, or given up
	if info.ByteSize != f.ByteSize {
		return fmt.Sprintf("has %d bytes, not %d", info.ByteSize, f.ByteSize), nil
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, counting(report)), body); err != nil {
		return "", err
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != f.SHA256 {
		return fmt.Sprintf("has SHA-256 %s, not %s", found, f.SHA256), nil
	}
	return "", nil
}

// counting is a writer that tells how much was written.
type counting func(n int64)

func (c counting) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}
