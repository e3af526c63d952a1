package cif

import (
	"fmt"
	"strings"
)

// Row is a row of a category: of a loop, or the items of one that stand outside loops. It is good until the next one comes.
type Row struct {
	Category string // with its underscore and in lower case, e.g. "_atom_site"
	columns  map[string]int
	values   []string
}

// Value is the row's value of an item by its name behind the category, in lower case; "" where there is none, or where it is
// unknown ("?") or inapplicable (".").
func (r *Row) Value(item string) string {
	if i, ok := r.columns[item]; ok && i < len(r.values) {
		return r.values[i]
	}
	return ""
}

// TornError says that a loop ends in the middle of a row.
type TornError struct{ Category string }

func (e *TornError) Error() string {
	return fmt.Sprintf("the loop of %s ends in the middle of a row", e.Category)
}

// Rows visits the rows of the wanted categories in the order of the text, block by block, as long as more says after a block that
// the next one is of interest. Errors: *TornError, and those of visit.
func Rows(text string, wanted func(category string) bool, visit func(*Row) error, more func() bool) error {
	w := walker{wanted: wanted, visit: visit}
	reader := NewReader(text)
	for begun := false; ; {
		word, bare, ok := reader.Next()
		switch lower := strings.ToLower(word[:min(len(word), longestKeyword)]); {
		case !ok:
			return w.end()
		case bare && strings.HasPrefix(lower, "data_"):
			if err := w.end(); err != nil || begun && !more() {
				return err
			}
			begun = true
		case bare && lower == "loop_":
			if err := w.end(); err != nil {
				return err
			}
			w.heading = true
		case bare && strings.HasPrefix(word, "_"):
			if err := w.tag(strings.ToLower(word)); err != nil {
				return err
			}
		default:
			if bare && (word == "?" || word == ".") {
				word = ""
			}
			if err := w.value(word); err != nil {
				return err
			}
		}
	}
}

// longestKeyword is as much of a word as tells keywords from values.
const longestKeyword = len("loop_") + 1

// walker is in the middle of a category.
type walker struct {
	wanted  func(string) bool
	visit   func(*Row) error
	row     *Row // nil in a category that nobody wants
	loop    bool // the row is one of a loop
	heading bool // behind loop_, before the first value
}

// tag takes the name of an item: a column of a loop, or an item of its own.
func (w *walker) tag(name string) error {
	category, item, _ := strings.Cut(name, ".")
	if w.heading && w.row != nil && w.row.Category == category {
		w.row.columns[item] = len(w.row.columns)
		return nil
	}
	if !w.heading && !w.loop && w.row != nil && w.row.Category == category {
		w.row.columns[item] = len(w.row.values)
		return nil
	}
	if !w.heading || w.row == nil {
		if err := w.end(); err != nil {
			return err
		}
	}
	if w.row == nil && w.wanted(category) {
		w.row, w.loop = &Row{Category: category, columns: map[string]int{item: 0}}, w.heading
	}
	return nil
}

func (w *walker) value(text string) error {
	w.heading = false
	if w.row == nil {
		return nil
	}
	w.row.values = append(w.row.values, text)
	if !w.loop || len(w.row.values) < len(w.row.columns) {
		return nil
	}
	err := w.visit(w.row)
	w.row.values = w.row.values[:0]
	return err
}

// end closes a category: the items outside loops are a row now.
func (w *walker) end() error {
	row, loop := w.row, w.loop
	w.row, w.loop, w.heading = nil, false, w.heading && row == nil
	switch {
	case row == nil || len(row.values) == 0:
		return nil
	case loop:
		return &TornError{row.Category}
	}
	return w.visit(row)
}
