package searches

import (
	"strconv"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/contract"
)

// table writes rows of queries or of hits.
type table struct{ list.Table }

// foreign is foreign text for a cell. TSV is for programs, which want the id as it is.
func (t *table) foreign(text string) string {
	if t.MediaType == list.CSV {
		return list.Foreign(text)
	}
	return text
}

func (t *table) foreignOr(text *string) string {
	if text == nil {
		return ""
	}
	return t.foreign(*text)
}

// queryColumns are those of a table of queries.
var queryColumns = []string{
	"index", "queryId", "title", "length", "status", "hits", "bestEvalue", "bestBitScore", "bestSubjectId", "bestSubjectTitle",
	"failureStep", "error",
}

func (t *table) query(q contract.BlastQuery) error {
	return t.Row(strconv.Itoa(q.Index), t.foreignOr(q.QueryID), t.foreignOr(q.Title), list.Whole(q.Length), q.Status,
		strconv.Itoa(q.Hits), list.Number(q.BestEvalue), list.Number(q.BestBitScore), t.foreignOr(q.BestSubjectID),
		t.foreignOr(q.BestSubjectTitle), t.foreignOr(q.FailureStep), t.foreignOr(q.Error))
}

// hitColumns are the twelve of BLAST's tabular format (-outfmt 6), by BLAST's names.
var hitColumns = []string{
	"qseqid", "sseqid", "pident", "length", "mismatch", "gapopen", "qstart", "qend", "sstart", "send", "evalue", "bitscore",
}

// hit writes a row for each alignment of a hit.
func (t *table) hit(hit blast.Hit) error {
	for _, h := range hit.HSPs {
		err := t.Row(t.foreign(hit.QueryID), t.foreign(hit.SubjectID), identityText(h), strconv.Itoa(h.AlignmentLength),
			strconv.Itoa(h.AlignmentLength-h.Identities-h.Gaps), strconv.Itoa(gapsOpened(h)), strconv.FormatInt(h.QueryFrom, 10),
			strconv.FormatInt(h.QueryTo, 10), strconv.FormatInt(h.SubjectFrom, 10), strconv.FormatInt(h.SubjectTo, 10),
			h.EvalueText, h.BitScoreText)
		if err != nil {
			return err
		}
	}
	return nil
}

// gapsOpened counts the runs of gap characters in both lines of an alignment.
func gapsOpened(h blast.HSP) (opened int) {
	for _, line := range []string{h.QueryAlignment, h.SubjectAlignment} {
		for i := range len(line) {
			if line[i] == '-' && (i == 0 || line[i-1] != '-') {
				opened++
			}
		}
	}
	return opened
}

// evalueText writes an expectation value for people, as BLAST's tabular format does (CBlastTabularInfo::SetScores and
// GetScoreString of the NCBI C++ Toolkit). Where a value was rounded at one of these bounds, BLAST itself has written it the other
// way.
func evalueText(e float64) string {
	switch {
	case e < 1e-180:
		return "0.0"
	case e < 0.0009:
		return strconv.FormatFloat(e, 'e', 2, 64)
	case e < 0.1:
		return strconv.FormatFloat(e, 'f', 3, 64)
	case e < 1:
		return strconv.FormatFloat(e, 'f', 2, 64)
	case e < 10:
		return strconv.FormatFloat(e, 'f', 1, 64)
	}
	return strconv.FormatFloat(e, 'f', 0, 64)
}

// bitScoreText writes a bit score as BLAST's tabular format does.
func bitScoreText(s float64) string {
	switch {
	case s > 99_999:
		return strconv.FormatFloat(s, 'e', 3, 64)
	case s > 99.9:
		return strconv.FormatInt(int64(s), 10)
	}
	return strconv.FormatFloat(s, 'f', 1, 64)
}
