package blast

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
)

// TestBrokenQueriesAreNamed: what is wrong with a query ends that query alone.
func TestBrokenQueriesAreNamed(t *testing.T) {
	t.Parallel()
	good := readFasta(t, "testdata/queries.faa")
	content := strings.Join([]string{
		">first\n" + good[0].letters, ">empty", ">digits\nMKV12", ">dna\n" + strings.Repeat("ACGTN", 8),
		">unknown\n" + strings.Repeat("X", 40), ">last\n" + good[1].letters, ">long\n" + strings.Repeat("M", maxProteinLength+1),
		">" + strings.Repeat("h", 10_001) + "\nMKV", ">" + strings.Repeat("i", 251) + " title\n" + good[0].letters, "",
	}, "\n")
	queries := writeFile(t, content)
	found, files := database(t, "testdata/proteins.faa", TypeProtein, "chloroplast")
	r, objects := searchOf(`{}`, 2, queries, found, files)
	outcome := enginestest.Drive(t, NewProtein(), r, objects)
	results := resultsOf(t, outcome)
	if c := results.Counts; c.Total != 9 || c.Completed != 2 || c.Failed != 7 || c.WithHits != 2 {
		t.Errorf("the results count %+v, want 2 of 9 queries completed, both with hits", c)
	}
	for _, want := range []struct{ item, label, step, text string }{
		{"queries[1]", "empty", "parse", "no sequence"},
		{"queries[2]", "digits", "parse", "'1' at position 4"},
		{"queries[3]", "dna", "parse", "blastn"},
		{"queries[4]", "unknown", "search", "Karlin-Altschul"},
		{"queries[6]", "long", "parse", "at most 100000"},
		{"queries[7]", strings.Repeat("h", 99) + "…", "parse", "10001 characters"},
		{"queries[8]", strings.Repeat("i", 99) + "…", "parse", "251 characters"},
	} {
		named := func(f engines.ItemFailure) bool {
			return f.Item == want.item && f.Label == want.label && f.Step == want.step && strings.Contains(f.Message, want.text)
		}
		if !slices.ContainsFunc(results.Failures, named) {
			t.Errorf("%s %q is not named with step %s and %q: %+v", want.item, want.label, want.step, want.text, results.Failures)
		}
	}
	if split := outcome.Results[shardSplit]; len(split.Failures) != 6 {
		t.Errorf("the split names %d failures, want 6", len(split.Failures))
	}
}

// TestNamesAreHarmless: whatever queries and database sequences are called, what is written of them holds no character that a
// terminal or a page would obey, and table and hits call them the same. (makeblastdb itself writes "#" for such characters.)
func TestNamesAreHarmless(t *testing.T) {
	t.Parallel()
	letters := readFasta(t, "testdata/proteins.faa")[0].letters
	const evil = "e\x1b[31m\u202evil\u2028\u00a0\x7f"
	fasta := writeFile(t, ">"+evil+" title\x1b]0;x\a \u202eover\u2066\n"+letters+"\n>\x1b\x1b\n"+letters[:60]+"\n")
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "makeblastdb", "-in", fasta, "-dbtype", "prot", "-title", "t", "-out",
		filepath.Join(folder, "evil"))
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("makeblastdb: %v: %s", err, output)
	}
	found, files := databaseOf(t, folder, fasta, TypeProtein, "evil")
	r, objects := searchOf(`{}`, 1, fasta, found, files)
	outcome := enginestest.Drive(t, NewProtein(), r, objects)
	results := resultsOf(t, outcome)
	const clean = "e_[31m_vil___"
	if len(results.Queries) != 2 || results.Queries[0].ID != clean || results.Queries[1].ID != "__" ||
		results.Queries[0].Hits != 2 {
		t.Errorf("the queries are %+v", results.Queries)
	}
	for _, name := range []string{tableFile, resultsFile, HitsFile} {
		content := string(read(t, outcome.Dirs[shardMerge].Out(name)))
		unsafe := func(r rune) bool { return r != '\t' && r != '\n' && !unicode.IsPrint(r) }
		if at := strings.IndexFunc(content, unsafe); at >= 0 {
			t.Errorf("%s holds %q", name, content[max(at-20, 0):at+4])
		}
		if !strings.Contains(content, clean) {
			t.Errorf("%s does not name %s:\n%s", name, clean, content)
		}
	}
	if table := string(read(t, outcome.Dirs[shardMerge].Out(tableFile))); !strings.Contains(table, "\n"+clean+"\te#[31m###vil") {
		t.Errorf("the table is\n%s", table)
	}
}

// TestUnsearchableQueryIsNamedByItsPlace: BLAST+ counts the queries of the whole part, not those that it searches at once.
func TestUnsearchableQueryIsNamedByItsPlace(t *testing.T) {
	t.Parallel()
	content := strings.Repeat(string(read(t, "testdata/queries.faa")), 4) + ">unknown\n" + strings.Repeat("X", 50) + "\n>late\n" +
		readFasta(t, "testdata/queries.faa")[0].letters + "\n"
	found, files := database(t, "testdata/proteins.faa", TypeProtein, "chloroplast")
	r, objects := searchOf(`{"blastMaxHits":5}`, 1, writeFile(t, content), found, files)
	results := resultsOf(t, enginestest.Drive(t, NewProtein(), r, objects))
	if len(results.Failures) != 1 || results.Failures[0].Item != "queries[96]" || results.Queries[97].Hits == 0 {
		t.Errorf("got the failures %+v, want one of queries[96]", results.Failures)
	}
}

// TestReportTooLarge: a task whose report is larger than allowed fails, and its queries with it; the others have results.
func TestReportTooLarge(t *testing.T) {
	t.Parallel()
	sequences := readFasta(t, "testdata/queries.faa")
	queries := writeFile(t, ">nothing\n"+sequences[5].letters+"\n>much\n"+
		sequences[0].letters+sequences[1].letters+sequences[2].letters+"\n")
	found, files := database(t, "testdata/proteins.faa", TypeProtein, "chloroplast")
	r, objects := searchOf(`{"blastMaxOutputBytes":1024,"blastEvalue":1e-10}`, 2, queries, found, files)
	outcome := enginestest.Drive(t, NewProtein(), r, objects)
	wantRefused(searchName(2), "REPORT_TOO_LARGE", "1024 bytes (blastMaxOutputBytes)")(t, outcome)
	results := resultsOf(t, outcome)
	if results.Counts.Completed != 1 || len(results.Failures) != 1 || results.Failures[0].Item != "queries[1]" ||
		!strings.Contains(results.Failures[0].Message, "search-0002") {
		t.Errorf("got %+v and %+v, want queries[1] failed with its task", results.Counts, results.Failures)
	}
}

// TestMoreTasksThanQueries: a part without queries is searched in no time.
func TestMoreTasksThanQueries(t *testing.T) {
	t.Parallel()
	found, files := database(t, "testdata/proteins.faa", TypeProtein, "chloroplast")
	queries := writeFile(t, ">one\n"+readFasta(t, "testdata/queries.faa")[0].letters+"\n")
	r, objects := searchOf(`{}`, 3, queries, found, files)
	outcome := enginestest.Drive(t, NewProtein(), r, objects)
	wantIdentical(t, outcome, runBare(t, NewProtein(), queries, folderOf(files), "chloroplast"))
	for _, shard := range outcome.Shards[1:4] {
		if version := outcome.Results[shard.Name].Programs[IDProtein]; !python.AtLeast(version, oldestVersion) {
			t.Errorf("%s names version %q of blastp", shard.Name, version)
		}
	}
}

// TestDamagedDatabase cuts files of a database: BLAST+ crashes or complains, and the task says which. A cut index it does not
// notice, which is why a worker verifies the digests.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	for file, codes := range map[string][]string{
		"chloroplast.psq": {"DATABASE_TRUNCATED", "DATABASE_UNREADABLE"},
		"chloroplast.phr": {"DATABASE_UNREADABLE", "DATABASE_TRUNCATED"},
		"chloroplast.pin": nil, // missing
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			found, files := database(t, "testdata/proteins.faa", TypeProtein, "chloroplast")
			if path := files["databases/"+file]; codes == nil {
				delete(found.Files, file)
				codes = []string{"DATABASE_UNREADABLE"}
			} else if err := os.Truncate(path, found.Files[file].ByteSize/8); err != nil {
				t.Fatal(err)
			}
			r, objects := searchOf(`{}`, 1, "testdata/queries.faa", found, files)
			outcome := enginestest.Drive(t, NewProtein(), r, objects)
			got := outcome.Failures[searchName(1)]
			if got == nil || got.Class != engines.Executor || !slices.Contains(codes, got.Code) {
				t.Errorf("got %+v, want EXECUTOR and one of %v; log:\n%s", got, codes, outcome.Logs[searchName(1)])
			}
			if merge := outcome.Failures[shardMerge]; merge == nil || merge.Code != "NO_QUERY_SEARCHED" {
				t.Errorf("the merge ends with %+v, want NO_QUERY_SEARCHED", merge)
			}
		})
	}
}

// TestShortNucleotidesAreNoted: megablast finds nothing shorter than its words.
func TestShortNucleotidesAreNoted(t *testing.T) {
	t.Parallel()
	found, files := database(t, "testdata/chimp.fna", TypeNucleotide, "chimp")
	queries := writeFile(t, ">primer\nACGGATGGAGGGTCAACG\n")
	r, objects := searchOf(`{}`, 1, queries, found, files)
	results := resultsOf(t, enginestest.Drive(t, NewNucleotide(), r, objects))
	if len(results.Notes) != 1 || !strings.Contains(results.Notes[0], "28 bases") {
		t.Errorf("got the notes %q, want one about short queries", results.Notes)
	}
}

// mutate damages queries and recorded output of BLAST+ in many small ways, in one process because Python takes long to start. What
// a reader accepts must hold what it promises; what it refuses must be a Failure.
const mutate = `import io, json, os, random, sys, tempfile
from pathlib import Path
import search, split
from task import Failure, Output, Progress

rounds, fasta, recorded = int(sys.argv[1]), Path(sys.argv[2]).read_bytes(), Path(sys.argv[3]).read_bytes()
scraps = [b"\n", b">", b"\r\n", b"\t", b"# Query: x\n", b"# 3 hits found\n", b"# BLAST processed 9 queries\n", b"\xff\xfe", b"\xc3\xa9", b"-", b"\x01", b"nan", b"1e999"]
chance = random.Random(1)
quiet = lambda fraction, message: None

def damaged(content):
    content = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 20))):
        place, kind = chance.randrange(len(content) + 1), chance.random()
        if kind < 0.4:
            content[place : place + 1] = bytes([chance.randrange(1, 256)])
        elif kind < 0.7:
            del content[place : place + chance.randrange(1, 40)]
        else:
            content[place:place] = chance.choice(scraps)
    return bytes(content)

os.chdir(tempfile.mkdtemp())
os.makedirs("in"); os.makedirs("out")
accepted, names = [0, 0], [header.split(None, 1) for header in (line[1:].decode() for line in fasta.splitlines() if line.startswith(b">"))]
queries = [{"index": i, "id": words[0], "title": "", "length": 9} for i, words in enumerate(names)]
for _ in range(rounds):
    Path("in/queries.fasta").write_bytes(damaged(fasta))
    parts = chance.randrange(1, 9)
    try:
        result = split.work({"search": "blastp", "parts": parts, "maxPartQueries": 20, "maxQueries": 1000, "maxQueryLetters": 5000, "maxFileBytes": 1 << 20}, quiet)
    except Failure:
        pass
    else:
        accepted[0] += 1
        lines = [json.loads(line) for line in Path("out/queries.jsonl").read_text().splitlines()]
        assert [line["index"] for line in lines] == list(range(len(lines))) and all((line["part"] is None) != (line["error"] is None) for line in lines)
        for part in result["summary"]["parts"]:
            headers = [line for line in Path("out", part["name"]).read_bytes().split(b"\n") if line.startswith(b">")]
            assert len(headers) == part["queries"] <= 20, part
    try:
        with Output(Path("out/report.tsv")) as table, Output(Path("out/hits.jsonl")) as hits:
            report = search.Report("blastp", queries, 1 << 20, table, hits)
            version = search.read_report(io.BytesIO(damaged(recorded)), report, quiet)
    except Failure:
        continue
    if version:
        accepted[1] += 1
        assert len(report.found) == len(queries) and sum(query["bytes"] for query in report.found) == Path("out/hits.jsonl").stat().st_size
        assert all(json.loads(line)["hsps"] for line in Path("out/hits.jsonl").read_text().splitlines())
print("accepted", *accepted)`

// TestParsersOfForeignText mutates queries and a recorded report; no reader may end with anything but a result or a Failure.
func TestParsersOfForeignText(t *testing.T) {
	t.Parallel()
	rounds := "600"
	if testing.Short() {
		rounds = "60"
	}
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", mutate, rounds,
		filepath.Join(folder, "queries.faa"), filepath.Join(folder, "blastp-2.12.0.txt"))
	command.Env = append(enginestest.ProgramPath(t, "programs"), "TMPDIR="+t.TempDir())
	output, err := command.CombinedOutput()
	if fields := strings.Fields(string(output)); err != nil || len(fields) != 3 || fields[1] == "0" || fields[2] == "0" {
		t.Errorf("%v: %s", err, output)
	}
}
