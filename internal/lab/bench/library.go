package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/mol"
)

const (
	libraryLigands = 10_000
	// libraryRuns is how often an arm accepts the library: one time is a fraction of a second.
	libraryRuns = 5
	// startTimeout bounds the wait for a library's first task.
	startTimeout = time.Minute
)

// library is the workload B4: 10,000 ligands in one submission.
type library struct {
	system *system
	body   []byte
	rows   []copied // what the last submission wrote

	firstTask, memory []float64 // of each submission: seconds to its first task, and memory it took, in bodies
	cancel            []float64 // seconds to be cancelled
}

// newLibrary writes the request: the ligands of the screening over and over, each as a stereo-free SMILES with a tail of its own.
func newLibrary(s *system, scene client.Uploaded, target Target) (*library, error) {
	lines := strings.Split(strings.TrimSpace(cdk2Ligands), "\n")
	edge := float64(screenEdgeAngstrom)
	params := vina.Params{BoxCenterAngstrom: &target.Center, BoxSizeAngstrom: &mol.BoxSize{edge, edge, edge}}
	for i := range libraryLigands {
		smiles, name, _ := strings.Cut(lines[i%len(lines)], " ")
		params.LigandLibrary = append(params.LigandLibrary, mol.LigandEntry{
			LigandID: fmt.Sprintf("%s-%05d", name, i), Label: name + " of the library",
			Source: mol.LigandSource{SMILES: &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: smiles}},
		})
	}
	body, err := json.Marshal(map[string]any{"jobType": "simulation", "simulator": vina.ID, "sceneFile": scene.StorageKey,
		"simulationParams": params})
	return &library{system: s, body: body}, err
}

// submit sends the library, waits for its first task and cancels it. It returns the seconds that the answer took.
func (l *library) submit(ctx context.Context) (float64, error) {
	before, err := memoryOf(l.system.pid, "VmRSS")
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", l.system.pid), []byte("5"), 0o600); err != nil { // resets the peak
		return 0, fmt.Errorf("reset the peak of memory: %w", err)
	}
	began := time.Now()
	receipt, err := l.system.api.Submit(ctx, json.RawMessage(l.body), "")
	took := time.Since(began).Seconds()
	if err != nil {
		return 0, err
	}
	peak, err := memoryOf(l.system.pid, "VmHWM")
	if err != nil {
		return 0, err
	}
	l.memory = append(l.memory, float64(peak-before)/float64(len(l.body)))
	if err := l.awaitStart(ctx, receipt.Body.JobID); err != nil {
		return 0, err
	}
	if l.rows, err = readLibraryRows(ctx, l.system.db, receipt.Body.JobID); err != nil {
		return 0, err
	}
	began = time.Now()
	if _, err := l.system.api.Cancel(ctx, receipt.Body.JobID, "measured"); err != nil {
		return 0, err
	}
	l.cancel = append(l.cancel, time.Since(began).Seconds())
	return took, l.awaitEnd(ctx, receipt.Body.JobID)
}

// errStarted ends the following of a job whose first task runs.
var errStarted = errors.New("a task has started")

// awaitStart follows a job's events until a task runs, and keeps how long that took.
func (l *library) awaitStart(ctx context.Context, jobID string) error {
	following, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := l.system.api.Events(following, jobID, "", func(e client.Event) error {
		var task contract.TaskEvent
		if e.Kind == client.EventTask && json.Unmarshal(e.Data, &task) == nil && task.Status == job.TaskRunning {
			return errStarted
		}
		return nil
	})
	if !errors.Is(err, errStarted) {
		return fmt.Errorf("no task of %s has started: %w", jobID, err)
	}
	seconds, err := firstStart(ctx, l.system.db, jobID)
	l.firstTask = append(l.firstTask, seconds)
	return err
}

// awaitEnd follows a job's events until there are no more.
func (l *library) awaitEnd(ctx context.Context, jobID string) error {
	for last := ""; ; {
		if err := l.system.api.Events(ctx, jobID, last, func(e client.Event) error { last = e.ID; return nil }); err != nil {
			return err
		}
		if j, err := l.system.api.Job(ctx, jobID); err != nil || j.Body.Terminal {
			return err
		}
	}
}

// decodeAndCopy is the least that such a submission can be: a strict decoding, and COPY of the rows that it wrote.
func (l *library) decodeAndCopy(ctx context.Context) (float64, error) {
	began := time.Now()
	var request struct {
		JobType          string      `json:"jobType"`
		Simulator        string      `json:"simulator"`
		SceneFile        string      `json:"sceneFile"`
		SimulationParams vina.Params `json:"simulationParams"`
	}
	decoder := json.NewDecoder(bytes.NewReader(l.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return 0, fmt.Errorf("decode: %w", err)
	}
	decoded := time.Since(began)
	wrote, err := copyRows(ctx, l.system.db, l.rows)
	return (decoded + wrote).Seconds(), err
}

// accept measures B4.
func (l *library) accept(ctx context.Context, pairs int, told func(string)) (Result, error) {
	result := Result{
		ID: "B4", Name: "library of 10,000 ligands", Peer: "strict decoding and COPY of the same rows",
		Workload: fmt.Sprintf("one submission of %d ligands, %.1f MB, to the answer; the median of %d", libraryLigands,
			float64(len(l.body))/1e6, libraryRuns),
		Goal: "≥ 0.67 (at most 1.5 × the peer's time)", MeasuredAt: time.Now().UTC(),
	}
	if _, err := l.submit(ctx); err != nil { // warms up, and tells which rows there are
		return result, err
	}
	l.firstTask, l.memory, l.cancel = nil, nil, nil
	var err error
	result.Comparison, err = compare(ctx, "s", pairs, repeated(libraryRuns, l.submit), repeated(libraryRuns, l.decodeAndCopy), told)
	if err != nil {
		return result, err
	}
	result.Met = result.Comparison.Median >= 1/1.5
	result.Figures = map[string]float64{
		"firstTaskSeconds": median(l.firstTask), "memoryPerBody": median(l.memory), "cancelSeconds": median(l.cancel),
		"bodyBytes": float64(len(l.body)),
	}
	result.Notes = []string{"goals beside the ratio: memory at most 3 × the body, the first task within 0.5 s"}
	return result, nil
}

// memoryOf reads a figure of a process's memory in bytes.
func memoryOf(pid int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	var kibibytes int64
	_, rest, found := strings.Cut(string(text), name+":")
	if _, err := fmt.Sscan(rest, &kibibytes); err != nil || !found {
		return 0, fmt.Errorf("no %s of process %d", name, pid)
	}
	return kibibytes << 10, nil
}
