package searches

import (
	"cmp"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/engines/blast"
)

func (r searchRow) view() (BlastSearch, error) {
	view := BlastSearch{
		JobID: r.JobID, JobName: r.JobName, Program: r.Program, Version: textOrNil(r.Version), Status: r.Status,
		Database: BlastSearchedDatabase{
			Name: r.DatabaseName, Version: r.DatabaseVersion, Type: r.DatabaseType, ReleasedOn: r.DatabaseReleasedOn, Checksum: r.DatabaseChecksum,
			Sequences: r.DatabaseSequences, Residues: r.DatabaseResidues,
		},
		Counts:    BlastCounts{Queries: ptr(r.QueryCount), Completed: r.CompletedCount, Failed: r.FailedCount, Hits: r.HitCount},
		CreatedAt: r.CreatedAt.UTC(), StartedAt: timeOrNil(r.StartedAt), FinishedAt: timeOrNil(r.FinishedAt), UILinks: BlastLinks{Studio: linkTo(r.JobID)},
	}
	return view, decode(r.Parameters, &view.Parameters, "parameters of search "+r.JobID)
}

func (r queryRow) view(jobID string) BlastQuery {
	return BlastQuery{
		Index: r.Index, QueryID: textOrNil(r.QueryID), Title: textOrNil(r.Title), Length: ptr(r.Length), Status: r.Status, FailureStep: textOrNil(r.FailureStep),
		Error: textOrNil(r.Error), Hits: r.Hits, BestEvalue: ptr(r.BestEvalue), BestBitScore: ptr(r.BestBitScore), BestSubjectID: textOrNil(r.BestSubjectID),
		BestSubjectTitle: textOrNil(r.BestSubjectTitle), UILinks: BlastLinks{Studio: linkTo(jobID) + "/queries/" + strconv.Itoa(r.Index)},
	}
}

// place is where a list goes on behind the query.
func (r queryRow) place(bound string) place {
	return place{Bound: bound, Key: &r.SortKey, Index: r.Index}
}

// linkTo leads to a search in the studio.
func linkTo(jobID string) string { return studioPath + "/" + jobID }

func (f found) view() BlastHit {
	view := BlastHit{
		QueryIndex: f.QueryIndex, QueryID: f.QueryID, Rank: f.Rank, SubjectID: f.SubjectID, SubjectTitle: f.SubjectTitle, SubjectLength: f.SubjectLength,
		QueryCoveragePercent: coveragePercent(f.HSPs, f.of.Length.V), AlignmentsOmitted: f.bytes > maxShownBytes, HSPs: make([]BlastHSP, len(f.HSPs)),
	}
	for i, h := range f.HSPs {
		view.HSPs[i] = BlastHSP{
			Rank: h.Rank, BitScore: h.BitScore, RawScore: h.RawScore, Evalue: h.Evalue, Identities: h.Identities, IdentityPercent: identityPercent(h),
			Positives: h.Positives, Gaps: h.Gaps, AlignmentLength: h.AlignmentLength, QueryFrom: h.QueryFrom, QueryTo: h.QueryTo, SubjectFrom: h.SubjectFrom,
			SubjectTo: h.SubjectTo, QueryStrand: h.QueryStrand, SubjectStrand: h.SubjectStrand, QueryAlignment: h.QueryAlignment,
			SubjectAlignment: h.SubjectAlignment, Midline: h.Midline,
		}
		if view.AlignmentsOmitted {
			view.HSPs[i].QueryAlignment, view.HSPs[i].SubjectAlignment, view.HSPs[i].Midline = "", "", ""
		}
	}
	return view
}

// identityText is the share of identities among the columns of an alignment, in percent, as BLAST's tabular format writes it: 17 of 64
// are 26.562, because a half goes to the even digit.
func identityText(h blast.HSP) string {
	return strconv.FormatFloat(float64(h.Identities)/float64(h.AlignmentLength)*100, 'f', 3, 64)
}

// identityPercent is the number that identityText writes.
func identityPercent(h blast.HSP) float64 {
	percent, err := strconv.ParseFloat(identityText(h), 64)
	if err != nil { // a number that was just written can be read
		panic(err)
	}
	return percent
}

// span is a range of a query's positions, both ends included.
type span struct{ from, to int64 }

func spanOf(h blast.HSP) span {
	return span{min(h.QueryFrom, h.QueryTo), max(h.QueryFrom, h.QueryTo)}
}

// coveragePercent is the share of a query that alignments cover together, to one decimal.
func coveragePercent(hsps []blast.HSP, length int64) float64 {
	if length < 1 {
		return 0
	}
	spans := make([]span, len(hsps))
	for i, h := range hsps {
		spans[i] = spanOf(h)
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	covered, end := int64(0), int64(0)
	for _, s := range spans {
		if s.to > end {
			covered += s.to - max(s.from-1, end)
			end = s.to
		}
	}
	return math.Round(min(float64(covered)/float64(length), 1)*1000) / 10
}

// ptr is a pointer to a column's value, or nil for NULL.
func ptr[T any](column sql.Null[T]) *T {
	if !column.Valid {
		return nil
	}
	return &column.V
}

func textOrNil(column sql.NullString) *string {
	if !column.Valid {
		return nil
	}
	return &column.String
}

func timeOrNil(column sql.NullTime) *time.Time {
	if !column.Valid {
		return nil
	}
	at := column.Time.UTC()
	return &at
}
