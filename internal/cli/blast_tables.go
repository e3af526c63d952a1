package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/internal/contract"
)

// The statuses of a query that has ended.
const (
	queryCompleted = "COMPLETED"
	queryFailed    = "FAILED"
)

const (
	// titleChars is how much of a sequence's title a table shows.
	titleChars = 50
	// alignmentColumns is how many columns of an alignment a line shows, as in BLAST's own report.
	alignmentColumns = 60
)

// searchTable prints queries with their best hits.
func searchTable(w io.Writer, search contract.BlastSearch, queries []contract.BlastQuery) error {
	t := newTable(painter(w), []int{2, 3, 4, 5}, "query", "length", "hits", "best E", "bits", "best hit", "title")
	for _, q := range queries {
		t.AppendRow(table.Row{
			shorten(queryName(q), labelChars), wholeText(q.Length), q.Hits, figureText(q.BestEvalue, evalueText),
			figureText(q.BestBitScore, bitsText), shorten(labelOf(orText(q.BestSubjectID, "–")), labelChars),
			shorten(labelOf(orText(q.BestSubjectTitle, "")), titleChars),
		})
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", t.Render()); err != nil {
		return err
	}
	if more := search.Counts.Completed - len(queries); more > 0 {
		if _, err := fmt.Fprintf(w, "… and %d more queries; results.json holds all\n", more); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%d hits of %d queries in %s %s of %s (%s %s)\n", search.Counts.Hits, search.Counts.Completed,
		labelOf(search.Database.Name), labelOf(search.Database.Version), labelOf(search.Database.ReleasedOn), search.Program,
		labelOf(orText(search.Version, "")))
	return err
}

// queriesDone says how far a search is; "" before its queries are counted.
func queriesDone(search contract.BlastSearch) string {
	if search.Counts.Queries == nil {
		return ""
	}
	said := fmt.Sprintf("%d of %d queries searched, %d hits", search.Counts.Completed, *search.Counts.Queries, search.Counts.Hits)
	if search.Counts.Failed > 0 {
		said += fmt.Sprintf(", %d failed", search.Counts.Failed)
	}
	return said
}

// queryName is what a query is called: by its id, else by its place.
func queryName(q contract.BlastQuery) string {
	if q.QueryID == nil || *q.QueryID == "" {
		return "queries[" + strconv.Itoa(q.Index) + "]"
	}
	return labelOf(*q.QueryID)
}

// showFailedQueries names queries without a result and why, and returns their number in words.
func showFailedQueries(w io.Writer, search contract.BlastSearch, failed []contract.BlastQuery) (detail string) {
	fmt.Fprintf(w, "\n%s\n", painter(w).bold("Failed queries"))
	for _, q := range failed {
		fmt.Fprintf(w, "  %s  %s\n", shorten(queryName(q), labelChars), labelOf(orText(q.Error, "no reason given")))
	}
	if more := search.Counts.Failed - len(failed); more > 0 {
		fmt.Fprintf(w, "  … and %d more; results.json names all\n", more)
	}
	total := search.Counts.Completed + search.Counts.Failed
	return fmt.Sprintf("%d of %d queries have no result", search.Counts.Failed, total)
}

// hitsTable prints hits, with their queries where there may be several.
func hitsTable(w io.Writer, hits []contract.BlastHit, several bool) error {
	if len(hits) == 0 {
		_, err := fmt.Fprintln(w, "No hits fit.")
		return err
	}
	header, right := []string{"rank", "hit", "bits", "E", "identity", "covered", "alignments", "title"}, []int{1, 3, 4, 5, 6, 7}
	if several {
		header, right = append([]string{"query"}, header...), []int{2, 4, 5, 6, 7, 8}
	}
	t := newTable(painter(w), right, header...)
	for _, hit := range hits {
		if len(hit.HSPs) == 0 {
			continue // no answer of ours
		}
		best := hit.HSPs[0]
		row := table.Row{
			hit.Rank, shorten(labelOf(hit.SubjectID), labelChars), bitsText(best.BitScore), evalueText(best.Evalue),
			fmt.Sprintf("%.1f %%", best.IdentityPercent), fmt.Sprintf("%.0f %%", hit.QueryCoveragePercent), len(hit.HSPs),
			shorten(labelOf(hit.SubjectTitle), titleChars),
		}
		if several {
			row = append(table.Row{shorten(labelOf(hit.QueryID), labelChars)}, row...)
		}
		t.AppendRow(row)
	}
	return render(w, t)
}

// showAlignments prints the alignments of hits, each with its figures.
func showAlignments(w io.Writer, hits []contract.BlastHit) {
	p := painter(w)
	for _, hit := range hits {
		fmt.Fprintf(w, "\n%s\n", p.bold(fmt.Sprintf("%s → %d. %s", labelOf(hit.QueryID), hit.Rank, labelOf(hit.SubjectID))))
		if title := labelOf(hit.SubjectTitle); title != "" {
			fmt.Fprintf(w, "%s, %d letters\n", title, hit.SubjectLength)
		}
		if hit.AlignmentsOmitted {
			fmt.Fprintln(w, "its alignments are too long to be shown here; hits.jsonl of the job's outputs has them")
		}
		for _, h := range hit.HSPs {
			fmt.Fprintf(w, "\n%s\n\n%s", figures(h), harmless(alignmentText(h)))
		}
	}
}

// figures are an alignment's, in a line.
func figures(h contract.BlastHSP) string {
	said := fmt.Sprintf("%s bits (%d), E %s, identities %d/%d (%.0f %%)", bitsText(h.BitScore), h.RawScore, evalueText(h.Evalue),
		h.Identities, h.AlignmentLength, h.IdentityPercent)
	if h.QueryStrand == nil {
		said += fmt.Sprintf(", positives %d", h.Positives)
	}
	said += fmt.Sprintf(", gaps %d", h.Gaps)
	if h.QueryStrand != nil && h.SubjectStrand != nil {
		said += ", strand " + harmless(*h.QueryStrand) + "/" + harmless(*h.SubjectStrand)
	}
	return said
}

// alignmentText is an alignment in blocks, each with the positions of its first and last letter.
func alignmentText(h contract.BlastHSP) string {
	n := min(len(h.QueryAlignment), len(h.SubjectAlignment), len(h.Midline))
	digits := 0
	for _, position := range []int64{h.QueryFrom, h.QueryTo, h.SubjectFrom, h.SubjectTo} {
		digits = max(digits, len(strconv.FormatInt(position, 10)))
	}
	query, subject := h.QueryFrom, h.SubjectFrom
	var out strings.Builder
	for from := 0; from < n; from += alignmentColumns {
		to := min(from+alignmentColumns, n)
		if from > 0 {
			out.WriteByte('\n')
		}
		alignmentLine(&out, "Query", digits, h.QueryAlignment[from:to], &query, h.QueryTo < h.QueryFrom)
		fmt.Fprintf(&out, "%*s%s\n", len("Query  ")+digits+2, "", strings.TrimRight(h.Midline[from:to], " "))
		alignmentLine(&out, "Sbjct", digits, h.SubjectAlignment[from:to], &subject, h.SubjectTo < h.SubjectFrom)
	}
	return out.String()
}

// alignmentLine writes a line of a block and moves the position of its next letter on, or back on the minus strand.
func alignmentLine(out *strings.Builder, name string, digits int, columns string, next *int64, back bool) {
	letters, step := int64(len(columns)-strings.Count(columns, "-")), int64(1)
	if back {
		step = -1
	}
	begin := *next
	*next += letters * step
	end := *next - step
	if letters == 0 {
		begin = end
	}
	fmt.Fprintf(out, "%s  %-*d  %s  %d\n", name, digits, begin, columns, end)
}

func databasesTable(w io.Writer, databases []contract.SequenceDatabase) error {
	if len(databases) == 0 {
		_, err := fmt.Fprintln(w, "No databases. Who runs the deployment adds one with `molfabric blastdb add`.")
		return err
	}
	t := newTable(painter(w), []int{5, 6, 7}, "name", "version", "released", "type", "sequences", "letters", "size", "title")
	for _, d := range databases {
		t.AppendRow(table.Row{
			labelOf(d.Name), labelOf(d.Version), labelOf(d.ReleasedOn), labelOf(d.Type), d.Sequences, d.Residues,
			bytesText(d.ByteSize), shorten(labelOf(d.Title), titleChars),
		})
	}
	return render(w, t)
}

// evalueText writes an E-value in the length in which people read it.
func evalueText(e float64) string {
	switch {
	case e == 0:
		return "0"
	case e < 0.001:
		return strconv.FormatFloat(e, 'e', 1, 64)
	}
	return strconv.FormatFloat(e, 'g', 2, 64)
}

func bitsText(bits float64) string { return strconv.FormatFloat(bits, 'f', 1, 64) }

func figureText(value *float64, text func(float64) string) string {
	if value == nil {
		return "–"
	}
	return text(*value)
}

func wholeText(value *int64) string {
	if value == nil {
		return "–"
	}
	return strconv.FormatInt(*value, 10)
}
