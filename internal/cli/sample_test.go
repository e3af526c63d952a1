package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/receipt"
)

func TestSampleSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text        string
		parts, want int // 0 for a refusal
	}{
		{"1%", 1000, 10}, {"1%", 1001, 11}, {"7%", 100, 7}, {"0.01%", 50, 1}, {"100%", 3, 3}, {"5", 100, 5}, {"5", 2, 2},
		{"0%", 10, 0}, {"101%", 10, 0}, {"-1%", 10, 0}, {"NaN%", 10, 0}, {"0", 10, 0}, {"-2", 10, 0}, {"half", 10, 0}, {"%", 10, 0},
		{"1.5", 10, 0}, {"", 10, 0},
	} {
		size, err := parseSampleSize(c.text)
		if c.want == 0 {
			if ExitCode(err) != ExitUsage || !strings.Contains(fmt.Sprint(err), "--sample") {
				t.Errorf("%q: got %v, want a refusal that names --sample", c.text, err)
			}
			continue
		}
		if got := size.of(c.parts); err != nil || got != c.want {
			t.Errorf("%q of %d: got %d (%v), want %d", c.text, c.parts, got, err, c.want)
		}
	}
}

func TestSampleFlags(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--sample", "lots"}, ExitUsage, `--sample "lots": must be a percentage`},
		{[]string{"--sample="}, ExitUsage, `--sample "": must be a percentage`},
		{[]string{"--seed", "1"}, ExitUsage, "--seed says what --sample draws"},
		{[]string{"--estimate"}, ExitUsage, "--estimate shows the price of --sample"},
		{[]string{"--sample", "1%", "--key", "svc"}, ExitInvalid, "which is not run again; its signature"},
	} {
		code, said := n.run(append([]string{"verify", "receipt.json", "--keys", "keys.json"}, c.args...)...)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%v: got %d %s, want %d with %s", c.args, code, said, c.code, c.want)
		}
	}
}

// docked is a statement of a docking whose ligands have these poses, each from a task of its own; "" is a ligand that failed.
func docked(toolchain string, poses ...string) receipt.Statement {
	s := receipt.Statement{Predicate: receipt.Predicate{Job: receipt.Job{ID: "job_1", Type: jobTypeSimulation},
		Engine: receipt.Engine{ID: simulator}}}
	for i, text := range poses {
		s.Predicate.Tasks = append(s.Predicate.Tasks, receipt.Task{Index: i, Name: fmt.Sprintf("dock-%05d", i),
			Identity: hexOf("identity of " + text), Toolchain: toolchain})
		if text != "" {
			s.Subject = append(s.Subject, madeFileOf(i, fmt.Sprintf("poses/%05d.pdbqt", i+1), text))
		}
	}
	return s
}

func madeFileOf(task int, name, text string) receipt.Output {
	return receipt.Output{Name: name, Digest: receipt.Digest{SHA256: hexOf(text)}, Annotations: receipt.Annotations{FileName: name,
		TaskIndex: task, Task: fmt.Sprintf("dock-%05d", task), Role: roleResult}}
}

func TestRepeatableParts(t *testing.T) {
	t.Parallel()
	docking := docked("t", "one", "", "three")
	docking.Subject = append(docking.Subject, madeFileOf(0, "poses/00001.sdf", "as SDF"), madeFileOf(9, "results.csv", "rank"))
	unknown := docked("t", "one")
	unknown.Predicate.Tasks[0].Identity = ""
	render := docked("t", "one")
	render.Predicate.Job.Type = "render"
	search := docked("t", "one")
	search.Predicate.Engine.ID = "blastp"
	pockets := docked("t", "one")
	pockets.Predicate.Engine.ID = "fpocket"
	search.Subject = append(search.Subject, madeFileOf(0, "hits.tsv", "rank"))
	log := madeFileOf(0, "log.txt", "10:03 begun")
	log.Annotations.Role = "log"
	search.Subject = append(search.Subject, log)
	for _, c := range []struct {
		what    string
		of      receipt.Statement
		want    string
		refusal string
	}{
		{"a docking", docking, "poses/00001.pdbqt@0 poses/00003.pdbqt@2", ""},
		{"a search", search, "poses/00001.pdbqt@0 hits.tsv@0", ""},
		{"pockets", pockets, "", "job job_1 is of fpocket, which does not make the same bytes each time: volumes"},
		{"tasks without an identity", unknown, "", "no task that makes the same each time"},
		{"a rendering", render, "", "job job_1 is of the type render"},
	} {
		parts, err := repeatable(c.of)
		var got []string
		for _, p := range parts {
			got = append(got, fmt.Sprintf("%s@%d", p.Name, p.place))
		}
		if strings.Join(got, " ") != c.want || (err != nil) != (c.refusal != "") || !strings.Contains(fmt.Sprint(err), c.refusal) {
			t.Errorf("%s: got %v (%v), want %s (%s)", c.what, got, err, c.want, c.refusal)
		}
	}
}

func TestCompareSample(t *testing.T) {
	t.Parallel()
	of := docked("ours", "one", "two", "three")
	parts, err := repeatable(of)
	if err != nil {
		t.Fatal(err)
	}
	drawn := parts[1:] // which are at the first two places where they are docked again
	drawn[0].ligand, drawn[1].ligand = "b", "c"
	near := &bothScores{was: ligandScores{"b": -7.1, "c": -8}, is: ligandScores{"b": -7.2, "c": -8.101}}
	for _, c := range []struct {
		what   string
		made   receipt.Statement
		scores *bothScores
		want   string
	}{
		{"the same", docked("ours", "two", "three"), nil, "IDENTICAL IDENTICAL"},
		{"the same of other programs", docked("theirs", "two", "three"), nil, "IDENTICAL IDENTICAL"},
		{"other bytes of the same programs", docked("ours", "two", "3"), near, "IDENTICAL DIFFERENT"},
		{"changed places", docked("ours", "three", "two"), nil, "DIFFERENT DIFFERENT"},
		{"not made", docked("ours", "two", ""), nil, "IDENTICAL DIFFERENT"},
		{"other bytes of other programs", docked("theirs", "2", "3"), near, "WITHIN_TOLERANCE DIFFERENT"},
		{"other bytes of programs that nobody knows", docked("", "2", "three"), near, "WITHIN_TOLERANCE IDENTICAL"},
		{"scores that nobody knows", docked("theirs", "2", "three"), &bothScores{is: near.is}, "UNDECIDED IDENTICAL"},
	} {
		found := sampling{Compared: compareParts(drawn, c.made, true, c.scores)}
		var got []string
		for _, one := range found.Compared {
			got = append(got, one.Verdict)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.what, got, c.want)
		}
		err, wantCode := found.verdict(), ExitDifferent
		if !strings.Contains(c.want, "DIFFERENT") && !strings.Contains(c.want, verdictUndecided) {
			wantCode = ExitOK
		}
		if ExitCode(err) != wantCode {
			t.Errorf("%s: got the exit code %d (%v), want %d", c.what, ExitCode(err), err, wantCode)
		}
		for _, one := range found.Compared {
			if one.Verdict == contract.VerdictDifferent && !strings.Contains(fmt.Sprint(err), one.LigandID+" ("+one.Name+")") {
				t.Errorf("%s: got %v, want it to name %s and %s", c.what, err, one.LigandID, one.Name)
			}
		}
	}
}

// TestCompareWholeJob finds files by their task and name, which places of a docking do not have.
func TestCompareWholeJob(t *testing.T) {
	t.Parallel()
	search := func(second string) receipt.Statement {
		s := docked("t", "", "")
		s.Predicate.Engine.ID = "blastp"
		s.Subject = []receipt.Output{madeFileOf(0, "hits.jsonl", "first"), madeFileOf(1, "hits.jsonl", second)}
		s.Predicate.Inputs = []receipt.Input{{Name: "uploads/queries.faa", Digest: &receipt.Digest{SHA256: hexOf("queries")}}}
		return s
	}
	of := search("second")
	receipt.NameOutputs(of.Subject)
	parts, err := repeatable(of)
	if err != nil {
		t.Fatal(err)
	}
	found := sampling{Compared: compareParts(parts, search("2nd"), false, nil)}
	if err := found.verdict(); ExitCode(err) != ExitDifferent || !strings.HasSuffix(err.Error(), ": task-00001/hits.jsonl") {
		t.Errorf("got %v, want task-00001/hits.jsonl to be different alone", err)
	}
	keys := map[string]string{"uploads/queries.faa": "here/queries.faa"}
	made := search("second")
	made.Predicate.Inputs[0].Name = "here/queries.faa"
	if apart := inputsApart(of, made, keys); len(apart) != 0 {
		t.Errorf("got the inputs %v apart, want none", apart)
	}
	made.Predicate.Inputs[0].Digest.SHA256 = hexOf("other queries")
	if apart := inputsApart(of, made, keys); len(apart) != 1 || apart[0].Name != "uploads/queries.faa" {
		t.Errorf("got the inputs %v apart, want the queries", apart)
	}
}

func TestSubmissionOfASample(t *testing.T) {
	t.Parallel()
	const kept = `{"attachments":["k/read","k/unread"],"dockingRequest":{"runId":"mine"},"jobName":"screen","sceneFile":"k/read",
		"simulationParams":{"dockingExecution":{"preparedReceptor":{"cacheKey":"x"},"shardSize":2},"seed":12345678901234567890,
		"ligandLibrary":[{"ligandId":"a"},{"ligandId":"b","source":{"artifact":{"storageKey":"k/b"}}},
			{"confirmation":{"token":"t"},"ligandId":"c"}]}}`
	of := docked("t", "1", "2", "3")
	of.Predicate.Inputs = []receipt.Input{{Name: "k/read"}, {Name: "k/b"}, {Name: "k/a"}}
	of.Predicate.Parameters.Digest.SHA256 = hexOf(kept)
	parts, err := repeatable(of)
	if err != nil {
		t.Fatal(err)
	}
	request, err := readSubmission([]byte(kept), of)
	if err != nil {
		t.Fatal(err)
	}
	if err := repeat(request, of, parts[1:]); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"attachments":["k/read"],"jobName":"sample of job_1","noReuse":true,"sceneFile":"k/read",` +
		`"simulationParams":{"dockingExecution":{"shardSize":2},"dockingReport":{"picture":"none"},` +
		`"ligandLibrary":[{"ligandId":"b","source":{"artifact":{"storageKey":"k/b"}}},{"ligandId":"c"}],` +
		`"seed":12345678901234567890}}`
	if string(got) != want || parts[1].ligand != "b" || parts[2].ligand != "c" {
		t.Errorf("got %s for %v\nwant %s", got, parts[1:], want)
	}
	if got, want := inputsNamed(request, of), of.Predicate.Inputs[:2]; !reflect.DeepEqual(got, want) {
		t.Errorf("the submission names %v, want %v", got, want)
	}
	if _, err := readSubmission([]byte(kept+" "), of); ExitCode(err) != ExitDifferent {
		t.Errorf("another submission: got %v, want it not to be verified", err)
	}
	beyond := append(parts, part{Output: madeFileOf(3, "poses/00004.pdbqt", "4"), place: 3})
	if request, err = readSubmission([]byte(kept), of); err != nil {
		t.Fatal(err)
	}
	if err := repeat(request, of, beyond); ExitCode(err) != ExitDifferent || !strings.Contains(err.Error(), "is of ligand 4") {
		t.Errorf("poses of a ligand that was not asked for: got %v", err)
	}
}

func TestShowSample(t *testing.T) {
	t.Parallel()
	parts, err := repeatable(docked("ours", "one", "two"))
	if err != nil {
		t.Fatal(err)
	}
	parts[0].ligand, parts[1].ligand = "aspirin", "caffeine"
	made := docked("theirs", "one", "2")
	found := sampling{JobID: "job_2", Compared: compareParts(parts, made, true, nil)}
	found.noteToolchains(parts, made)
	var out strings.Builder
	if err := found.show(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ligand", "caffeine", "not decided", "other programs, other bytes", "the same bytes",
		"the programs here are others than the receipt's (toolchain theirs)", "1 the same to the byte", "1 not decided"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Index(out.String(), "caffeine") > strings.Index(out.String(), "aspirin") {
		t.Errorf("what is well stands first:\n%s", out.String())
	}
}
