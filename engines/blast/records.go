package blast

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Records are what a search has to say to those who keep its science: what a shard has found for each of its queries, and the hits
// with their alignments. They are read from summaries and from HitsFile, so that nobody else needs to know the programs' documents.

// HitsFile is the output (Artifact.Name) of a search shard, and of the merged search, that holds one Hit a line.
const HitsFile = "hits.jsonl"

const (
	// maxFigureBytes bounds a number as BLAST+ prints it.
	maxFigureBytes = 24
	// MaxHitBytes bounds a line of HitsFile: the alignments of a long query with a long subject.
	MaxHitBytes = 64 << 20
	// maxShardQueries bounds a shard, so that its summary fits into engines.MaxSummaryBytes.
	maxShardQueries = 2000
)

// SearchFound is the summary of a search shard.
type SearchFound struct {
	Stage    string       `json:"stage"`   // "search"
	Program  string       `json:"program"` // blastp or blastn
	Version  string       `json:"version"` // of BLAST+, e.g. "2.12.0+"
	HitsFile string       `json:"hitsFile"`
	Queries  []QueryFound `json:"queries"` // in the order of the request
}

// QueryFound is what a search shard has found for one query. Hits counts database sequences; the members Best… belong to the first
// of them and are nil without hits.
type QueryFound struct {
	Index            int      `json:"index"` // its place in the request, from 0
	ID               string   `json:"id"`
	Title            string   `json:"title"`
	Length           int64    `json:"length"` // residues, or bases
	Hits             int      `json:"hits"`
	Offset           int64    `json:"offset"` // of the query's first line in the shard's HitsFile
	Bytes            int64    `json:"bytes"`  // of all its lines there
	BestEvalue       *float64 `json:"bestEvalue"`
	BestBitScore     *float64 `json:"bestBitScore"`
	BestSubjectID    *string  `json:"bestSubjectId"`
	BestSubjectTitle *string  `json:"bestSubjectTitle"`
}

// Hit is a database sequence that a query has found: a line of HitsFile.
type Hit struct {
	QueryIndex    int    `json:"queryIndex"`
	QueryID       string `json:"queryId"`
	Rank          int    `json:"rank"` // from 1, as BLAST orders a query's hits
	SubjectID     string `json:"subjectId"`
	SubjectTitle  string `json:"subjectTitle"`
	SubjectLength int64  `json:"subjectLength"`
	HSPs          []HSP  `json:"hsps"` // at least one, best first
}

// HSP is a high-scoring segment pair: a local alignment of a query with a subject. Positions count from 1 and include both ends;
// on the minus strand SubjectFrom is greater than SubjectTo. The three lines of the alignment have AlignmentLength characters.
type HSP struct {
	Rank     int     `json:"rank"` // within the hit, from 1
	BitScore float64 `json:"bitScore"`
	RawScore int     `json:"rawScore"`
	Evalue   float64 `json:"evalue"`
	// as BLAST+ prints it: its tables round by size, so that a number alone does not tell "10" from "10.0"
	BitScoreText     string  `json:"bitScoreText"`
	EvalueText       string  `json:"evalueText"` // likewise
	Identities       int     `json:"identities"`
	Positives        int     `json:"positives"` // pairs with a positive score; of nucleotides the identities
	Gaps             int     `json:"gaps"`      // gap characters
	AlignmentLength  int     `json:"alignmentLength"`
	QueryFrom        int64   `json:"queryFrom"`
	QueryTo          int64   `json:"queryTo"`
	SubjectFrom      int64   `json:"subjectFrom"`
	SubjectTo        int64   `json:"subjectTo"`
	QueryStrand      *string `json:"queryStrand"`   // "plus" or "minus"; nil for proteins
	SubjectStrand    *string `json:"subjectStrand"` // likewise
	QueryAlignment   string  `json:"queryAlignment"`
	SubjectAlignment string  `json:"subjectAlignment"`
	Midline          string  `json:"midline"` // the letter or "|" of an identity, "+" of a positive, else a blank
}

// Kind is what a shard of this engine is about.
type Kind int

// The kinds of shard.
const (
	KindOther Kind = iota
	KindSplit
	KindSearch
	KindMerge
)

// KindOf tells what a shard is about by its stage.
func KindOf(stage string) Kind {
	switch stage {
	case stageSplit:
		return KindSplit
	case stageSearch:
		return KindSearch
	case stageMerge:
		return KindMerge
	}
	return KindOther
}

const (
	stageSplit  = "split"
	stageSearch = "search"
	stageMerge  = "merge"
)

// ReadSearch reads the summary of a search shard: queries with rising indices, whose lines follow each other in HitsFile.
func ReadSearch(summary json.RawMessage) (SearchFound, error) {
	var found SearchFound
	if err := json.Unmarshal(summary, &found); err != nil {
		return SearchFound{}, fmt.Errorf("blast: reading the summary of a search: %w", err)
	}
	if found.Stage != stageSearch || found.Program != IDProtein && found.Program != IDNucleotide || found.HitsFile != HitsFile {
		return SearchFound{}, fmt.Errorf("blast: a summary of stage %q and program %q is none of a search", found.Stage,
			found.Program)
	}
	if len(found.Queries) > maxShardQueries {
		return SearchFound{}, fmt.Errorf("blast: the summary of a search has %d queries; it may have %d", len(found.Queries),
			maxShardQueries)
	}
	last, end := -1, int64(0)
	for _, query := range found.Queries {
		if err := query.check(last, end); err != nil {
			return SearchFound{}, fmt.Errorf("blast: query %d of a search: %w", query.Index, err)
		}
		last, end = query.Index, query.Offset+query.Bytes
	}
	return found, nil
}

// check wants the query after the one of index last, whose lines end at byte end.
func (q QueryFound) check(last int, end int64) error {
	best := q.BestEvalue != nil && q.BestBitScore != nil && q.BestSubjectID != nil && q.BestSubjectTitle != nil
	none := q.BestEvalue == nil && q.BestBitScore == nil && q.BestSubjectID == nil && q.BestSubjectTitle == nil
	switch {
	case q.Index <= last:
		return fmt.Errorf("it comes after query %d", last)
	case q.Offset != end || q.Bytes < 0 || q.Bytes > math.MaxInt64-end:
		return fmt.Errorf("its %d bytes at %d do not follow the %d bytes before", q.Bytes, q.Offset, end)
	case q.Hits < 0 || q.Length < 0 || (q.Hits == 0) != (q.Bytes == 0) || q.Hits > 0 && !best || q.Hits == 0 && !none:
		return fmt.Errorf("its %d hits in %d bytes contradict its best one", q.Hits, q.Bytes)
	}
	return nil
}

// ReadHit reads a line of HitsFile.
func ReadHit(line []byte) (Hit, error) {
	var hit Hit
	if len(line) > MaxHitBytes {
		return Hit{}, fmt.Errorf("blast: a hit of %d bytes; it may have %d", len(line), MaxHitBytes)
	}
	if err := json.Unmarshal(line, &hit); err != nil {
		return Hit{}, fmt.Errorf("blast: reading a hit: %w", err)
	}
	if hit.QueryIndex < 0 || hit.Rank < 1 || hit.SubjectID == "" || len(hit.HSPs) == 0 {
		return Hit{}, fmt.Errorf("blast: the hit of rank %d of query %d is incomplete", hit.Rank, hit.QueryIndex)
	}
	for i, hsp := range hit.HSPs {
		if err := hsp.check(i + 1); err != nil {
			return Hit{}, fmt.Errorf("blast: alignment %d of query %d with %s: %w", i+1, hit.QueryIndex, hit.SubjectID, err)
		}
	}
	return hit, nil
}

func (h HSP) check(rank int) error {
	n := h.AlignmentLength
	switch {
	case h.Rank != rank:
		return fmt.Errorf("it has rank %d", h.Rank)
	case n < 1 || len(h.QueryAlignment) != n || len(h.SubjectAlignment) != n || len(h.Midline) != n:
		return fmt.Errorf("its lines have %d, %d and %d of %d characters", len(h.QueryAlignment), len(h.SubjectAlignment),
			len(h.Midline), n)
	case h.Identities < 0 || h.Positives < h.Identities || h.Gaps < 0 || h.Positives+h.Gaps > n:
		return fmt.Errorf("its %d identities, %d positives and %d gaps do not fit into %d pairs", h.Identities, h.Positives, h.Gaps,
			n)
	case h.QueryFrom < 1 || h.QueryTo < 1 || h.SubjectFrom < 1 || h.SubjectTo < 1:
		return fmt.Errorf("it begins before position 1")
	case h.Evalue < 0 || !isFigure(h.EvalueText) || !isFigure(h.BitScoreText):
		return fmt.Errorf("its expectation value is %g (%.30q), its score %g (%.30q)", h.Evalue, h.EvalueText, h.BitScore,
			h.BitScoreText)
	}
	return nil
}

// isFigure tells whether a text is a number that BLAST+ may have printed.
func isFigure(text string) bool {
	return text != "" && len(text) <= maxFigureBytes && strings.Trim(text, "0123456789+-.e") == ""
}
