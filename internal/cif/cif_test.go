package cif

import (
	"reflect"
	"strings"
	"testing"
)

func TestReadBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, block string
		items             map[string][]string
	}{
		{"nothing", "", "", map[string][]string{}},
		{"no CIF", "<html> _entry.id 1CBS", "", map[string][]string{}},
		{"comments", "# one\n#two\ndata_1CBS # three\n_Entry.ID 1CBS", "1CBS", map[string][]string{"_entry.id": {"1CBS"}}},
		{"quotes", `data_a _x 'it's' _y "5' end" _z "" _w 'open`, "a",
			map[string][]string{"_x": {"it's"}, "_y": {"5' end"}, "_z": {""}, "_w": {"open"}}},
		{"unknown", `data_a _x ? _y . _z '?'`, "a", map[string][]string{"_x": {""}, "_y": {""}, "_z": {"?"}}},
		{"text", "data_a\n_x\n;two\nlines; here\n;\n_y b;c", "a", map[string][]string{"_x": {"two\nlines; here"}, "_y": {"b;c"}}},
		{"open text", "data_a\n_x\n;two", "a", map[string][]string{"_x": {"two"}}},
		{"loop", "data_a loop_ _x _y 1 2 3 4 _z 5", "a", map[string][]string{"_x": {"1", "3"}, "_y": {"2", "4"}, "_z": {"5"}}},
		{"loops", "data_a loop_ _x 1 2 loop_ _y 3", "a", map[string][]string{"_x": {"1", "2"}, "_y": {"3"}}},
		{"quoted keywords", `data_a _x 'loop_' _y "data_b" _z '_w'`, "a",
			map[string][]string{"_x": {"loop_"}, "_y": {"data_b"}, "_z": {"_w"}}},
		{"second block", "data_a _x 1 data_b _x 2", "a", map[string][]string{"_x": {"1"}}},
		{"windows", "data_a\r\n_x\r\n;one\r\n;\r\n_y 2\r\n", "a", map[string][]string{"_x": {"one"}, "_y": {"2"}}},
		{"no value", "data_a _x _y 1", "a", map[string][]string{"_y": {"1"}}},
	} {
		got := ReadBlock(c.text)
		if got.Name != c.block || !reflect.DeepEqual(got.Items, c.items) {
			t.Errorf("%s: %q gives %q %v, want %q %v", c.name, c.text, got.Name, got.Items, c.block, c.items)
		}
	}
}

// FuzzReadBlock looks for a text that ends the program or that never ends.
func FuzzReadBlock(f *testing.F) {
	for _, seed := range []string{"data_a\n_x\n;text\n;\n", "data_a loop_ _x _y 1 2", "data_a _x 'a' _y \"b", "#\n;",
		"data_\x00\n;\n;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for tag, values := range ReadBlock(text).Items {
			if !strings.HasPrefix(tag, "_") || len(values) == 0 {
				t.Errorf("%q gives item %q %v", text, tag, values)
			}
			for _, value := range values {
				total += len(value)
			}
		}
		if total > len(text) {
			t.Errorf("%q gives %d bytes of values", text, total)
		}
	})
}
