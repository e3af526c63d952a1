package structures

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

// p53 is the head of the prediction of a protein as the AlphaFold database writes it, and enough to be told apart.
const p53 = "data_AF-P04637-F1\n#\n_entry.id AF-P04637-F1\n#\n_struct.title 'made for this test, no coordinates'\n"

func TestAPredictionIsFetchedOnce(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	site.serve("/api/prediction/P04637", []byte(`[
		{"entryId": "AF-P04637-2-F1", "cifUrl": "https://elsewhere.example.org/files/isoform.cif"},
		{"entryId": "AF-P04637-F1", "cifUrl": "https://elsewhere.example.org/files/AF-P04637-F1-model_v6.cif"}]`))
	site.serve("/files/AF-P04637-F1-model_v6.cif", []byte(p53))
	b := open(t, SourceOff, "")
	if _, err := b.Prediction(t.Context(), "P04637"); !errors.Is(err, ErrNoSource) {
		t.Errorf("without a source: %v, want ErrNoSource", err)
	}
	b.deps.Predictions = site.url
	b.again(SourceOff)
	for range 2 {
		got, err := b.Prediction(t.Context(), "p04637")
		if err != nil || got.PDBID != "AF-P04637-F1" || got.Source != site.url+"/files/AF-P04637-F1-model_v6.cif" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if n := site.requests(); n != 2 {
		t.Errorf("the server was asked %d times, want twice: for the list and for the file", n)
	}
	for _, accession := range []string{"P99999", "P04637-2", "../P04637", "1CBS", ""} {
		if _, err := b.Prediction(t.Context(), accession); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", accession, err)
		}
	}
	site.serve("/api/prediction/Q9Y6K9", []byte(`[{"entryId": "AF-Q9Y6K9-F1", "cifUrl": "/files/AF-P04637-F1-model_v6.cif"}]`))
	if _, err := b.Prediction(t.Context(), "Q9Y6K9"); !fault.Is(err, fault.ProviderUnavailable) {
		t.Errorf("a file of another protein: %v, want %s", err, fault.ProviderUnavailable)
	}
}

func TestTheNewestPredictionOfADirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"AF-P04637-F1-model_v4.cif": p53 + "_made.version 4\n", "AF-P04637-F1-model_v10.cif.gz": p53 + "_made.version 10\n",
		"AF-P04637-F1-model_v5.pdb": "HEADER\n", "AF-P04637-F2-model_v11.cif": p53,
	} {
		packed := []byte(content)
		if filepath.Ext(name) == ".gz" {
			packed = zipped(t, packed)
		}
		if err := os.WriteFile(filepath.Join(root, name), packed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, SourceOff, "")
	b.deps.Predictions = root
	b.again(SourceOff)
	got, err := b.Prediction(t.Context(), "P04637")
	if err != nil || got.Source != "file:AF-P04637-F1-model_v10.cif.gz" || got.SHA256 != digest([]byte(p53+"_made.version 10\n")) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := b.Prediction(t.Context(), "Q9Y6K9"); !errors.Is(err, ErrNotFound) {
		t.Errorf("one that is not there: %v, want ErrNotFound", err)
	}
}
