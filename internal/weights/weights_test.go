package weights

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

const folding = `{"model_type":"esm","is_folding_model":true,"esmfold_config":{}}`

// folder holds a model of one tensor of four bytes.
func folder(t *testing.T, config, values string) string {
	t.Helper()
	dir := t.TempDir()
	header := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	content := string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + values
	for name, text := range map[string]string{"config.json": config, "model.safetensors": content,
		"README.md": "not a part of it"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRegistry adds weights, repairs and verifies them, retires them and takes them back.
func TestRegistry(t *testing.T) {
	t.Parallel()
	objects, _ := objecttest.New(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := New(Deps{DB: pgtest.New(t), Objects: objects, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
		at = at.Add(time.Hour)
		return at
	}})
	ctx := t.Context()
	var none *NoneError
	if _, err := r.Newest(ctx, "esmfold"); !errors.As(err, &none) {
		t.Fatalf("got %v, want no weights", err)
	}
	source := Source{Folder: folder(t, folding, "abcd"), Model: "esmfold", Licence: "MIT", CommercialUse: true}
	add := func(source Source, want Outcome) Weights {
		t.Helper()
		w, outcome, err := r.Add(ctx, source, nil)
		if err != nil || outcome != want {
			t.Fatalf("got %s, %v, want %s", outcome, err, want)
		}
		return w
	}
	first := add(source, Added)
	if len(first.Files) != 2 || !first.Trained || !first.CommercialUse {
		t.Errorf("got %+v, want two files", first)
	}
	random := strings.TrimSuffix(folding, "}") + `,"molfabric_untrained":true}`
	second := add(Source{Folder: folder(t, random, "efgh"), Model: "esmfold", Licence: "none"}, Added)
	if second.Trained {
		t.Error("random weights are taken for trained ones")
	}
	if w, err := r.Newest(ctx, "esmfold"); err != nil || w.Digest != first.Digest {
		t.Errorf("got %v, %v, want the trained weights before newer random ones", w, err)
	}
	if err := objects.Delete(ctx, first.Key("config.json")); err != nil {
		t.Fatal(err)
	}
	if damages, err := r.Verify(ctx, first, nil); err != nil || len(damages) != 1 || damages[0].File != "config.json" {
		t.Errorf("got %v, %v, want one file gone", damages, err)
	}
	add(source, Known)
	if damages, err := r.Verify(ctx, first, nil); err != nil || len(damages) != 0 {
		t.Errorf("got %v, %v after the repair", damages, err)
	}
	other := source
	other.CommercialUse = false
	if _, _, err := r.Add(ctx, other, nil); err == nil {
		t.Error("the licence of weights that are there was changed")
	}
	if _, err := r.Retire(ctx, first.Digest[:ShownDigits]); err != nil {
		t.Fatal(err)
	}
	if w, err := r.Newest(ctx, "esmfold"); err != nil || w.Digest != second.Digest {
		t.Errorf("got %v, %v, want the others after the first were retired", w, err)
	}
	add(source, Returned)
}

// TestSourceRefused: what a task could not open is refused, with a way out.
func TestSourceRefused(t *testing.T) {
	t.Parallel()
	pickled := t.TempDir()
	for _, name := range []string{"config.json", "pytorch_model.bin"} {
		if err := os.WriteFile(filepath.Join(pickled, name), []byte(folding), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		source Source
		word   string
	}{
		"no folder":      {Source{Folder: "/nowhere", Model: "esmfold", Licence: "MIT"}, "no such file"},
		"pickled":        {Source{Folder: pickled, Model: "esmfold", Licence: "MIT"}, "convert_weights.py"},
		"another model":  {Source{Folder: folder(t, `{"model_type":"bert"}`, "abcd"), Model: "esmfold", Licence: "MIT"}, "no ESMFold model"},
		"cut short":      {Source{Folder: folder(t, folding, "abc"), Model: "esmfold", Licence: "MIT"}, "damaged"},
		"no licence":     {Source{Folder: folder(t, folding, "abcd"), Model: "esmfold"}, "licence"},
		"unknown engine": {Source{Folder: folder(t, folding, "abcd"), Model: "rosettafold", Licence: "MIT"}, "esmfold"},
	} {
		source, err := c.source.checked()
		if err == nil {
			_, err = source.read(t.Context(), nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: got %v, want it to name %q", name, err, c.word)
		}
	}
}
