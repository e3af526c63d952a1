package fold

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fasta"
)

const (
	// UsualTokens is the protein of an estimate that says no lengths.
	UsualTokens = 200

	lengthsField = "foldLengths"
)

// typical completes a request that has no sequences: proteins of the lengths that it states, or else one of UsualTokens residues.
// Errors: *engines.InvalidError.
func typical(r engines.Request) (engines.Request, string, error) {
	if _, read := r.Found.Contents[SceneFile]; read {
		return r, "", nil
	}
	params, err := engines.ParamsOf[Params](r)
	if err != nil {
		return r, "", Invalid("simulationParams", "cannot be read: %v", err)
	}
	device, err := deviceOf(r)
	if err != nil {
		return r, "", err
	}
	lengths, assumed, most := params.Lengths, "", mostOf(device)
	for i, length := range lengths {
		if length < 1 || length > most {
			return r, "", Invalid(fmt.Sprintf("%s[%d]", lengthsField, i), "is %d; a protein may have 1 to %d residues on %s",
				length, most, device)
		}
	}
	if len(lengths) == 0 {
		lengths, assumed = []int{UsualTokens}, fmt.Sprintf("one protein of %d residues", UsualTokens)
	}
	contents := map[string]engines.Contents{SceneFile: {Sequences: proteins(lengths)}}
	maps.Copy(contents, r.Found.Contents)
	r.Found.Contents = contents
	r.Params, err = without(r.Params, lengthsField)
	return r, assumed, err
}

// proteins are records of these lengths, of which the first 20³ all differ where they are long enough: each would be aligned.
func proteins(lengths []int) []fasta.Record {
	const letters = "ACDEFGHIKLMNPQRSTVWY"
	records := make([]fasta.Record, len(lengths))
	for i, length := range lengths {
		marks := string([]byte{letters[i%20], letters[i/20%20], letters[i/400%20]})
		records[i] = fasta.Record{Name: fmt.Sprintf("protein %d", i+1), Letters: (marks + strings.Repeat("A", length))[:length]}
	}
	return records
}

// without takes a member out of the text of parameters.
func without(params json.RawMessage, member string) (json.RawMessage, error) {
	if len(params) == 0 {
		return params, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(params, &members); err != nil {
		return nil, Invalid("simulationParams", "cannot be read: %v", err)
	}
	delete(members, member)
	return json.Marshal(members)
}
