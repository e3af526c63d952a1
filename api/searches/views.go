package searches

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/contract"
)

func (r searchRow) view() (contract.BlastSearch, error) {
	view := contract.BlastSearch{
		JobID: r.JobID, JobName: r.JobName, Program: r.Program, Version: wire.TextOrNil(r.Version), Status: r.Status,
		Database: contract.BlastSearchedDatabase{
			Name: r.DatabaseName, Version: r.DatabaseVersion, Type: r.DatabaseType, ReleasedOn: r.DatabaseReleasedOn,
			Checksum: r.DatabaseChecksum, Sequences: r.DatabaseSequences, Residues: r.DatabaseResidues,
		},
		Counts: contract.BlastCounts{Queries: wire.OrNil(r.QueryCount), Completed: r.CompletedCount, Failed: r.FailedCount,
			Hits: r.HitCount},
		CreatedAt: r.CreatedAt.UTC(), StartedAt: wire.TimeOrNil(r.StartedAt), FinishedAt: wire.TimeOrNil(r.FinishedAt),
		UILinks: contract.BlastLinks{Studio: linkTo(r.JobID)},
	}
	return view, decode(r.Parameters, &view.Parameters, "parameters of search "+r.JobID)
}

func (r queryRow) view(jobID string) contract.BlastQuery {
	return contract.BlastQuery{
		Index: r.Index, QueryID: wire.TextOrNil(r.QueryID), Title: wire.TextOrNil(r.Title), Length: wire.OrNil(r.Length),
		Status:      r.Status,
		FailureStep: wire.TextOrNil(r.FailureStep), Error: wire.TextOrNil(r.Error), Hits: r.Hits,
		BestEvalue:   wire.OrNil(r.BestEvalue),
		BestBitScore: wire.OrNil(r.BestBitScore), BestSubjectID: wire.TextOrNil(r.BestSubjectID),
		BestSubjectTitle: wire.TextOrNil(r.BestSubjectTitle), UILinks: contract.BlastLinks{Studio: linkTo(jobID) + "/queries/" +
			strconv.Itoa(r.Index)},
	}
}

// place is where a list goes on behind the query.
func (r queryRow) place() place {
	at := place{Index: r.Index}
	if !math.IsInf(r.SortKey, 0) { // JSON has no infinity; what has no figure needs none
		at.Key = &r.SortKey
	}
	return at
}

// linkTo leads to a search in the studio.
func linkTo(jobID string) string { return "/studio/searches/" + jobID }

func (f found) view() contract.BlastHit {
	view := contract.BlastHit{
		QueryIndex: f.QueryIndex, QueryID: f.QueryID, Rank: f.Rank, SubjectID: f.SubjectID, SubjectTitle: f.SubjectTitle,
		SubjectLength: f.SubjectLength, QueryCoveragePercent: coveragePercent(f.HSPs, f.of.Length.V),
		AlignmentsOmitted: f.bytes > maxShownBytes, HSPs: make([]contract.BlastHSP, len(f.HSPs)),
	}
	for i, h := range f.HSPs {
		view.HSPs[i] = contract.BlastHSP{
			Rank: h.Rank, BitScore: h.BitScore, RawScore: h.RawScore, Evalue: h.Evalue, Identities: h.Identities,
			IdentityPercent: identityPercent(h), Positives: h.Positives, Gaps: h.Gaps, AlignmentLength: h.AlignmentLength,
			QueryFrom: h.QueryFrom, QueryTo: h.QueryTo, SubjectFrom: h.SubjectFrom, SubjectTo: h.SubjectTo,
			QueryStrand: h.QueryStrand, SubjectStrand: h.SubjectStrand, QueryAlignment: h.QueryAlignment,
			SubjectAlignment: h.SubjectAlignment, Midline: h.Midline,
		}
		if view.AlignmentsOmitted {
			view.HSPs[i].QueryAlignment, view.HSPs[i].SubjectAlignment, view.HSPs[i].Midline = "", "", ""
		}
	}
	return view
}

// identityText is the share of identities among the columns of an alignment, in percent, as BLAST's tabular format writes it: 17 of
// 64 are 26.562, because a half goes to the even digit.
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
