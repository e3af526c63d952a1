package docking

import (
	"context"
	"io"
	"strconv"

	"github.com/molfabric/molfabric/api/export"
)

// Media types that lists of results and of poses are answered in.
const (
	typeJSON = export.JSON
	typeCSV  = export.CSV
	typeSDF  = "chemical/x-mdl-sdfile"
)

// exportPage is how many rows of an export are in memory at once; of structures, the records of as many poses.
const exportPage = 250

// negotiate chooses the media type of a list.
func negotiate(accept string) string { return export.Negotiate(accept, typeCSV, typeSDF) }

// listHeader is what the export of a list says of it: how many entries there are, and whether they are more than it may have.
func listHeader(total, limit int) map[string]string {
	return map[string]string{"Vary": "Accept", "X-Total-Count": strconv.Itoa(total), "X-Truncated": strconv.FormatBool(total > limit)}
}

// inPages makes pieces of rows that are read page by page, at most limit in all. read reads up to n rows behind a place, write
// turns them into text, at tells a row's place. head comes before everything.
func inPages[R any](head []byte, from *place, limit int, read func(context.Context, *place, int) ([]R, error),
	at func(R) place, write func(context.Context, []R) ([]byte, error),
) func(context.Context) ([]byte, error) {
	left, ended := limit, false
	return func(ctx context.Context) ([]byte, error) {
		if ended {
			return nil, io.EOF
		}
		n := min(left, exportPage)
		rows, err := read(ctx, from, n)
		if err != nil {
			return nil, err
		}
		left -= len(rows)
		ended = left == 0 || len(rows) < n
		if len(rows) > 0 {
			last := at(rows[len(rows)-1])
			from = &last
		}
		text, err := write(ctx, rows)
		if err != nil {
			return nil, err
		}
		text = append(head, text...)
		head = nil
		return text, nil
	}
}
