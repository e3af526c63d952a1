package jobs

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/access"
)

// fewestValues is a floor under the table, so that a reader that skips its rows fails.
const fewestValues = 1000

// TestContract walks the rows of testdata/contract.txt through the front door.
func TestContract(t *testing.T) {
	t.Parallel()
	base, err := os.ReadFile("testdata/everything.json")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("testdata/contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	d := openWith(t, false, listOf(recorders())...)
	caller := d.account()
	if response, text := d.call(caller, http.MethodPost, "/v1/jobs/estimate", string(base)); response.StatusCode != http.StatusOK {
		t.Fatalf("everything.json: got %d %s", response.StatusCode, text)
	}
	count := 0
	for number, line := range strings.Split(string(rows), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, " | ")
		if len(columns) != 3 {
			t.Fatalf("line %d has %d columns, want 3", number+1, len(columns))
		}
		for column, wanted := range []bool{true, false} {
			for _, value := range strings.Split(columns[column+1], " ; ") {
				if value == "" {
					continue
				}
				count++
				checkValue(t, d, caller, base, columns[0], value, wanted)
			}
		}
	}
	t.Logf("%d values were tried", count)
	if count < fewestValues {
		t.Errorf("want at least %d", fewestValues)
	}
}

func checkValue(t *testing.T, d *desk, caller access.Principal, base []byte, path, value string, accepted bool) {
	t.Helper()
	var body map[string]any
	decoder := json.NewDecoder(bytes.NewReader(base))
	decoder.UseNumber()
	if err := decoder.Decode(&body); err != nil {
		t.Fatal(err)
	}
	putAt(t, body, path, value)
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	response, answer := d.call(caller, http.MethodPost, "/v1/jobs/estimate", string(text))
	switch {
	case accepted && response.StatusCode != http.StatusOK:
		t.Errorf("%s = %.60s: got %d %.300s, want accepted", path, value, response.StatusCode, answer)
	case !accepted && response.StatusCode == http.StatusOK:
		t.Errorf("%s = %.60s: was accepted, want a refusal", path, value)
	case !accepted && response.StatusCode != http.StatusUnprocessableEntity:
		t.Errorf("%s = %.60s: got %d %.300s, want a refusal by the schema", path, value, response.StatusCode, answer)
	case !accepted && !names(answer, path, value == "absent"):
		t.Errorf("%s = %.60s: got %.300s, want an error that names the path", path, value, answer)
	}
}

// names reports whether an answer names the path: as a location, or for a missing member as what its parent requires.
func names(answer, path string, missing bool) bool {
	for _, end := range []string{": ", ".", "["} {
		if strings.Contains(answer, "(body."+path+end) {
			return true
		}
	}
	parent, name := "body", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		parent, name = "body."+path[:dot], path[dot+1:]
	}
	return missing && strings.Contains(answer, "required property "+name+" to be present ("+parent+": ")
}

var shorthand = regexp.MustCompile(`(chars|wide|hex|HEX)\((\d+)\)`)

// putAt puts a value of the table at a path of the body.
func putAt(t *testing.T, body map[string]any, path, value string) {
	t.Helper()
	var parent any = body
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	for _, step := range steps[:len(steps)-1] {
		if list, ok := parent.([]any); ok {
			index, _ := strconv.Atoi(step)
			parent = list[index]
			continue
		}
		parent = parent.(map[string]any)[step]
	}
	object, ok := parent.(map[string]any)
	if !ok {
		t.Fatalf("%s is no member of an object", path)
	}
	if last := steps[len(steps)-1]; value == "absent" {
		delete(object, last)
	} else {
		object[last] = json.RawMessage(expanded(t, value))
	}
}

// expanded writes a value of the table as JSON.
func expanded(t *testing.T, value string) string {
	t.Helper()
	letters := map[string]string{"chars": "a", "wide": "é", "hex": "c", "HEX": "C"}
	value = shorthand.ReplaceAllStringFunc(value, func(found string) string {
		parts := shorthand.FindStringSubmatch(found)
		n, _ := strconv.Atoi(parts[2])
		return strconv.Quote(strings.Repeat(letters[parts[1]], n))
	})
	if rest, ok := strings.CutPrefix(value, "list("); ok {
		count, element, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		value = "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	if !json.Valid([]byte(value)) {
		t.Fatalf("%.80s is no JSON", value)
	}
	return value
}
