package blast

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// swissprot is a database as a deployment knows it; nobody runs against it.
func swissprot() *engines.SequenceDatabase {
	return &engines.SequenceDatabase{
		Name: "swissprot", Version: "2026_01", Type: TypeProtein, ReleasedOn: "2026-01-28", Checksum: strings.Repeat("a1", 32),
		Sequences: 570_000, Residues: 206_000_000,
		Files: map[string]engines.Object{
			"swissprot.phr": {StorageKey: "databases/1/swissprot.phr", SHA256: strings.Repeat("b", 64), ByteSize: 190 << 20},
			"swissprot.pin": {StorageKey: "databases/1/swissprot.pin", SHA256: strings.Repeat("c", 64), ByteSize: 5 << 20},
			"swissprot.psq": {StorageKey: "databases/1/swissprot.psq", SHA256: strings.Repeat("d", 64), ByteSize: 197 << 20},
		},
	}
}

func requestFor(params string, database *engines.SequenceDatabase) engines.Request {
	return engines.Request{
		JobID: "job_test", SceneFile: engines.Object{StorageKey: "queries.fasta", SHA256: strings.Repeat("e", 64), ByteSize: 2000},
		Params: json.RawMessage(params),
		Found:  engines.Found{Database: database},
	}
}

func genome() *engines.SequenceDatabase {
	database := swissprot()
	database.Name, database.Type, database.Sequences, database.Residues = "chr20", TypeNucleotide, 1, 64_000_000
	database.Files = map[string]engines.Object{"chr20.nsq": {StorageKey: "databases/2/chr20.nsq", SHA256: strings.Repeat("f", 64),
		ByteSize: 16 << 20}}
	return database
}

func planCases(t *testing.T) (proteins, nucleotides []enginestest.PlanCase) {
	t.Helper()
	everything := requestFor(
		`{"blastDatabaseName":"chr20","blastDatabaseType":"nucl","blastEvalue":1e-300,"blastMaxHits":7,"blastThreads":4,"blastTimeoutSeconds":90,"blastMaxOutputBytes":2048}`, genome())
	everything.TaskCount = 2
	named := requestFor(
		`{"blastDatabaseName":"swissprot","blastDatabaseVersion":"2026_01","blastDatabaseDate":"2026-01-28","blastDatabaseChecksum":"`+strings.Repeat("A1", 32)+`"}`, swissprot())
	unknownSize := requestFor(`{}`, swissprot())
	unknownSize.SceneFile = engines.Object{StorageKey: "queries"}
	largest := requestFor(`{"blastMaxHits":1000}`, swissprot())
	largest.SceneFile.ByteSize = maxQueryFileBytes
	return []enginestest.PlanCase{
			{Name: "blastp-defaults", Golden: true, Request: requestFor(`{}`, swissprot())},
			{Name: "blastp-named", Request: named},
			{Name: "unknown size", Request: unknownSize},
			{Name: "largest", Request: largest},
		}, []enginestest.PlanCase{
			{Name: "blastn-everything", Golden: true, Request: everything},
		}
}

func refusedCases() []enginestest.RefusedCase {
	with := func(name, field, params string) enginestest.RefusedCase {
		return enginestest.RefusedCase{Name: name, Field: field, Request: requestFor(params, swissprot())}
	}
	scene := func(name, key string, size int64) enginestest.RefusedCase {
		r := requestFor(`{}`, swissprot())
		r.SceneFile = engines.Object{StorageKey: key, ByteSize: size}
		return enginestest.RefusedCase{Name: name, Field: "sceneFile", Request: r}
	}
	many := requestFor(`{}`, swissprot())
	many.TaskCount = engines.MaxShards
	return []enginestest.RefusedCase{
		{Name: "no database", Field: "blastDatabaseName", Request: requestFor(`{}`, nil)},
		{Name: "database of nucleotides", Field: "blastDatabaseName", Request: requestFor(`{}`, genome())},
		{Name: "too many tasks", Field: "taskCount", Request: many},
		with("another name", "blastDatabaseName", `{"blastDatabaseName":"nr"}`),
		with("another version", "blastDatabaseVersion", `{"blastDatabaseVersion":"2025_01"}`),
		with("another date", "blastDatabaseDate", `{"blastDatabaseDate":"2025-01-28"}`),
		with("another checksum", "blastDatabaseChecksum", `{"blastDatabaseChecksum":"`+strings.Repeat("0", 64)+`"}`),
		with("type of blastn", "blastDatabaseType", `{"blastDatabaseType":"nucl"}`),
		with("path outside", "blastDatabasePath", `{"blastDatabasePath":"../nr"}`),
		with("evalue of nothing", "blastEvalue", `{"blastEvalue":0}`),
		with("evalue of everything", "blastEvalue", `{"blastEvalue":1001}`),
		with("no hits", "blastMaxHits", `{"blastMaxHits":0}`),
		with("too many hits", "blastMaxHits", `{"blastMaxHits":1001}`),
		with("no threads", "blastThreads", `{"blastThreads":0}`),
		with("too many threads", "blastThreads", `{"blastThreads":65}`),
		with("no time", "blastTimeoutSeconds", `{"blastTimeoutSeconds":0}`),
		with("too much time", "blastTimeoutSeconds", `{"blastTimeoutSeconds":86401}`),
		with("small report", "blastMaxOutputBytes", `{"blastMaxOutputBytes":1023}`),
		with("large report", "blastMaxOutputBytes", `{"blastMaxOutputBytes":67108865}`),
		with("words for numbers", "simulationParams", `{"blastMaxHits":"many"}`),
		scene("no scene", "", 100),
		scene("compressed scene", "proteins.fasta.GZ", 100),
		scene("large scene", "proteins.fasta", maxQueryFileBytes+1),
	}
}

func progressCases() []enginestest.ProgressCase {
	return []enginestest.ProgressCase{
		{Line: `{"progress": 0.2475, "message": "searched 125 of 500 queries"}`, Fraction: 0.2475, OK: true},
		{Line: `{"progress": 1.0, "message": "done"}`, Fraction: 1, OK: true},
		{Line: `{"progress": -7, "message": "x"}`, Fraction: 0, OK: true},
		{Line: `{"progress": null}`},
		{Line: `{"progress": 0.4`},
		{Line: "# BLAST processed 500 queries"},
		{Line: "Warning: [blastp] Query_8 allx: Could not calculate ungapped Karlin-Altschul parameters"},
		{Line: ""},
	}
}

func TestProteins(t *testing.T) {
	t.Parallel()
	plans, _ := planCases(t)
	enginestest.Run(t, NewProtein(), enginestest.Cases{Plans: plans, Refused: refusedCases(), Progress: progressCases(),
		Live: proteinCases(t)})
}

func TestNucleotides(t *testing.T) {
	t.Parallel()
	_, plans := planCases(t)
	refused := []enginestest.RefusedCase{{Name: "database of proteins", Field: "blastDatabaseName",
		Request: requestFor(`{}`, swissprot())}}
	enginestest.Run(t, NewNucleotide(), enginestest.Cases{Plans: plans, Refused: refused, Progress: progressCases(),
		Live: nucleotideCases(t)})
}

// TestLimitsReachTheShard wants the caller's limits among the caps that the worker enforces.
func TestLimitsReachTheShard(t *testing.T) {
	t.Parallel()
	shards, err := NewProtein().Plan(requestFor(`{"blastTimeoutSeconds":90,"blastMaxOutputBytes":2048,"blastThreads":3}`,
		swissprot()))
	if err != nil {
		t.Fatal(err)
	}
	needs := shards[1].Needs
	if needs.TimeLimit.Seconds() != 90 || needs.CPUs != 3 || needs.FileBytes != 2048+documentBytes ||
		needs.ScratchBytes < needs.FileBytes {
		t.Errorf("a search may use %+v, want 90 s, 3 threads and files of 2048 bytes beside the documents", needs)
	}
	if want := int64(gibibyte + 392*mebibyte + 3*threadBytes); needs.MemoryBytes != want {
		t.Errorf("a search may use %d bytes of memory, want %d with the database", needs.MemoryBytes, want)
	}
}

// TestDamagedRegistry: files that cannot be staged or verified are the deployment's fault, not the caller's.
func TestDamagedRegistry(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*engines.SequenceDatabase){
		"no files":     func(d *engines.SequenceDatabase) { d.Files = nil },
		"no digest":    func(d *engines.SequenceDatabase) { d.Files["swissprot.pin"] = engines.Object{StorageKey: "x"} },
		"outside":      func(d *engines.SequenceDatabase) { d.Files["swissprot./../x"] = d.Files["swissprot.pin"] },
		"another name": func(d *engines.SequenceDatabase) { d.Files["nr.pin"] = d.Files["swissprot.pin"] },
		"no residues":  func(d *engines.SequenceDatabase) { d.Residues = 0 },
	} {
		database := swissprot()
		change(database)
		_, err := NewProtein().Plan(requestFor(`{}`, database))
		if _, invalid := err.(*engines.InvalidError); err == nil || invalid { //nolint:errorlint // the type itself is the question
			t.Errorf("%s: got %v, want an error that is not the caller's", name, err)
		}
	}
}

func TestProbeRefusesOldPrograms(t *testing.T) {
	t.Parallel()
	check := NewProtein().Spec().Probe.Check
	for text, want := range map[string]bool{
		"noise\n{\"python\": \"3.11.7\", \"blastp\": \"2.12.0+\"}\n": true,
		`{"blastp": "2.10.0+"}`: true,
		`{"blastp": "3.0"}`:     true,
		`{"blastp": "2.9.0+"}`:  false,
		`{"blastp": ""}`:        false,
		`{"blastn": "2.12.0+"}`: false,
		`blastp: 2.12.0+`:       false,
	} {
		got, err := check([]byte(text))
		if (err == nil) != want || (want && len(got) == 0) {
			t.Errorf("%s: got %v, %v; want accepted: %v", text, got, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "ncbi-blast+") {
			t.Errorf("%s: the error %q does not name the way out", text, err)
		}
	}
}

// TestExpectedTimeFollowsMeasurements: bytes of the file of queries, residues of the database, measured CPU-seconds.
func TestExpectedTimeFollowsMeasurements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine   Blast
		letters  float64 // of all queries
		database int64
		measured float64
	}{
		{NewProtein(), 9880, 12_711_582, 3.6},
		{NewProtein(), 45_056, 26_410, 0.72},
		{NewProtein(), 45_056, 12_711_582, 16.1},
		{NewProtein(), 90_378, 12_711_582, 32.9},
		{NewProtein(), 245_830, 12_711_582, 87.1},
		{NewNucleotide(), 1e6, 24_180_000, 0.6}, // with hits; the others without
		{NewNucleotide(), 1e6, 200_000_000, 0.8},
		{NewNucleotide(), 1e7, 24_180_000, 1.7},
		{NewNucleotide(), 1e7, 200_000_000, 4.1},
	} {
		got := c.engine.searchCPUSeconds(int64(c.letters/residuesPerQueryFileBytes), c.database)
		if got < c.measured/1.6 || got > c.measured*1.6 {
			t.Errorf("%s of %.0f letters against %d: the model says %.2f CPU-seconds, measured %.2f", c.engine.program, c.letters,
				c.database, got, c.measured)
		}
	}
}

// TestSearches: how many tasks a search becomes.
func TestSearches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		bytes             int64
		sequences, letter int64 // of the database
		maxHits, tasks    int
		want              int
	}{
		{"one query against little", 400, 85, 26_000, 500, 0, 1},
		{"500 proteins against little", 304_764, 85, 26_000, 500, 0, 4},
		{"500 proteins against 13 million residues", 304_764, 34_482, 12_711_582, 500, 0, 16},
		{"500 proteins against a large database", 304_764, 570_000, 206_000_000, 500, 0, 64},
		{"a proteome against a large database", 10 << 20, 570_000, 206_000_000, 500, 0, 240},
		{"more than anybody should have", maxQueryFileBytes, 570_000, 206_000_000, 1000, 0, mostSearches},
		{"many queries against little", 10 << 20, 85, 26_000, 500, 0, 56},
		{"what the caller wants", 400, 85, 26_000, 500, 7, 7},
	} {
		q := request{queries: engines.Object{ByteSize: c.bytes}, maxHits: c.maxHits, taskCount: c.tasks,
			database: engines.SequenceDatabase{Sequences: c.sequences, Residues: c.letter}}
		if got := NewProtein().searches(q); got != c.want {
			t.Errorf("%s: %d tasks, want %d", c.name, got, c.want)
		}
	}
	for bytes := int64(1); bytes <= maxQueryFileBytes; bytes *= 3 {
		q := request{queries: engines.Object{ByteSize: bytes}, maxHits: 500, database: *swissprot()}
		if got := NewProtein().searches(q); got < 1 || got > mostSearches {
			t.Errorf("%d bytes: %d tasks", bytes, got)
		}
		if limit := searchNeeds(q, math.Inf(1)).TimeLimit; limit > mostTimeout {
			t.Errorf("%d bytes: a time limit of %v", bytes, limit)
		}
	}
}

// FuzzProgress feeds foreign lines to the progress parser: whatever comes, the fraction stays within [0, 1].
func FuzzProgress(f *testing.F) {
	for _, c := range progressCases() {
		f.Add(c.Line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if fraction, _, ok := NewProtein().Progress(line); ok && (fraction < 0 || fraction > 1 || fraction != fraction) {
			t.Errorf("Progress(%q) is %v", line, fraction)
		}
	})
}

// FuzzSplit feeds foreign summaries to the reader of the split's: what it accepts names parts of the plan alone, each once.
func FuzzSplit(f *testing.F) {
	f.Add(
		[]byte(
			`{"stage":"split","queries":3,"searched":2,"residues":200,"parts":[{"name":"parts/0001.fasta","queries":1,"residues":100},{"name":"parts/0003.fasta","queries":1,"residues":100}]}`), 3)
	f.Add(
		[]byte(`{"stage":"split","queries":1,"searched":1,"residues":9,"parts":[{"name":"parts/../x","queries":1,"residues":9}]}`),
		1)
	f.Add([]byte(`{"stage":"split","queries":0,"searched":0,"residues":0,"parts":[]}`), 1)
	f.Fuzz(func(t *testing.T, content []byte, most int) {
		most = min(max(most, 0), 100)
		summary, err := readSplit(content, most)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, part := range summary.Parts {
			var number int
			if _, err := fmt.Sscanf(part.Name, "parts/%d.fasta", &number); err != nil || number < 1 || number > most ||
				part.Name != partName(number) || seen[part.Name] {
				t.Errorf("part %q of %d", part.Name, most)
			}
			seen[part.Name] = true
		}
	})
}
