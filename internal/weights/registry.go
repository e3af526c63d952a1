package weights

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/object"
)

// Progress is told how far a long step is: done of total bytes. It may be nil.
type Progress func(step string, done, total int64)

func (p Progress) tell(step string, done, total int64) {
	if p != nil {
		p(step, done, total)
	}
}

// Outcome says what an addition has done.
type Outcome string

// What Add can have done.
const (
	Added    Outcome = "added"
	Known    Outcome = "known"    // they were there; files that were gone are there again
	Returned Outcome = "returned" // they were there and retired, and are in use again
)

// fileType is the media type of the files.
const fileType = "application/octet-stream"

// Add reads a folder and takes its weights into the registry. It may be called again, and by many at once: a digest stands for one
// content for ever, and its description never changes. Errors: object.ErrUnavailable; all others say what is wrong with the folder
// or the description.
func (r *Registry) Add(ctx context.Context, source Source, report Progress) (Weights, Outcome, error) {
	source, err := source.checked()
	if err != nil {
		return Weights{}, "", err
	}
	w, err := source.read(ctx, report)
	if err != nil {
		return Weights{}, "", err
	}
	kept, isKept, err := r.store.one(ctx, w.Digest)
	if err != nil {
		return Weights{}, "", err
	}
	if isKept && (kept.Model != w.Model || kept.Licence != w.Licence || kept.CommercialUse != w.CommercialUse ||
		kept.Trained != w.Trained) {
		return Weights{}, "", fmt.Errorf("weights %s are there as %s, licence %s, commercial use %v, trained %v; what "+
			"results were "+
			"made under does not change", kept, kept.Model, kept.Licence, kept.CommercialUse, kept.Trained)
	}
	if err := r.put(ctx, source.Folder, w, report); err != nil {
		return Weights{}, "", err
	}
	switch {
	case isKept && kept.RetiredAt != nil:
		kept.RetiredAt = nil
		return kept, Returned, r.store.setRetired(ctx, w.Digest, nil)
	case isKept:
		return kept, Known, nil
	}
	w.CreatedAt = r.now().UTC().Truncate(time.Microsecond)
	inserted, err := r.store.insert(ctx, w)
	if err == nil && !inserted {
		err = fmt.Errorf("weights %s: another process has added them meanwhile, or the registry holds %d already", w, MaxWeights)
	}
	if err != nil {
		return Weights{}, "", err
	}
	r.log.InfoContext(ctx, "weights added", "model", w.Model, "digest", w.Digest, "licence", w.Licence, "commercialUse",
		w.CommercialUse, "trained", w.Trained, "bytes", w.Bytes)
	return w, Added, nil
}

// put stores the files that are not there, one after the other: each may take all of the line.
func (r *Registry) put(ctx context.Context, folder string, w Weights, report Progress) error {
	stored := int64(0)
	for _, f := range w.Files {
		info, err := r.objects.Head(ctx, w.Key(f.Name))
		if err != nil && !errors.Is(err, object.ErrNotFound) {
			return err
		}
		if err != nil || info.ByteSize != f.ByteSize || info.SHA256 != "" && info.SHA256 != f.SHA256 {
			if _, err := r.objects.PutFile(ctx, w.Key(f.Name), filepath.Join(folder, f.Name), fileType, f.SHA256); err != nil {
				return err
			}
		}
		stored += f.ByteSize
		report.tell("storing", stored, w.Bytes)
	}
	return nil
}

// All returns all weights, retired ones included, by model and then from the newest to the oldest.
func (r *Registry) All(ctx context.Context) ([]Weights, error) { return r.store.all(ctx) }

// List is All without the retired ones.
func (r *Registry) List(ctx context.Context) ([]Weights, error) {
	all, err := r.store.all(ctx)
	return slices.DeleteFunc(all, func(w Weights) bool { return w.RetiredAt != nil }), err
}

// Newest returns the weights of a model that were added last and are in use. Trained ones go before random ones. Errors:
// *NoneError.
func (r *Registry) Newest(ctx context.Context, model string) (Weights, error) {
	all, err := r.List(ctx)
	if err != nil {
		return Weights{}, err
	}
	of := slices.DeleteFunc(all, func(w Weights) bool { return w.Model != model })
	if len(of) == 0 {
		return Weights{}, &NoneError{model}
	}
	if at := slices.IndexFunc(of, func(w Weights) bool { return w.Trained }); at >= 0 {
		return of[at], nil
	}
	return of[0], nil
}

// Retire takes weights out of use by the first digits of their digest: no later job finds them. Jobs that were submitted before
// keep them, and so their files stay. It may be called again.
func (r *Registry) Retire(ctx context.Context, digits string) (Weights, error) {
	all, err := r.store.all(ctx)
	if err != nil {
		return Weights{}, err
	}
	fits := slices.DeleteFunc(all, func(w Weights) bool { return !strings.HasPrefix(w.Digest, strings.ToLower(digits)) })
	if len(fits) != 1 || digits == "" {
		return Weights{}, fmt.Errorf("%d weights have a digest that begins with %q; `molfabric weights list` shows them", len(fits),
			digits)
	}
	at := r.now().UTC().Truncate(time.Microsecond)
	fits[0].RetiredAt = &at
	return fits[0], r.store.setRetired(ctx, fits[0].Digest, &at)
}

// Damage is a file that is not what it must be.
type Damage struct{ File, Problem string }

// Verify reads every file from the object store and holds it against its digest. What differs is in the answer, empty when all is
// well. Errors: object.ErrUnavailable.
func (r *Registry) Verify(ctx context.Context, w Weights, report Progress) ([]Damage, error) {
	var damages []Damage
	read := int64(0)
	for _, f := range w.Files {
		problem, err := r.verify(ctx, w.Key(f.Name), f)
		if err != nil {
			return nil, err
		}
		if problem != "" {
			damages = append(damages, Damage{f.Name, problem})
			r.log.ErrorContext(ctx, "weights damaged", "model", w.Model, "digest", w.Digest, "file", f.Name, "problem", problem)
		}
		read += f.ByteSize
		report.tell("verifying "+w.String(), read, w.Bytes)
	}
	return damages, nil
}

// verify reads one file; problem is "" when it is what it must be.
func (r *Registry) verify(ctx context.Context, key string, f File) (problem string, err error) {
	body, info, err := r.objects.Get(ctx, key)
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
	if _, err := io.Copy(sum, body); err != nil {
		return "", err
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != f.SHA256 {
		return fmt.Sprintf("has SHA-256 %s, not %s", found, f.SHA256), nil
	}
	return "", nil
}
