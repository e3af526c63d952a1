// Package enginestest is the suite that every engine must pass, and a small driver that runs a whole plan with the real
// program on this machine. An engine's own test hands in its cases and adds only what is special about its science.
package enginestest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// Cases are an engine's inputs to the suite.
type Cases struct {
	Plans    []PlanCase
	Refused  []RefusedCase
	Progress []ProgressCase
	Live     []LiveCase
}

// PlanCase is a request that the engine must plan. Its plan and command lines are compared with testdata/<Name>.golden when
// Golden is set; keep such requests small.
type PlanCase struct {
	Name    string
	Request engines.Request
	Golden  bool
}

// RefusedCase is a request that Plan must refuse with an *engines.InvalidError naming Field.
type RefusedCase struct {
	Name    string
	Request engines.Request
	Field   string
}

// ProgressCase is a recorded line of standard output and what it tells; OK is false when it tells nothing.
type ProgressCase struct {
	Line     string
	Fraction float64
	OK       bool
}

// LiveCase is a request that is run with the real program.
type LiveCase struct {
	Name    string
	Request engines.Request
	// Objects gives the files behind the storage keys of the request.
	Objects map[string]string
	// Env is what the programs find in their environment beside what the engine says: what a worker's deployment has.
	Env []string
	// Check judges what the run left; nil when the suite's own checks are enough.
	Check func(t *testing.T, outcome *Outcome)
}

// Run is the suite. It needs MOLFABRIC_PYTHON for an engine whose programs are Python.
func Run(t *testing.T, e engines.Engine, cases Cases) {
	t.Run("spec", func(t *testing.T) { t.Parallel(); checkSpec(t, e.Spec()) })
	for _, c := range cases.Plans {
		t.Run("plan/"+c.Name, func(t *testing.T) { t.Parallel(); checkPlan(t, e, c) })
	}
	for _, c := range cases.Refused {
		t.Run("refused/"+c.Name, func(t *testing.T) { t.Parallel(); checkRefused(t, e, c) })
	}
	if c, ok := e.(engines.Checkpointer); ok {
		t.Run("checkpoint", func(t *testing.T) { t.Parallel(); checkCheckpointer(t, c, cases.Progress) })
	}
	if p, ok := e.(engines.Progresser); ok {
		t.Run("progress", func(t *testing.T) { t.Parallel(); checkProgress(t, p, cases.Progress) })
	}
	t.Run("probe", func(t *testing.T) { t.Parallel(); checkProbe(t, e.Spec().Probe) })
	for _, c := range cases.Live {
		t.Run("live/"+c.Name, func(t *testing.T) {
			t.Parallel()
			outcome := Drive(t, e, c.Request, c.Objects, c.Env...)
			checkCollectRefuses(t, e, outcome)
			if c.Check != nil {
				c.Check(t, outcome)
			}
		})
	}
}

// checkCheckpointer wants no line of progress or noise to be taken for a checkpoint.
func checkCheckpointer(t *testing.T, c engines.Checkpointer, lines []ProgressCase) {
	for _, line := range lines {
		if names, ok := c.Checkpoint(line.Line); ok {
			t.Errorf("Checkpoint(%q) is %q, want none", line.Line, names)
		}
	}
}

func checkSpec(t *testing.T, spec engines.Spec) {
	if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(spec.ID) {
		t.Errorf("ID %q is no canonical simulator id", spec.ID)
	}
	for _, alias := range spec.Aliases {
		if alias != engines.Normalize(alias) {
			t.Errorf("alias %q is not normalised, want %q", alias, engines.Normalize(alias))
		}
	}
	if spec.Title == "" || len(spec.Citations) == 0 {
		t.Errorf("got title %q and %d citations, want both", spec.Title, len(spec.Citations))
	}
	if spec.Hardware != "cpu" && spec.Hardware != "gpu" {
		t.Errorf("Hardware is %q, want cpu or gpu", spec.Hardware)
	}
	if len(spec.Probe.Argv) == 0 || spec.Probe.Check == nil {
		t.Fatal("the probe has no command or no check")
	}
	if _, err := spec.Probe.Check(nil); err == nil {
		t.Error("the probe accepts an installation that prints nothing")
	}
}

// maxCommands bounds the shards of a plan whose commands are looked at.
const maxCommands = 100

func checkPlan(t *testing.T, e engines.Engine, c PlanCase) {
	shards, err := e.Plan(c.Request)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	again, err := e.Plan(c.Request)
	if err != nil || !reflect.DeepEqual(shards, again) {
		t.Fatalf("Plan is not deterministic (%v)", err)
	}
	if len(shards) == 0 || len(shards) > engines.MaxShards {
		t.Fatalf("got %d shards, want 1 to %d", len(shards), engines.MaxShards)
	}
	checkOrder(t, shards)
	essential := false
	stages := map[engines.From]int{}
	for _, shard := range shards {
		checkShard(t, e.Spec(), shard)
		checkInputs(t, stages, shard)
		stages[engines.From{Stage: shard.Stage}] = shard.StageIndex
		stages[engines.From{Stage: shard.Stage, Shard: shard.Name}] = shard.StageIndex
		essential = essential || shard.Essential
	}
	// Of thousands of shards, some from everywhere: a command reads all programs of its engine.
	for i := 0; i < len(shards); i += 1 + len(shards)/maxCommands {
		checkCommand(t, e, shards[i])
	}
	checkCommand(t, e, shards[len(shards)-1])
	if !essential {
		t.Error("no shard is essential, so the job could never fail")
	}
	if c.Golden {
		checkGolden(t, e, c.Name, shards)
	}
}

// checkOrder wants stages numbered 0, 1, 2 … in order, one name a stage.
func checkOrder(t *testing.T, shards []engines.Shard) {
	names, stage := map[string]bool{}, map[int]string{}
	last := 0
	for i, shard := range shards {
		if shard.StageIndex < last || shard.StageIndex > last+1 || (i == 0 && shard.StageIndex != 0) {
			t.Fatalf("shard %s has stage index %d after %d", shard.Name, shard.StageIndex, last)
		}
		last = shard.StageIndex
		if known, ok := stage[shard.StageIndex]; ok && known != shard.Stage {
			t.Errorf("stage %d is called %q and %q", shard.StageIndex, known, shard.Stage)
		}
		stage[shard.StageIndex] = shard.Stage
		if names[shard.Name] {
			t.Errorf("two shards are called %q", shard.Name)
		}
		names[shard.Name] = true
	}
}

var safeWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func checkShard(t *testing.T, spec engines.Spec, shard engines.Shard) {
	if !safeWord.MatchString(shard.Name) || !safeWord.MatchString(shard.Stage) {
		t.Errorf("shard %q of stage %q: names must be file-name-safe words", shard.Name, shard.Stage)
	}
	if len(shard.Params) > engines.MaxShardParamsBytes || !json.Valid(shard.Params) {
		t.Errorf("shard %s: its %d bytes of parameters are too many or no JSON", shard.Name, len(shard.Params))
	}
	if shard.Items < 1 {
		t.Errorf("shard %s works on %d items, want at least 1", shard.Name, shard.Items)
	}
	if s := shard.ExpectedCPUSeconds; s <= 0 || math.IsInf(s, 0) || math.IsNaN(s) {
		t.Errorf("shard %s expects %v CPU-seconds, want a positive number", shard.Name, s)
	}
	if class := shard.Class(spec); !slices.Contains(spec.Classes(), class) {
		t.Errorf("shard %s needs the worker class %s, which the engine does not name", shard.Name, class)
	}
	if s := shard.ExpectedGPUSeconds; (shard.Needs.GPUs > 0) != (s > 0) || math.IsInf(s, 0) || math.IsNaN(s) {
		t.Errorf("shard %s expects %v seconds of %d devices", shard.Name, s, shard.Needs.GPUs)
	}
	n := shard.Needs
	if n.CPUs < 1 || n.MemoryBytes <= 0 || n.FileBytes <= 0 || n.Processes < 1 || n.TimeLimit <= 0 || n.MaxLogBytes <= 0 ||
		n.ScratchBytes <= 0 {
		t.Errorf("shard %s has an unbounded resource: %+v", shard.Name, n)
	}
	text, err := json.Marshal(shard)
	var back engines.Shard
	if err != nil || json.Unmarshal(text, &back) != nil {
		t.Fatalf("shard %s does not survive JSON: %v", shard.Name, err)
	}
	if shard.Inputs == nil {
		back.Inputs = nil
	}
	if !reflect.DeepEqual(shard, back) {
		t.Errorf("shard %s changes in JSON:\n got %+v\nwant %+v", shard.Name, back, shard)
	}
}

// checkInputs wants every input to name an object or an output of an earlier stage. stages are the numbers of the stages so far,
// and of those of each shard.
func checkInputs(t *testing.T, stages map[engines.From]int, shard engines.Shard) {
	seen := map[string]bool{}
	for _, input := range shard.Inputs {
		if !safePath(input.Name) || seen[input.Name] {
			t.Errorf("shard %s: input name %q is unsafe or not unique", shard.Name, input.Name)
		}
		seen[input.Name] = true
		if (input.Object == nil) == (input.From == nil) {
			t.Errorf("shard %s: input %s must have exactly one of Object and From", shard.Name, input.Name)
			continue
		}
		if input.Object != nil {
			if input.Object.StorageKey == "" {
				t.Errorf("shard %s: input %s has no storage key", shard.Name, input.Name)
			}
			continue
		}
		stage, found := stages[engines.From{Stage: input.From.Stage, Shard: input.From.Shard}]
		if !found || stage >= shard.StageIndex || !safePath(input.From.Output) {
			t.Errorf("shard %s: input %s comes from %+v, which no earlier stage has", shard.Name, input.Name, *input.From)
		}
	}
}

// safePath reports whether a name is relative, clean and stays inside its folder.
func safePath(name string) bool {
	return name != "" && !path.IsAbs(name) && path.Clean(name) == name && name != ".." && !strings.HasPrefix(name, "../") &&
		!strings.Contains(name, "\\")
}

func checkCommand(t *testing.T, e engines.Engine, shard engines.Shard) {
	dir := engines.Dir(t.TempDir())
	command, err := e.Command(shard, dir)
	if err != nil {
		t.Fatalf("Command of shard %s: %v", shard.Name, err)
	}
	other, err := e.Command(shard, engines.Dir("/somewhere/else"))
	if err != nil || !reflect.DeepEqual(command, other) {
		t.Errorf("the command of shard %s depends on its directory", shard.Name)
	}
	if len(command.Argv) == 0 || strings.ContainsAny(command.Argv[0], "/\\") {
		t.Fatalf("shard %s: argv %q must begin with a bare program name", shard.Name, command.Argv)
	}
	for _, argument := range command.Argv[1:] {
		if filepath.IsAbs(argument) || strings.Contains(argument, "..") {
			t.Errorf("shard %s: argument %q leaves the task's directory", shard.Name, argument)
		}
	}
	for name := range command.Files {
		if !safePath(name) || strings.HasPrefix(name, "in/") || strings.HasPrefix(name, "out/") {
			t.Errorf("shard %s: file %q must be relative and outside in/ and out/", shard.Name, name)
		}
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if _, ok := command.Env[name]; ok {
			t.Errorf("shard %s sets %s, which is the runner's", shard.Name, name)
		}
	}
	if entries, err := os.ReadDir(string(dir)); err != nil || len(entries) > 0 {
		t.Errorf("the command of shard %s wrote to its directory", shard.Name)
	}
}

func checkGolden(t *testing.T, e engines.Engine, name string, shards []engines.Shard) {
	type golden struct {
		Shard engines.Shard     `json:"shard"`
		Argv  []string          `json:"argv"`
		Env   map[string]string `json:"env"`
		Files []string          `json:"files"`
	}
	var documents []golden
	for _, shard := range shards {
		command, err := e.Command(shard, "")
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, golden{Shard: shard, Argv: command.Argv, Env: command.Env, Files: sortedNames(command.Files)})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(documents); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	if !bytes.Equal(text.Bytes(), want) {
		t.Errorf("the plan of %s differs from %s; run the test with -update and look at the difference\n got %s", name, file,
			text.Bytes())
	}
}

func checkRefused(t *testing.T, e engines.Engine, c RefusedCase) {
	_, err := e.Plan(c.Request)
	var refused *engines.InvalidError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want an *engines.InvalidError for %s", err, c.Field)
	}
	if refused.Field != c.Field || refused.Message == "" {
		t.Errorf("got field %q (%s), want %q and a message", refused.Field, refused.Message, c.Field)
	}
}

func checkProgress(t *testing.T, p engines.Progresser, cases []ProgressCase) {
	for _, c := range cases {
		fraction, _, ok := p.Progress(c.Line)
		if ok != c.OK || (ok && math.Abs(fraction-c.Fraction) > 1e-9) {
			t.Errorf("Progress(%q) is %v, %v; want %v, %v", c.Line, fraction, ok, c.Fraction, c.OK)
		}
	}
}

// checkCollectRefuses damages each output of a finished run in turn and wants Collect to notice: exit status 0 proves nothing.
func checkCollectRefuses(t *testing.T, e engines.Engine, outcome *Outcome) {
	for _, shard := range outcome.Shards {
		result, ok := outcome.Results[shard.Name]
		if !ok {
			continue
		}
		dir := outcome.Dirs[shard.Name]
		for _, artifact := range result.Artifacts {
			file := dir.Out(artifact.Name)
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for damage, content := range map[string][]byte{"missing": nil, "empty": {}, "truncated": whole[:len(whole)/2]} {
				if bytes.Equal(content, whole) && damage != "missing" {
					continue
				}
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
				if damage != "missing" {
					write(t, file, content, 0o644)
				}
				var failure *engines.Failure
				if _, err := e.Collect(shard, dir); !errors.As(err, &failure) {
					t.Errorf("shard %s: Collect gives %v with %s %s, want an *engines.Failure", shard.Name, err, artifact.Name,
						damage)
				}
				write(t, file, whole, 0o644)
			}
		}
		if _, err := e.Collect(shard, dir); err != nil {
			t.Errorf("shard %s: Collect fails on restored outputs: %v", shard.Name, err)
		}
	}
}
