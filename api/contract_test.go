package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/id"
)

// contractSpec is testdata/contract.yaml, which explains itself.
type contractSpec struct {
	Bases   map[string]any
	Tables  []contractTable
	Answers []contractAnswer
}

// contractAnswer is what the contract says of an answer.
type contractAnswer struct {
	Section, Title, Operation, Base string
	Session                         bool
	Status                          int
	Members                         map[string]any // path → JSON type; nil for null
}

type contractTable struct {
	Section, Title, Operation, Base string
	Session                         bool   // the operation is the browser's
	At                              string // path that the rows' paths are below
	Within                          string // a base that is put at Whole first
	Object                          string // a base that is put at At first
	Accepted                        int    // what a good request is answered with, when that is not a success
	Rows                            []contractRow
}

type contractRow struct {
	Path, Rule, Base, Names, Code string
	Status                        int
	With                          map[string]any
	Accept, Refuse                []any
	Unmet                         contractUnmet
}

// contractUnmet is values that are as the row says, and refused because what they name does not exist.
type contractUnmet struct {
	Status int
	Code   string
	Values []any
}

// whole is where the bases that tables lie within belong.
var whole = map[string]string{"openmmRequest": "simulationParams.openmmRequest"}

// absent is a member that is left out.
type absent struct{}

// literal is JSON that is written as it is.
type literal string

func (l literal) MarshalJSON() ([]byte, error) { return []byte(l), nil }

// TestContract walks the tables of the contract row by row.
func TestContract(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec contractSpec
	if err := yaml.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	p := openProduct(t)
	rows, cases := 0, 0
	for _, table := range spec.Tables {
		for _, row := range table.Rows {
			rows++
			cases += len(row.Accept) + len(row.Refuse) + len(row.Unmet.Values)
			p.walk(t, spec.Bases, table, row)
		}
	}
	for _, one := range spec.Answers {
		rows += len(one.Members)
		p.holds(t, spec.Bases, one)
	}
	t.Logf("%d rows of %d tables, %d requests", rows, len(spec.Tables), cases)
}

// walk sends every request of a row.
func (p *product) walk(t *testing.T, bases map[string]any, table contractTable, row contractRow) {
	t.Helper()
	place := row.Path
	if table.At != "" {
		place = table.At + "." + row.Path
	}
	named := place
	if row.Names != "" {
		named = row.Names
	}
	wantStatus, wantCode := 400, "VALIDATION_ERROR"
	if row.Status != 0 {
		wantStatus = row.Status
	}
	if row.Code != "" {
		wantCode = row.Code
	}
	try := func(value any) (apitest.Answer, string) {
		body, err := json.Marshal(p.request(t, bases, table, row, place, value))
		if err != nil {
			t.Fatalf("§%s %s %s: %v", table.Section, table.Title, place, err)
		}
		method, path, _ := strings.Cut(table.Operation, " ")
		from := p.key
		if table.Session {
			from = p.browser
		}
		return from.Send(method, "/api"+p.place(path), string(body)), fmt.Sprintf("§%s, %s: %s (%s) = %s", table.Section,
			table.Title, place, row.Rule, show(value))
	}
	for _, value := range row.Accept {
		got, what := try(value)
		if good := got.StatusCode/100 == 2 || table.Accepted != 0 && got.StatusCode == table.Accepted; !good {
			t.Errorf("%s: got %d %s, want it accepted", what, got.StatusCode, got.Text)
		}
	}
	refuse := func(value any, status int, code, names string) {
		got, what := try(value)
		var failure struct{ Error, Code string }
		if err := json.Unmarshal([]byte(got.Text), &failure); err != nil || got.StatusCode != status || failure.Code != code ||
			!strings.Contains(failure.Error, names) {
			t.Errorf("%s: got %d %s, want %d %s that names %s", what, got.StatusCode, got.Text, status, code, names)
		}
	}
	for _, value := range row.Refuse {
		refuse(value, wantStatus, wantCode, named)
	}
	for _, value := range row.Unmet.Values {
		refuse(value, row.Unmet.Status, row.Unmet.Code, "")
	}
}

// holds asks for an answer and looks for the members that it must have.
func (p *product) holds(t *testing.T, bases map[string]any, one contractAnswer) {
	t.Helper()
	var body []byte
	if one.Base != "" {
		var err error
		if body, err = json.Marshal(p.expand(t, bases[one.Base])); err != nil {
			t.Fatal(err)
		}
	}
	from := p.key
	if one.Session {
		from = p.browser
	}
	method, path, _ := strings.Cut(one.Operation, " ")
	got := from.Send(method, "/api"+p.place(path), string(body))
	if good := got.StatusCode/100 == 2 || got.StatusCode == one.Status; !good {
		t.Fatalf("§%s, %s: got %d %s", one.Section, one.Title, got.StatusCode, got.Text)
	}
	var answer any
	got.Decode(t, &answer)
	for member, want := range one.Members {
		value, found := look(answer, member)
		if kind := kindOf(value); !found || want == nil && value != nil || want != nil && kind != want {
			t.Errorf("§%s, %s: %s is %s (there: %v), want %v", one.Section, one.Title, member, kind, found, want)
		}
	}
}

// look finds a value at a path such as a.b[0].c.
func look(at any, path string) (value any, found bool) {
	for _, s := range step.FindAllStringSubmatch(path, -1) {
		if s[2] != "" {
			index, _ := strconv.Atoi(s[2])
			list, _ := at.([]any)
			if index >= len(list) {
				return nil, false
			}
			at = list[index]
			continue
		}
		object, _ := at.(map[string]any)
		if at, found = object[s[1]]; !found {
			return nil, false
		}
	}
	return at, true
}

func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// place fills the uploads of the account into an address.
func (p *product) place(path string) string {
	return strings.NewReplacer("{plain}", p.uploads.plain, "{checked}", p.uploads.checked).Replace(path)
}

// request is a table's base request with one value put in its place.
func (p *product) request(
	t *testing.T, bases map[string]any, table contractTable, row contractRow, place string, value any,
) map[string]any {
	t.Helper()
	base := table.Base
	if row.Base != "" {
		base = row.Base
	}
	body, ok := p.expand(t, bases[base]).(map[string]any)
	if !ok {
		t.Fatalf("no base %q", base)
	}
	if table.Within != "" {
		put(t, body, whole[table.Within], p.expand(t, bases[table.Within]))
	}
	if table.Object != "" {
		put(t, body, table.At, p.expand(t, bases[table.Object]))
	}
	for path, beside := range row.With {
		if table.At != "" {
			path = table.At + "." + path
		}
		put(t, body, path, p.expand(t, beside))
	}
	put(t, body, place, p.expand(t, value))
	return body
}

var generated = regexp.MustCompile(`\$(chars|hex|HEX)\((\d+)(?:,(.))?\)`)

// expand turns what the file writes into what is sent. It always makes new objects, so that one request's changes are not the
// next one's.
func (p *product) expand(t *testing.T, value any) any {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		made := map[string]any{}
		for name, member := range value {
			if expanded := p.expand(t, member); expanded != (absent{}) {
				made[name] = expanded
			}
		}
		return made
	case []any:
		made := make([]any, len(value))
		for i, element := range value {
			made[i] = p.expand(t, element)
		}
		return made
	case string:
		return p.expandText(t, value)
	case float64:
		return literal(strconv.FormatFloat(value, 'g', -1, 64))
	default:
		return value
	}
}

func (p *product) expandText(t *testing.T, text string) any {
	t.Helper()
	switch {
	case text == "$absent":
		return absent{}
	case text == "$unique":
		return id.New("key_")
	case text == "$part":
		return "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	case text == "$file":
		return p.file.key
	case text == "$case":
		return p.waveCase(t)
	case text == "$file.sha256":
		return p.file.sha256
	case text == "$file.size":
		return p.file.size
	case strings.HasPrefix(text, "$raw("):
		return literal(strings.TrimSuffix(strings.TrimPrefix(text, "$raw("), ")"))
	case strings.HasPrefix(text, "$list("):
		count, element, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, "$list("), ")"), ",")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var list bytes.Buffer
		for i := range n {
			list.WriteString(map[bool]string{true: "[", false: ","}[i == 0])
			list.WriteString(strings.ReplaceAll(element, "$i", strconv.Itoa(i)))
		}
		return literal(list.String() + "]")
	}
	return generated.ReplaceAllStringFunc(text, func(form string) string {
		parts := generated.FindStringSubmatch(form)
		n, _ := strconv.Atoi(parts[2])
		switch parts[1] {
		case "hex":
			return strings.Repeat("a", n)
		case "HEX":
			return strings.Repeat("A", n)
		}
		if parts[3] != "" {
			return strings.Repeat(parts[3], n)
		}
		return strings.Repeat("C", n)
	})
}

var step = regexp.MustCompile(`([^.\[\]]+)|\[(\d+)\]`)

// put sets a value at a path such as a.b[0].c; what is missing on the way is made, and absent takes the member away.
func put(t *testing.T, root map[string]any, path string, value any) {
	t.Helper()
	steps := step.FindAllStringSubmatch(path, -1)
	var at any = root
	for i, s := range steps {
		last := i == len(steps)-1
		if s[2] != "" {
			index, _ := strconv.Atoi(s[2])
			list, ok := at.([]any)
			if !ok || index >= len(list) || last {
				t.Fatalf("%s leads nowhere", path)
			}
			at = list[index]
			continue
		}
		object, ok := at.(map[string]any)
		if !ok {
			t.Fatalf("%s leads nowhere", path)
		}
		switch {
		case last && value == (absent{}):
			delete(object, s[1])
		case last:
			object[s[1]] = value
		default:
			if object[s[1]] == nil {
				object[s[1]] = map[string]any{}
			}
			at = object[s[1]]
		}
	}
}

// show is a value for a message.
func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(text) > 80 {
		return string(text[:80]) + "…"
	}
	return string(text)
}
