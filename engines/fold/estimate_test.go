package fold

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fasta"
)

// TestTypical completes estimates, which have no sequences.
func TestTypical(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		params, device string
		lengths        []int
		assumed, field string
	}{
		{`{}`, "", []int{UsualTokens}, "one protein of 200 residues", ""},
		{`{"foldLengths":[2,400,400]}`, "", []int{2, 400, 400}, "", ""},
		{`{"foldLengths":[1024]}`, DeviceCUDA, []int{1024}, "", ""},
		{`{"foldLengths":[30,401]}`, "", nil, "", "foldLengths[1]"},
		{`{"foldLengths":[0]}`, "", nil, "", "foldLengths[0]"},
		{`{"foldLengths":[1025]}`, DeviceCUDA, nil, "", "foldLengths[0]"},
		{`{}`, "tpu", nil, "", "parameters.foldDevice"},
	} {
		r := engines.Request{Params: json.RawMessage(c.params)}
		if c.device != "" {
			r.Parameters = map[string]string{DeviceParameter: c.device}
		}
		got, assumed, err := typical(r)
		var invalid *engines.InvalidError
		if errors.As(err, &invalid) != (c.field != "") || invalid != nil && invalid.Field != c.field {
			t.Errorf("%s on %q: got %v, want %q refused", c.params, c.device, err, c.field)
		}
		if err != nil {
			continue
		}
		records, different := got.Found.Contents[SceneFile].Sequences, map[string]bool{}
		for i, record := range records {
			different[record.Letters] = true
			if i >= len(c.lengths) || len(record.Letters) != c.lengths[i] {
				t.Errorf("%s: protein %d has %d residues, want those of %v", c.params, i, len(record.Letters), c.lengths)
			}
		}
		if len(records) != len(c.lengths) || len(different) != len(records) || assumed != c.assumed {
			t.Errorf("%s: got %d proteins, %d of which differ, and %q assumed", c.params, len(records), len(different), assumed)
		}
		if strings.Contains(string(got.Params), lengthsField) {
			t.Errorf("%s: got the parameters %s, want them without lengths", c.params, got.Params)
		}
	}
	content := engines.Contents{Sequences: []fasta.Record{{Name: "a", Letters: "MKV"}}}
	r := engines.Request{Params: json.RawMessage(`{}`)}
	r.Found.Contents = map[string]engines.Contents{SceneFile: content}
	if got, assumed, err := typical(r); err != nil || assumed != "" || got.Found.Contents[SceneFile].Sequences[0].Letters != "MKV" {
		t.Errorf("got %v, %q, %v, want the sequences that were read", got.Found.Contents, assumed, err)
	}
}
