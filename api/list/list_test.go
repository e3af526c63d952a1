package list_test

import (
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/fault"
)

type sortedPlace struct {
	list.Bound
	Key string `json:"k"`
}

func (p sortedPlace) Good() bool { return p.Key != "" }

// TestCursorsOfTheLastRelease: clients hold cursors over a change of releases, so their form stays.
func TestCursorsOfTheLastRelease(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	const cursor = "eyJ0IjoiMjAyNi0wMS0wMlQwMzowNDowNS42NzhaIiwiaSI6ImpvYl8xIn0" // {"t":"2026-01-02T03:04:05.678Z","i":"job_1"}
	if got := *list.Cursor(list.Position{At: at, ID: "job_1"}); got != cursor {
		t.Errorf("got %s, want %s", got, cursor)
	}
	if got, err := list.Read[list.Position](cursor); err != nil || !got.At.Equal(at) || got.ID != "job_1" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestForeignCursorsAreRefused(t *testing.T) {
	t.Parallel()
	bound := list.Bind("results", "score", map[string]string{"runId": "run_1"})
	good := *list.Cursor(sortedPlace{bound, "<1>"})
	for _, c := range []struct {
		name, cursor string
		to           list.Bound
		code         fault.Code
	}{
		{"its own", good, bound, ""}, {"none", "", bound, ""}, {"another list's", good, list.Bind("poses"), fault.InvalidCursor},
		{"not base64", "%", bound, fault.InvalidCursor}, {"not JSON", "AAAA", bound, fault.InvalidCursor},
		{"an empty place", *list.Cursor(sortedPlace{bound, ""}), bound, fault.InvalidCursor},
	} {
		got, err := list.ReadBound[sortedPlace](c.cursor, c.to)
		if c.code == "" && (err != nil || (got == nil) != (c.cursor == "")) || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: got %+v, %v; want %q", c.name, got, err, c.code)
		}
	}
	for _, position := range []list.Position{{}, {ID: "job_1"}, {At: time.Unix(1, 0)}, {At: time.Unix(1, 0), ID: "a\x00"}} {
		if got, err := list.Read[list.Position](*list.Cursor(position)); !fault.Is(err, fault.InvalidCursor) {
			t.Errorf("%+v: got %+v, %v", position, got, err)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	low := 1.5
	c := list.Owned("x.account_id", "acc")
	c.Equal("x.job_id", "")
	c.Equal("x.name", "aspirin")
	c.In("x.status", nil)
	c.AtMost("x.score", nil)
	c.AtMost("x.score", &low)
	c.Behind(list.Newest("x.created_at", "x.id"))
	c.Behind(list.Newest("x.created_at", "x.id"), 7, "id")
	c.Behind(list.Order{Columns: []list.Column{{SQL: "x.rank", Type: "int"}}}, 3)
	const want = "x.account_id = $1 AND x.name = $2 AND x.score <= $3 AND (x.created_at, x.id) < ($4, $5) AND (x.rank) > ($6::int)"
	if got := c.String(); got != want || len(c.Args) != 6 {
		t.Errorf("got  %s %v\nwant %s", got, c.Args, want)
	}
	if got := (&list.Conditions{}).String(); got != "true" {
		t.Errorf("without a condition: got %q", got)
	}
}

func TestForeignTextForCells(t *testing.T) {
	t.Parallel()
	for foreign, wanted := range map[string]string{
		"": "", "ethanol": "ethanol", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1",
		"\r=1": "'\r=1", "＝1": "'＝1", "C=C": "C=C", "[Na+]": "[Na+]",
	} {
		if got := list.Foreign(foreign); got != wanted {
			t.Errorf("%q: got %q, want %q", foreign, got, wanted)
		}
	}
}
