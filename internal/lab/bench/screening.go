package bench

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/mol"
)

// The 47 CDK2 ligands of RDKit's data (BSD), as canonical SMILES and names.
//
//go:embed cdk2.smi
var cdk2Ligands string

//go:embed bare.py
var bareProgram []byte

const (
	screenSeed           = 42
	screenExhaustiveness = 1 // the ratio does not need more, and the suite would take hours
	screenEdgeAngstrom   = 22
	bareFile             = "bare.py"
)

// screening is the workload B1: a library against one receptor, one core a task.
type screening struct {
	system  *system
	python  string
	slots   int
	scratch string
	target  Target
	ligands []mol.LigandEntry
	scene   client.Uploaded
	bare    []string // the prepared ligands, for the bare program
}

// Target is a receptor to screen against: a PDBQT file, and the centre of the box.
type Target struct {
	Path   string
	Center mol.BoxCenter
}

func newScreening(ctx context.Context, s *system, python string, slots int, scratch string, target Target) (*screening, error) {
	w := &screening{system: s, python: python, slots: slots, scratch: scratch, target: target, ligands: screenLigands()}
	var err error
	if w.scene, err = s.api.UploadFile(ctx, target.Path); err != nil {
		return nil, fmt.Errorf("upload the receptor: %w", err)
	}
	if err := w.prepareBare(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// screenLigands are the ligands of B1.
func screenLigands() []mol.LigandEntry {
	var ligands []mol.LigandEntry
	for lines := bufio.NewScanner(strings.NewReader(cdk2Ligands)); lines.Scan(); {
		smiles, name, _ := strings.Cut(lines.Text(), " ")
		ligands = append(ligands, mol.LigandEntry{LigandID: name, Label: name,
			Source: mol.LigandSource{SMILES: &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: smiles}}})
	}
	return ligands
}

// params is the docking of the library, with ligands a task.
func (w *screening) params(shardSize int) vina.Params {
	exhaustiveness, seed := mol.Exhaustiveness(screenExhaustiveness), int64(screenSeed)
	edge, picture := float64(screenEdgeAngstrom), vina.PictureNone // the bare program draws none either
	return vina.Params{
		LigandLibrary: w.ligands, BoxCenterAngstrom: &w.target.Center, BoxSizeAngstrom: &mol.BoxSize{edge, edge, edge},
		Exhaustiveness: &exhaustiveness, Seed: &seed, DockingExecution: &vina.DockingExecution{ShardSize: &shardSize},
		DockingReport: &vina.DockingReport{Picture: &picture},
	}
}

// prepareBare prepares the ligands as the fabric does, by the same plan, and writes one file each for the bare program.
func (w *screening) prepareBare(ctx context.Context) error {
	params, err := json.Marshal(w.params(1))
	if err != nil {
		return err
	}
	engine := vina.New()
	plan, err := engine.Plan(engines.Request{JobID: "bench", SceneFile: engines.Object{StorageKey: w.scene.StorageKey,
		ByteSize: w.scene.ByteSize}, Params: params})
	if err != nil {
		return err
	}
	for _, shard := range plan {
		if vina.KindOf(shard.Stage, shard.Name) != vina.KindLigands {
			continue
		}
		if err := w.prepareChunk(ctx, engine, shard); err != nil {
			return fmt.Errorf("prepare %s: %w", shard.Name, err)
		}
	}
	request, err := json.Marshal(map[string]any{
		"receptor": w.target.Path, "center": w.target.Center, "size": []int{screenEdgeAngstrom, screenEdgeAngstrom,
			screenEdgeAngstrom},
		"seed": screenSeed, "exhaustiveness": screenExhaustiveness,
	})
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(w.scratch, "request.json"), request, 0o600),
		os.WriteFile(filepath.Join(w.scratch, bareFile), bareProgram, 0o600))
}

func (w *screening) prepareChunk(ctx context.Context, engine vina.Vina, shard engines.Shard) error {
	dir := engines.Dir(filepath.Join(w.scratch, shard.Name))
	command, err := engine.Command(shard, dir)
	if err != nil {
		return err
	}
	if err := errors.Join(place(string(dir), command.Files), os.MkdirAll(dir.Out(""), 0o700)); err != nil {
		return err
	}
	process := exec.CommandContext(ctx, w.python, command.Argv[1:]...)
	process.Dir = string(dir)
	if said, err := process.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %.500s", err, said)
	}
	text, err := os.ReadFile(dir.Out("ligands.json"))
	if err != nil {
		return err
	}
	var prepared struct {
		Ligands []struct {
			Index int    `json:"index"`
			PDBQT string `json:"pdbqt"`
		} `json:"ligands"`
	}
	if err := json.Unmarshal(text, &prepared); err != nil {
		return err
	}
	for _, ligand := range prepared.Ligands {
		path := filepath.Join(w.scratch, fmt.Sprintf("%05d.pdbqt", ligand.Index+1))
		if err := os.WriteFile(path, []byte(ligand.PDBQT), 0o600); err != nil {
			return err
		}
		w.bare = append(w.bare, path)
	}
	return nil
}

// dockBare docks every ligand with the bare program, as many at once as the fabric has slots, and returns the seconds it took.
func (w *screening) dockBare(ctx context.Context) (float64, error) {
	process := exec.CommandContext(ctx, "xargs", "-P", fmt.Sprint(w.slots), "-n", "1", w.python, filepath.Join(w.scratch, bareFile),
		filepath.Join(w.scratch, "request.json"))
	process.Stdin = strings.NewReader(strings.Join(w.bare, "\n"))
	process.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	began := time.Now()
	said, err := process.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: %.500s", err, said)
	}
	return time.Since(began).Seconds(), nil
}

// dockFabric docks the library as a job, checks that the poses are those of the bare program, and returns the seconds from the
// start of the first docking task to the end of the last. whole collects what the job took from its submission to its end.
func (w *screening) dockFabric(ctx context.Context, shardSize int, whole *[]float64) (float64, error) {
	began := time.Now()
	receipt, err := w.system.api.Submit(ctx, map[string]any{
		"jobType": "simulation", "simulator": vina.ID, "sceneFile": w.scene.StorageKey, "simulationParams": w.params(shardSize),
	}, "")
	if err != nil {
		return 0, err
	}
	if err := w.system.await(ctx, receipt.Body.JobID); err != nil {
		return 0, err
	}
	*whole = append(*whole, time.Since(began).Seconds())
	if err := w.compareScores(ctx, receipt.Body.JobID); err != nil {
		return 0, err
	}
	return stageSpan(ctx, w.system.db, receipt.Body.JobID, "dock")
}

// await follows a job to its end, which must be a success.
func (s *system) await(ctx context.Context, jobID string) error { return ended(ctx, s.api, jobID) }

// ended waits for the good end of a job of a client's account.
func ended(ctx context.Context, api *client.Client, jobID string) error {
	for last := ""; ; {
		if err := api.Events(ctx, jobID, last, func(e client.Event) error { last = e.ID; return nil }); err != nil {
			return err
		}
		j, err := api.Job(ctx, jobID)
		if err != nil {
			return err
		}
		if j.Body.Status == job.Completed {
			return nil
		}
		if j.Body.Terminal {
			return fmt.Errorf("job %s ended as %s", jobID, j.Body.Status)
		}
	}
}

// compareScores wants the best score of every ligand to be the bare program's.
func (w *screening) compareScores(ctx context.Context, jobID string) error {
	scores, err := bestScores(ctx, w.system.db, jobID)
	if err != nil {
		return err
	}
	for _, path := range w.bare {
		text, err := os.ReadFile(path + ".out")
		if errors.Is(err, os.ErrNotExist) {
			return nil // the bare program has not run yet
		}
		if err != nil {
			return err
		}
		var index int
		var score float64
		if _, err := fmt.Sscanf(filepath.Base(path), "%d.pdbqt", &index); err != nil {
			return err
		}
		_, rest, _ := strings.Cut(string(text), "REMARK VINA RESULT:")
		if _, err := fmt.Sscan(rest, &score); err != nil {
			return fmt.Errorf("read the score in %s: %w", path, err)
		}
		if scores[index-1] != score {
			return fmt.Errorf("ligand %d: the fabric's score is %v, the bare program's %v", index, scores[index-1], score)
		}
	}
	return nil
}

// screen measures B1 with so many ligands a task.
func (w *screening) screen(ctx context.Context, shardSize, pairs int, told func(string)) (Result, error) {
	var whole []float64
	result := Result{
		ID: fmt.Sprintf("B1/%d", shardSize), Name: "screening",
		Peer: fmt.Sprintf("AutoDock Vina alone, a process a ligand, xargs -P %d", w.slots),
		Workload: fmt.Sprintf("%d CDK2 ligands, %d a task, into ABL1, box of %d Å, exhaustiveness %d, %d cores", len(w.ligands),
			shardSize, screenEdgeAngstrom, screenExhaustiveness, w.slots),
		Goal: "≥ 0.98", MeasuredAt: time.Now().UTC(),
	}
	least := 0.98
	if shardSize > 1 {
		result.Goal, least = "> 1.0", 1.0
	}
	var err error
	result.Comparison, err = compare(ctx, "s of the docking", pairs,
		func(ctx context.Context) (float64, error) { return w.dockFabric(ctx, shardSize, &whole) }, w.dockBare, told)
	if err != nil {
		return result, err
	}
	result.Met = result.Comparison.Median >= least
	var ratios []float64
	for i, peer := range result.Comparison.Peer {
		ratios = append(ratios, peer/whole[i])
	}
	result.Figures = map[string]float64{"wholeJobRatio": median(ratios), "wholeJobSeconds": median(whole)}
	result.Notes = []string{"the whole job prepares receptor and ligands, analyses the poses and writes the report, which the " +
		"bare program does not"}
	return result, nil
}
