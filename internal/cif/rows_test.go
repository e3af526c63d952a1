package cif

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// rowsOf writes the rows of the categories _a and _b as "_a x=1 y=2".
func rowsOf(text string, more bool) (rows []string, err error) {
	wanted := func(category string) bool { return category == "_a" || category == "_b" }
	err = Rows(text, wanted, func(r *Row) error {
		rows = append(rows, fmt.Sprintf("%s x=%s y=%s", r.Category, r.Value("x"), r.Value("y")))
		return nil
	}, func() bool { return more })
	return rows, err
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"a loop", "data_1 loop_ _A.X _a.y 1 2 'it' ? _c.z 4", []string{"_a x=1 y=2", "_a x=it y="}},
		{"items of their own", "data_1 _a.x 1 _a.y 2 _b.x 3", []string{"_a x=1 y=2", "_b x=3 y="}},
		{"other categories between", "data_1 _c.x 9 _a.x 1 _c.x 2 loop_ _c.x _c.y 1 2 loop_ _b.y _b.x 3 4",
			[]string{"_a x=1 y=", "_b x=4 y=3"}},
		{"loop behind loop", "data_1 loop_ _a.x 1 2 loop_ _b.x 3", []string{"_a x=1 y=", "_a x=2 y=", "_b x=3 y="}},
		{"a loop without rows", "data_1 loop_ _a.x _a.y loop_ _b.x 3", []string{"_b x=3 y="}},
		{"the second block", "data_1 _a.x 1 data_2 _a.x 2", []string{"_a x=1 y="}},
		{"quoted keywords", "data_1 loop_ _a.x _a.y 'loop_' '_b.x' \"data_2\" 4", []string{"_a x=loop_ y=_b.x", "_a x=data_2 y=4"}},
	} {
		got, err := rowsOf(c.text, false)
		if err != nil || strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q gives %q, %v; want %q", c.name, c.text, got, err, c.want)
		}
	}
	if got, err := rowsOf("data_1 _a.x 1 data_2 _a.x 2", true); err != nil || len(got) != 2 {
		t.Errorf("with more wanted: got %q, %v", got, err)
	}
	var torn *TornError
	for _, text := range []string{"data_1 loop_ _a.x _a.y 1 2 3", "data_1 loop_ _a.x _a.y 1 _b.x 2",
		"data_1 loop_ _a.x _a.y 1 data_2"} {
		if _, err := rowsOf(text, true); !errors.As(err, &torn) || torn.Category != "_a" {
			t.Errorf("%q: got %v, want a torn loop of _a", text, err)
		}
	}
}
