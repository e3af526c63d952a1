// Package audit compares what the system has written down: the ledger with itself, jobs with their tasks, holds and charges, and
// the records of files with the object store. It reads, and says what should not be; Sweep alone deletes, and only files that
// nothing names. It is what an operator runs after a restore, and what is left of a chaos test's verdict when the system goes on.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/object"
)

const (
	// accountsPrefix is what all files of accounts begin with.
	accountsPrefix = "accounts/"
	// MaxFindings bounds what is kept of one check; all are counted.
	MaxFindings = 100
	// StrayAge is how old a file must be that Sweep deletes: what an attempt has stored is named when its report is collected, and
	// an upload when its URL is given out, so a week is far beyond both.
	StrayAge = 7 * 24 * time.Hour
)

// Finding is something that should not be.
type Finding struct {
	Check   string `db:"-" json:"check"`
	Subject string `db:"subject" json:"subject"` // an id, a storage key
	Detail  string `db:"detail" json:"detail"`
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Check, f.Subject, f.Detail) }

// Report is what an audit has found.
type Report struct {
	Findings []Finding      `json:"findings"` // at most MaxFindings of each check
	Counts   map[string]int `json:"counts"`   // of findings, by check; of every check, also 0
	Files    int            `json:"files"`    // that are recorded
	Strays   int            `json:"strays"`   // files of the store that nothing names
	// StrayBytes are those of the strays; OldStrays are the strays that Sweep deletes.
	StrayBytes int64 `json:"strayBytes"`
	OldStrays  int   `json:"oldStrays"`
	Swept      int   `json:"swept"`
}

// Clean tells whether everything agrees. Strays are waste and no disagreement.
func (r *Report) Clean() bool { return len(r.Findings) == 0 }

func (r *Report) add(check string, found ...Finding) {
	if r.Counts == nil {
		r.Counts = map[string]int{}
	}
	room := max(MaxFindings-r.Counts[check], 0)
	r.Counts[check] += len(found)
	for _, f := range found[:min(len(found), room)] {
		f.Check = check
		r.Findings = append(r.Findings, f)
	}
}

// Run audits the tables and the files, as they are at one moment each: a file that is deleted in between may be called missing.
func Run(ctx context.Context, db *sqlx.DB, objects *object.Store, now time.Time) (Report, error) {
	return run(ctx, db, objects, now, nil)
}

// Sweep is Run, and deletes the files of the store that nothing names and that are older than StrayAge.
func Sweep(ctx context.Context, db *sqlx.DB, objects *object.Store, now time.Time) (Report, error) {
	return run(ctx, db, objects, now, objects.Delete)
}

// run removes old strays with remove, unless it is nil.
func run(
	ctx context.Context, db *sqlx.DB, objects *object.Store, now time.Time, remove func(context.Context, string) error,
) (Report, error) {
	report := Report{Findings: []Finding{}}
	err := report.tables(ctx, db)
	if err == nil {
		err = report.files(ctx, db, objects, now, remove)
	}
	return report, err
}

// Promises are the names of what Tables looks at, each once.
func Promises() []string {
	var names []string
	for _, check := range checks {
		if !slices.Contains(names, check.name) {
			names = append(names, check.name)
		}
	}
	return names
}

// Tables finds what breaks the promises that the database keeps at every moment.
func Tables(ctx context.Context, db sqlx.QueryerContext) ([]Finding, error) {
	var all []Finding
	for _, check := range checks {
		var found []Finding
		if err := sqlx.SelectContext(ctx, db, &found, check.query); err != nil {
			return nil, fmt.Errorf("audit: check that %s: %w", check.name, err)
		}
		for _, f := range found {
			f.Check = check.name
			all = append(all, f)
		}
	}
	return all, nil
}

// tables adds what the database breaks.
func (r *Report) tables(ctx context.Context, db sqlx.QueryerContext) error {
	for _, name := range Promises() {
		r.add(name)
	}
	found, err := Tables(ctx, db)
	for _, f := range found {
		r.add(f.Check, f)
	}
	return err
}

// File is what the database says of a file.
type File struct {
	Key  string `db:"storage_key"`
	Size int64  `db:"byte_size"`
	// Must tells that the file has to be there; of an upload that nobody has used the store alone knows.
	Must bool `db:"must"`
}

const checkFiles = "every recorded file is in the store, with its size"

// files goes through the records and the store side by side, both in the order of their keys. remove deletes an old stray; nil
// leaves it.
func (r *Report) files(
	ctx context.Context, db *sqlx.DB, objects *object.Store, now time.Time, remove func(context.Context, string) error,
) error {
	r.add(checkFiles)
	recorded, stop := iter.Pull2(records(ctx, db))
	defer stop()
	next := func() (File, bool, error) {
		file, err, ok := recorded()
		if ok && err == nil {
			r.Files++
		}
		return file, ok, err
	}
	file, more, err := next()
	if err != nil {
		return err
	}
	for stored, err := range objects.List(ctx, accountsPrefix) {
		if err != nil {
			return fmt.Errorf("audit: list the files: %w", err)
		}
		for more && cmp.Less(file.Key, stored.Key) {
			r.missing(file)
			if file, more, err = next(); err != nil {
				return err
			}
		}
		if !more || file.Key != stored.Key {
			if err := r.stray(ctx, stored, now, remove); err != nil {
				return err
			}
			continue
		}
		if stored.ByteSize != file.Size {
			r.add(checkFiles, Finding{Subject: file.Key, Detail: fmt.Sprintf("has %d bytes, recorded are %d", stored.ByteSize,
				file.Size)})
		}
		if file, more, err = next(); err != nil {
			return err
		}
	}
	for more {
		r.missing(file)
		if file, more, err = next(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) missing(file File) {
	if file.Must {
		r.add(checkFiles, Finding{Subject: file.Key, Detail: "is recorded, and the store does not have it"})
	}
}

func (r *Report) stray(ctx context.Context, stored object.Info, now time.Time, remove func(context.Context, string) error) error {
	r.Strays++
	r.StrayBytes += stored.ByteSize
	if now.Sub(stored.ModifiedAt) < StrayAge {
		return nil
	}
	r.OldStrays++
	if remove == nil {
		return nil
	}
	if err := remove(ctx, stored.Key); err != nil {
		return fmt.Errorf("audit: delete %s: %w", stored.Key, err)
	}
	r.Swept++
	return nil
}

// Write prints the report for people, or as JSON.
func (r *Report) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	var text strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&text, f)
	}
	width := 0
	for name := range r.Counts {
		width = max(width, len(name))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		verdict := "holds"
		if n := r.Counts[name]; n > 0 {
			verdict = fmt.Sprintf("broken %d times", n)
		}
		fmt.Fprintf(&text, "%-*s  %s\n", width, name, verdict)
	}
	fmt.Fprintf(&text, "%d files are recorded. %d files of the store (%.1f MB) belong to nothing", r.Files, r.Strays,
		float64(r.StrayBytes)/1e6)
	switch {
	case r.Swept > 0:
		fmt.Fprintf(&text, "; %d of them were deleted", r.Swept)
	case r.OldStrays > 0:
		fmt.Fprintf(&text, "; %d of them are older than a week, and --sweep deletes them", r.OldStrays)
	}
	text.WriteString(".\n")
	_, err := io.WriteString(w, text.String())
	return err
}
