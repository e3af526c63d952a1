package searches

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// noFigure stands where there is no figure, or not yet.
	noFigure = "–"
	// blockColumns is how many columns of an alignment a line shows, as BLAST's own report does.
	blockColumns = 60
)

// studioWords turn values into what people read on the studio's pages.
var studioWords = template.FuncMap{
	"words":  func(identifier string) string { return strings.ToLower(strings.ReplaceAll(identifier, "_", " ")) },
	"moment": func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") },
	"name":   nameOf,
	"said":   said,
	"blocks": blocks,
	"evalue": func(value *float64) string { return orNoFigure(value, evalueText) },
	"bits":   func(value *float64) string { return orNoFigure(value, bitScoreText) },
	"count":  func(value *int) string { return orNoFigure(value, strconv.Itoa) },
	"size": func(value *int64) string {
		return orNoFigure(value, func(n int64) string { return strconv.FormatInt(n, 10) })
	},
}

func orNoFigure[T any](value *T, text func(T) string) string {
	if value == nil {
		return noFigure
	}
	return text(*value)
}

// nameOf is what a query is called: by its id, else by its place.
func nameOf(q contract.BlastQuery) string {
	if q.QueryID == nil {
		return "Query " + strconv.Itoa(q.Index+1)
	}
	return *q.QueryID
}

// studioHit is a hit on the page of its query.
type studioHit struct {
	contract.BlastHit
	length *int64 // of the query
}

// Best is the first alignment.
func (h studioHit) Best() contract.BlastHSP { return h.HSPs[0] }

// Evalue is the best alignment's, as BLAST writes it.
func (h studioHit) Evalue() string { return evalueText(h.Best().Evalue) }

// Bits is the best alignment's score, as BLAST writes it.
func (h studioHit) Bits() string { return bitScoreText(h.Best().BitScore) }

// studioBar is a stretch of the query that an alignment covers, in percent of the query's length.
type studioBar struct {
	X, Width string
	Level    int // 1 to 5 by the alignment's score in bits, in the steps of BLAST's own graphic: below 40, 50, 80, 200, and above
}

// Bars are the stretches of the query that the hit's alignments cover, the best one last so that it lies on top.
func (h studioHit) Bars() (bars []studioBar) {
	if h.length == nil || *h.length < 1 {
		return nil
	}
	percent := 100 / float64(*h.length)
	for i := len(h.HSPs) - 1; i >= 0; i-- {
		one := h.HSPs[i]
		from, to := min(one.QueryFrom, one.QueryTo), min(max(one.QueryFrom, one.QueryTo), *h.length)
		bars = append(bars, studioBar{
			X:     strconv.FormatFloat(float64(from-1)*percent, 'f', 2, 64),
			Width: strconv.FormatFloat(max(float64(to-from+1)*percent, 0.2), 'f', 2, 64),
			Level: levelOf(one.BitScore),
		})
	}
	return bars
}

func levelOf(bits float64) int {
	level := 1
	for _, step := range []float64{40, 50, 80, 200} {
		if bits >= step {
			level++
		}
	}
	return level
}

// said are an alignment's figures in a line.
func said(h contract.BlastHSP) string {
	line := fmt.Sprintf("Score %s bits (%d), E %s, identities %d/%d (%.0f %%), ", bitScoreText(h.BitScore), h.RawScore,
		evalueText(h.Evalue), h.Identities, h.AlignmentLength, h.IdentityPercent)
	if h.QueryStrand == nil {
		line += fmt.Sprintf("positives %d, ", h.Positives)
	}
	line += fmt.Sprintf("gaps %d", h.Gaps)
	if h.QueryStrand != nil && h.SubjectStrand != nil {
		line += fmt.Sprintf(", strand %s/%s", *h.QueryStrand, *h.SubjectStrand)
	}
	return line
}

// blocks is an alignment in blocks of blockColumns, each with the positions of its first and last letter, as BLAST's own report has
// it.
func blocks(h contract.BlastHSP) string {
	query, subject := newRuler(h.QueryFrom, h.QueryTo), newRuler(h.SubjectFrom, h.SubjectTo)
	digits := 0
	for _, position := range []int64{h.QueryFrom, h.QueryTo, h.SubjectFrom, h.SubjectTo} {
		digits = max(digits, len(strconv.FormatInt(position, 10)))
	}
	var text strings.Builder
	for from := 0; from < len(h.QueryAlignment); from += blockColumns {
		to := min(from+blockColumns, len(h.QueryAlignment))
		if from > 0 {
			text.WriteByte('\n')
		}
		first, last := query.pass(h.QueryAlignment[from:to])
		fmt.Fprintf(&text, "Query  %-*d  %s  %d\n", digits, first, h.QueryAlignment[from:to], last)
		fmt.Fprintf(&text, "%*s%s\n", len("Query  ")+digits+2, "", strings.TrimRight(h.Midline[from:to], " "))
		first, last = subject.pass(h.SubjectAlignment[from:to])
		fmt.Fprintf(&text, "Sbjct  %-*d  %s  %d\n", digits, first, h.SubjectAlignment[from:to], last)
	}
	return text.String()
}

// ruler counts the positions of a sequence along an alignment, down on the minus strand.
type ruler struct{ next, step int64 }

func newRuler(from, to int64) *ruler {
	if to < from {
		return &ruler{from, -1}
	}
	return &ruler{from, 1}
}

// pass goes over columns and tells the positions of the first and the last letter in them; of gaps alone, the position before.
func (r *ruler) pass(columns string) (first, last int64) {
	letters := int64(len(columns) - strings.Count(columns, "-"))
	first = r.next
	r.next += letters * r.step
	last = r.next - r.step
	if letters == 0 {
		first = last
	}
	return first, last
}
