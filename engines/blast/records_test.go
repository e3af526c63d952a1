package blast

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestRecordedSearch reads the summary and the hits that a search with BLAST+ 2.12.0 has left.
func TestRecordedSearch(t *testing.T) {
	t.Parallel()
	found, err := ReadSearch(read(t, "testdata/summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	hits := read(t, "testdata/hits.jsonl")
	if last := found.Queries[len(found.Queries)-1]; found.Program != IDProtein || found.Version != "2.12.0+" ||
		len(found.Queries) != 24 || last.Offset+last.Bytes != int64(len(hits)) {
		t.Fatalf("got %+v for %d bytes of hits, want 24 queries of blastp 2.12.0+", found, len(hits))
	}
	query := found.Queries[0]
	line, _, _ := bytes.Cut(hits, []byte("\n"))
	hit, err := ReadHit(line)
	if err != nil {
		t.Fatal(err)
	}
	if hit.SubjectID != "NP_051037.1" || !strings.Contains(hit.SubjectTitle, "ribosomal protein S12") ||
		*query.BestEvalue != 1.22e-56 || hit.HSPs[0].Evalue != 1.22e-56 || hit.HSPs[0].Identities != 83 {
		t.Errorf("got %+v, want the ribosomal protein S12 that query 1 was made of", hit)
	}
	if KindOf(found.Stage) != KindSearch || KindOf("split") != KindSplit || KindOf("merge") != KindMerge ||
		KindOf("dock") != KindOther {
		t.Error("the stages are not told apart")
	}
}

// TestWrongRecords: what contradicts itself is not kept.
func TestWrongRecords(t *testing.T) {
	t.Parallel()
	const head = `{"stage":"search","program":"blastp","hitsFile":"hits.jsonl","queries":[`
	const none = `{"index":0,"id":"a","length":9,"hits":0,"offset":0,"bytes":0}`
	const one = `{"index":1,"id":"b","length":9,"hits":1,"offset":0,"bytes":80,"bestEvalue":1,"bestBitScore":2,"bestSubjectId":"s","bestSubjectTitle":""}`
	for name, text := range map[string]string{
		"no JSON":           `{`,
		"another stage":     `{"stage":"merge","program":"blastp","hitsFile":"hits.jsonl"}`,
		"another program":   `{"stage":"search","program":"blastx","hitsFile":"hits.jsonl"}`,
		"another file":      `{"stage":"search","program":"blastp","hitsFile":"../hits.jsonl"}`,
		"the same query":    head + none + "," + none + "]}",
		"a gap":             head + none + "," + strings.Replace(one, `"offset":0`, `"offset":1`, 1) + "]}",
		"hits without best": head + strings.Replace(one, `"bestEvalue":1,`, "", 1) + "]}",
		"best without hits": head + strings.Replace(one, `"hits":1`, `"hits":0`, 1) + "]}",
		"negative":          head + strings.Replace(one, "80", "-80", 1) + "]}",
		"too many":          head + strings.Repeat(none+",", maxShardQueries) + none + "]}",
	} {
		if found, err := ReadSearch([]byte(text)); err == nil {
			t.Errorf("%s: read %+v", name, found)
		}
	}
	if _, err := ReadSearch([]byte(head + none + "," + one + "]}")); err != nil {
		t.Error(err)
	}
}

// FuzzSearch feeds foreign summaries to ReadSearch: the lines of the queries that it accepts lie behind each other.
func FuzzSearch(f *testing.F) {
	recorded, err := os.ReadFile("testdata/summary.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recorded)
	f.Add([]byte(`{"stage":"search","program":"blastn","hitsFile":"hits.jsonl","queries":null}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		found, err := ReadSearch(content)
		if err != nil {
			return
		}
		end := int64(0)
		for _, query := range found.Queries {
			if query.Offset != end || query.Bytes < 0 || query.Offset+query.Bytes < end || query.Hits > 0 &&
				query.BestEvalue == nil {
				t.Fatalf("query %+v after %d bytes", query, end)
			}
			end += query.Bytes
		}
	})
}

// FuzzHit feeds foreign lines to ReadHit: what it accepts can be shown, and read again as it was.
func FuzzHit(f *testing.F) {
	recorded, err := os.ReadFile("testdata/hits.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for i, line := range bytes.Split(recorded, []byte("\n")) {
		if i < 5 {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		hit, err := ReadHit(line)
		if err != nil {
			return
		}
		for _, h := range hit.HSPs {
			if n := h.AlignmentLength; n < 1 || len(h.QueryAlignment) != n || len(h.SubjectAlignment) != n || len(h.Midline) != n ||
				h.Evalue < 0 {
				t.Fatalf("an alignment of %d columns: %+v", n, h)
			}
		}
		again, err := json.Marshal(hit)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadHit(again); err != nil {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}
