package api_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	errorPage = "../doc/errors.md"
	// What lies between these lines of the page is made here; the rest is written by hand.
	tableBegins = "<!-- made by go test ./api -run TestErrorPage -update -->\n"
	tableEnds   = "<!-- end -->\n"
)

// TestErrorPage holds the page of error codes against the codes that the API answers with.
func TestErrorPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(errorPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), tableBegins)
	old, after, closed := strings.Cut(rest, tableEnds)
	if !opened || !closed {
		t.Fatalf("%s lacks the lines %q and %q", errorPage, tableBegins, tableEnds)
	}
	table := errorTable(t)
	if old == table {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the codes say; run: go test ./api -run TestErrorPage -update", errorPage)
	}
	if err := os.WriteFile(errorPage, []byte(before+tableBegins+table+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// errorTable is the table of codes, by status and then by name.
func errorTable(t *testing.T) string {
	t.Helper()
	statuses := map[fault.Code]int{fault.Internal: http.StatusInternalServerError}
	for code, status := range api.StatusOf {
		statuses[code] = status
	}
	meanings := slices.Clone(fault.Meanings)
	slices.SortFunc(meanings, func(a, b fault.Meaning) int {
		return cmp.Or(cmp.Compare(statuses[a.Code], statuses[b.Code]), cmp.Compare(a.Code, b.Code))
	})
	var table strings.Builder
	table.WriteString("\n| status | code | when | what to do |\n|---|---|---|---|\n")
	for _, m := range meanings {
		if statuses[m.Code] == 0 {
			t.Errorf("%s stands twice in fault.Meanings, or has no status", m.Code)
		}
		fmt.Fprintf(&table, "| %d | `%s` | %s | %s |\n", statuses[m.Code], m.Code, m.When, m.Do)
		delete(statuses, m.Code)
	}
	for code := range statuses {
		t.Errorf("%s is not in fault.Meanings", code)
	}
	table.WriteString("\n")
	return table.String()
}
