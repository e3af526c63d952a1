package list

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table writes rows of one kind as CSV (RFC 4180) or TSV.
type Table struct {
	MediaType string
	text      bytes.Buffer
}

// Len is how many bytes were written since the last call of Take.
func (t *Table) Len() int { return t.text.Len() }

// Take returns what was written since the last call.
func (t *Table) Take() []byte {
	text := bytes.Clone(t.text.Bytes())
	t.text.Reset()
	return text
}

// Row writes a row. Cells that hold foreign text come from Foreign.
func (t *Table) Row(cells ...string) error {
	if t.MediaType == TSV {
		for i, cell := range cells {
			cells[i] = oneLine.Replace(cell)
		}
		t.text.WriteString(strings.Join(cells, "\t") + "\n")
		return nil
	}
	writer := csv.NewWriter(&t.text)
	writer.UseCRLF = true
	if err := writer.Write(cells); err != nil {
		return fmt.Errorf("writing a table: %w", err)
	}
	writer.Flush()
	return writer.Error()
}

// oneLine takes out what would break a row of TSV.
var oneLine = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")

// Foreign is foreign text for a cell of CSV. What a spreadsheet would take for a formula gets an apostrophe in front, which makes
// it text there (OWASP, "CSV Injection").
func Foreign(text string) string {
	if first, size := utf8.DecodeRuneInString(text); size > 0 && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}

// Number is a figure for a cell; "" for none.
func Number(value *float64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatFloat(*value, 'g', -1, 64)
}

// Whole is a whole number for a cell; "" for none.
func Whole[T int | int64](value *T) string {
	if value == nil {
		return ""
	}
	return strconv.FormatInt(int64(*value), 10)
}
