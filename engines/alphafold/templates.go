package alphafold

import (
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
)

const (
	templatesField = "foldTemplates"
	inputTemplates = "templates"
)

// template is an entry of the Protein Data Bank that models may take as one.
type template struct {
	ID     string `json:"id"` // in upper case
	SHA256 string `json:"sha256"`

	file engines.Object
}

// wantedTemplates are the entries that a request names.
func wantedTemplates(ids []string) []engines.WantedEntry {
	wanted := make([]engines.WantedEntry, len(ids))
	for i, id := range ids {
		wanted[i] = engines.WantedEntry{
			Path: fmt.Sprintf("%s[%d]", templatesField, i), ID: id, Use: "a template",
			NoSource: "leave " + templatesField + " out", TooLarge: "take a smaller entry with the same chain",
		}
	}
	return wanted
}

// templatesOf are the entries of a request that were found; an estimate finds none that is not kept already.
func templatesOf(ids []string, found map[string]engines.Object) ([]template, error) {
	var templates []template
	seen := map[string]bool{}
	for i, id := range ids {
		id = strings.ToUpper(id)
		if seen[id] {
			return nil, fold.Invalid(fmt.Sprintf("%s[%d]", templatesField, i), "names %s once more", id)
		}
		seen[id] = true
		file := found[id]
		templates = append(templates, template{ID: id, SHA256: file.SHA256, file: file})
	}
	return templates, nil
}

// templateInputs are the entries as inputs of a shard that folds.
func (q request) templateInputs() []engines.Input {
	var inputs []engines.Input
	for _, one := range q.templates {
		if file := one.file; file.StorageKey != "" {
			inputs = append(inputs, engines.Input{Name: inputTemplates + "/" + strings.ToLower(one.ID) + ".cif", Object: &file})
		}
	}
	return inputs
}
