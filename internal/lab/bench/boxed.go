package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fpocket"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// leastBoxed is the goal: the bare command's wall time by the sandboxed one's.
	leastBoxed = 1 / 1.02
	// boxedExhaustiveness is that of the docking: what a request has that does not say.
	boxedExhaustiveness = 8
	// boxedRuns of a command give one figure: fpocket needs a second or two, the docking a dozen, and single ones vary by a tenth.
	boxedRuns = 3
)

// boxing is the workload B10: one command, in the sandbox and outside of it.
type boxing struct {
	id, name string
	runner   *sandbox.Runner
	python   string
	scratch  string // everybody may enter it
	command  engines.Command
	needs    engines.Resources
	inputs   map[string][]byte // in/, by name
	proof    string            // below out/, which a run must have written
	runs     int               // that give one figure
}

// prepare makes the directory of one run. The sandbox writes the command's own files; outside of it they are placed here.
func (b *boxing) prepare(bare bool) (engines.Dir, error) {
	path, err := os.MkdirTemp(b.scratch, "run-")
	if err != nil {
		return "", err
	}
	dir := engines.Dir(path)
	files := map[string][]byte{}
	for name, content := range b.inputs {
		files["in/"+name] = content
	}
	if bare {
		for name, content := range b.command.Files {
			files[name] = content
		}
	}
	return dir, errors.Join(os.Chmod(path, 0o755), os.MkdirAll(dir.In(""), 0o755), os.MkdirAll(dir.Out(""), 0o755),
		place(path, files))
}

// sandboxed runs the command in the sandbox and returns the seconds that it took, from the call to its return.
func (b *boxing) sandboxed(ctx context.Context) (float64, error) {
	dir, err := b.prepare(false)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(string(dir))
	began := time.Now()
	outcome, err := b.runner.Run(ctx, sandbox.Spec{Dir: dir, Command: b.command, Needs: b.needs}, nil)
	took := time.Since(began).Seconds()
	if err != nil {
		return 0, err
	}
	if outcome.Reason != sandbox.Exited || outcome.ExitCode != 0 {
		return 0, fmt.Errorf("%s in the sandbox: %s with %d: %s", b.name, outcome.Reason, outcome.ExitCode, outcome.LogTail)
	}
	return took, b.proven(dir)
}

// bare runs the same command as a child of this process.
func (b *boxing) bare(ctx context.Context) (float64, error) {
	dir, err := b.prepare(true)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(string(dir))
	process := exec.CommandContext(ctx, b.python, b.command.Argv[1:]...)
	process.Dir = string(dir)
	process.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir.Out(""), "TMPDIR=" + os.TempDir()}
	for name, value := range b.command.Env {
		process.Env = append(process.Env, name+"="+value)
	}
	began := time.Now()
	said, err := process.CombinedOutput()
	took := time.Since(began).Seconds()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %.500s", b.name, err, said)
	}
	return took, b.proven(dir)
}

// proven wants a run to have written what it should.
func (b *boxing) proven(dir engines.Dir) error {
	if info, err := os.Stat(dir.Out(b.proof)); err != nil || info.Size() == 0 {
		return fmt.Errorf("%s has not written %s", b.name, b.proof)
	}
	return nil
}

// measure measures B10 with one command.
func (b *boxing) measure(ctx context.Context, pairs int, told func(string)) (Result, error) {
	result := Result{
		ID: b.id, Name: "sandbox", Peer: "the same command as a child process",
		Workload: b.name + fmt.Sprintf(", one core; wall time, median of %d", b.runs),
		Goal:     "≥ 0.98 (at most 1.02 × the peer's time)", MeasuredAt: time.Now().UTC(),
		Notes: []string{"sandbox: " + b.runner.Describe().String()},
	}
	for _, warmUp := range []Arm{b.bare, b.sandboxed} {
		if _, err := warmUp(ctx); err != nil {
			return result, err
		}
	}
	var err error
	if result.Comparison, err = compare(ctx, "s", pairs, repeated(b.runs, b.sandboxed), repeated(b.runs, b.bare),
		told); err != nil {
		return result, err
	}
	c := result.Comparison
	result.Met = c.Median >= leastBoxed
	result.Figures = map[string]float64{"addedMs": 1000 * (median(c.Ours) - median(c.Peer)), "peerSeconds": median(c.Peer)}
	return result, nil
}

// newPocketBox is fpocket as its engine describes it, on the receptor of B1.
func newPocketBox(o Options) (*boxing, error) {
	receptor, err := os.ReadFile(o.Target.Path)
	if err != nil {
		return nil, err
	}
	structure := plainPDB(string(receptor))
	engine := fpocket.New()
	plan, err := engine.Plan(engines.Request{JobID: "bench", JobType: engines.JobTypeSimulation,
		SceneFile: engines.Object{StorageKey: "scene.pdb", ByteSize: int64(len(structure))}, Params: json.RawMessage(`{}`)})
	if err != nil {
		return nil, err
	}
	command, err := engine.Command(plan[0], "")
	if err != nil {
		return nil, err
	}
	return &boxing{id: "B10/fpocket", runs: boxedRuns, name: "fpocket on ABL1", command: command, needs: plan[0].Needs,
		inputs: map[string][]byte{plan[0].Inputs[0].Name: []byte(structure)}, proof: "pockets.json"}, nil
}

// plainPDB makes a PDB file of a PDBQT file: the columns that both have.
func plainPDB(pdbqt string) string {
	const common = 66 // the temperature factor is the last column with one meaning
	var text strings.Builder
	for line := range strings.Lines(pdbqt) {
		if strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM") {
			line = strings.TrimRight(line, "\r\n")
			fmt.Fprintln(&text, line[:min(common, len(line))])
		}
	}
	return text.String() + "END\n"
}

// prepareOneLigand prepares the first ligand of B1 as the fabric does.
func prepareOneLigand(ctx context.Context, o Options, folder string) ([]byte, error) {
	w := &screening{python: o.Python, scratch: folder, target: o.Target, ligands: screenLigands()[:1],
		scene: client.Uploaded{StorageKey: "scene.pdbqt"}}
	if err := w.prepareBare(ctx); err != nil {
		return nil, err
	}
	return os.ReadFile(w.bare[0])
}

// newDockingBox is the bare docking of B1, of its first ligand.
func newDockingBox(ctx context.Context, o Options, folder string, exhaustiveness int) (*boxing, error) {
	receptor, err := os.ReadFile(o.Target.Path)
	if err != nil {
		return nil, err
	}
	ligand, err := prepareOneLigand(ctx, o, folder)
	if err != nil {
		return nil, err
	}
	request, err := json.Marshal(map[string]any{
		"receptor": "in/receptor.pdbqt", "center": o.Target.Center, "size": []int{screenEdgeAngstrom, screenEdgeAngstrom,
			screenEdgeAngstrom},
		"seed": screenSeed, "exhaustiveness": exhaustiveness,
	})
	if err != nil {
		return nil, err
	}
	const gibibyte = 1 << 30
	return &boxing{id: "B10/docking", runs: boxedRuns, name: fmt.Sprintf("docking of one ligand into ABL1, exhaustiveness %d",
		exhaustiveness),
		command: engines.Command{
			Argv:  []string{"python", "-B", bareFile, "request.json", "in/ligand.pdbqt", "out/poses.pdbqt"},
			Env:   map[string]string{"LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
			Files: map[string][]byte{bareFile: bareProgram, "request.json": request},
		},
		needs: engines.Resources{CPUs: 1, MemoryBytes: 2 * gibibyte, FileBytes: gibibyte, Processes: 64, TimeLimit: time.Hour,
			MaxLogBytes: 1 << 20},
		inputs: map[string][]byte{"receptor.pdbqt": receptor, "ligand.pdbqt": ligand}, proof: "poses.pdbqt"}, nil
}

func (o Options) measureBoxes(ctx context.Context, scratch string) ([]Result, error) {
	folder := filepath.Join(scratch, "boxed")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	runner, err := sandbox.New(ctx, sandbox.Config{Isolation: sandbox.Bubblewrap, Programs: map[string]string{"python": o.Python},
		Log: o.Log})
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, entry := range []struct {
		id   string
		make func() (*boxing, error)
	}{
		{"B10/fpocket", func() (*boxing, error) { return newPocketBox(o) }},
		{"B10/docking", func() (*boxing, error) { return newDockingBox(ctx, o, folder, boxedExhaustiveness) }},
	} {
		if !o.wants(entry.id) {
			continue
		}
		b, err := entry.make()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.id, err)
		}
		b.runner, b.python, b.scratch = runner, o.Python, folder
		result, err := b.measure(ctx, o.Pairs, o.told(entry.id))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.id, err)
		}
		results = append(results, result)
	}
	return results, nil
}
