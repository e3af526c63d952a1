package director_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/molfabric/molfabric/internal/director"
)

// vocabulary is what the tests need of the JSON Schema of operations.
type vocabulary struct {
	Items struct {
		OneOf []struct {
			Properties struct {
				Op   struct{ Const string }
				Args arguments
			}
		} `json:"oneOf"`
	}
}

// arguments is the schema of one operation's arguments.
type arguments struct {
	Properties map[string]struct {
		Type             string
		Enum             []string
		Pattern          string
		Minimum, Maximum *float64
		MaxLength        int
		MaxItems         int
	}
	Required []string
}

// faults are what a schema has against arguments as JSON has them.
func (a arguments) faults(args map[string]any) []string {
	var faults []string
	for _, name := range a.Required {
		if args[name] == nil {
			faults = append(faults, name+" is missing")
		}
	}
	for name, value := range args {
		property, ok := a.Properties[name]
		text, isText := value.(string)
		number, isNumber := value.(float64)
		list, _ := value.([]any)
		switch {
		case !ok:
			faults = append(faults, name+" is unknown")
		case isText && property.Enum != nil && !slices.Contains(property.Enum, text),
			isText && property.Pattern != "" && !regexp.MustCompile(property.Pattern).MatchString(text),
			isText && property.MaxLength > 0 && len([]rune(text)) > property.MaxLength,
			isNumber && property.Minimum != nil && number < *property.Minimum,
			isNumber && property.Maximum != nil && number > *property.Maximum,
			property.Type == "integer" && number != float64(int(number)),
			property.MaxItems > 0 && len(list) > property.MaxItems,
			isText && property.Type != "" && property.Type != "string":
			faults = append(faults, fmt.Sprintf("%s is %v", name, value))
		}
	}
	return faults
}

func readVocabulary(t testing.TB) map[string]arguments {
	t.Helper()
	text, err := os.ReadFile("testdata/ops.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema vocabulary
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	operations := map[string]arguments{}
	for _, one := range schema.Items.OneOf {
		operations[one.Properties.Op.Const] = one.Properties.Args
	}
	return operations
}

// against are the faults of operations as they would be sent.
func against(operations map[string]arguments, got []director.Operation) []string {
	text, err := json.Marshal(got)
	if err != nil {
		return []string{err.Error()}
	}
	var sent []director.Operation
	if err := json.Unmarshal(text, &sent); err != nil {
		return []string{err.Error()}
	}
	var faults []string
	for _, operation := range sent {
		schema, ok := operations[operation.Op]
		if !ok {
			faults = append(faults, "no operation "+operation.Op)
			continue
		}
		faults = append(faults, schema.faults(operation.Args)...)
	}
	return faults
}

// TestOperationsFitTheVocabulary holds what the grammar gives, and what the sentences want, against the JSON Schema of operations.
func TestOperationsFitTheVocabulary(t *testing.T) {
	t.Parallel()
	operations := readVocabulary(t)
	seen := map[string]bool{}
	for _, e := range append(readExamples(t, "public.jsonl"), readExamples(t, "sentences.jsonl")...) {
		got := director.Understand(e.Context.context(), e.Sentence).Operations
		for _, faults := range [][]string{against(operations, got), against(operations, e.Operations)} {
			if len(faults) > 0 {
				t.Errorf("%q: %q in %v", e.Sentence, faults, got)
			}
		}
		for _, operation := range got {
			seen[operation.Op] = true
		}
	}
	for name := range operations {
		if !seen[name] {
			t.Errorf("no sentence gives %s", name)
		}
	}
	if len(against(operations, []director.Operation{{Op: "show", Args: map[string]any{"sel": "all", "as": "ribbon"}}})) == 0 {
		t.Error("a representation that is not in the vocabulary passes")
	}
}

// TestAnswersFillTheGap asks, answers, and checks that the answer is carried out with the turn that it belongs to.
func TestAnswersFillTheGap(t *testing.T) {
	t.Parallel()
	kinase := []director.Range{{First: 225, Last: 498}}
	ctx := director.Context{Structure: "1IEP",
		Chains:  []director.Chain{{ID: "A", Kind: "protein", Ranges: kinase}, {ID: "B", Kind: "protein", Ranges: kinase}},
		Ligands: []director.Component{{Name: "STI", Chain: "A", Number: "201"}, {Name: "STI", Chain: "B", Number: "202"}}}
	for _, c := range []struct{ first, answer, want string }{
		{"colour the ligand green and zoom in on it", "", `[{"op":"color","args":{"color":"green","sel":"ligand"}},{"op":"focus","args":{"sel":"ligand"}}]`},
		{"zoom in on the ligand", "the second one", `[{"op":"focus","args":{"sel":"resn STI and chain B"}}]`},
		{"hide chain B and zoom in on residue 315", "A", `[{"op":"hide","args":{"sel":"chain B"}},{"op":"focus","args":{"sel":"chain A and resi 315"}}]`},
		{"measure the distance between the ligand and residue 315 of chain A", "STI/A/201",
			`[{"op":"measure","args":{"between":["resn STI and chain A","chain A and resi 315"],"kind":"distance"}}]`},
	} {
		got := director.Understand(ctx, c.first)
		if c.answer != "" {
			if len(got.Operations) != 1 || got.Operations[0].Op != "ask" || got.Pending == nil {
				t.Errorf("%q gives %v without a question that can be answered", c.first, got)
				continue
			}
			asked := ctx
			asked.Pending = got.Pending
			got = director.Understand(asked, c.answer)
		}
		if text, _ := json.Marshal(got.Operations); string(text) != c.want {
			t.Errorf("%q, %q:\ngot  %s\nwant %s", c.first, c.answer, text, c.want)
		}
	}
}

// TestNamesAreChecked holds residues that are called by a name against the structure.
func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	kinase := []director.Range{{First: 225, Last: 498}}
	ctx := director.Context{Structure: "1IEP", Chains: []director.Chain{{ID: "A", Kind: "protein", Ranges: kinase}},
		Residue: func(_, number string) (string, bool) { return map[string]string{"315": "THR"}[number], number == "315" }}
	for sentence, want := range map[string]string{
		"highlight Thr315": `[{"op":"highlight","args":{"sel":"chain A and resi 315"}}]`,
		"highlight T315":   `[{"op":"highlight","args":{"sel":"chain A and resi 315"}}]`,
		"highlight Ile315": `[{"op":"ask","args":{"about":"residue","choices":["A/THR/315"]}}]`,
	} {
		if text, _ := json.Marshal(director.Understand(ctx, sentence).Operations); string(text) != want {
			t.Errorf("%q:\ngot  %s\nwant %s", sentence, text, want)
		}
	}
}
