package redock

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The programs of the peer and of the scorer; they share crystal.py.
var (
	//go:embed crystal.py
	crystalProgram []byte
	//go:embed score.py
	scoreProgram []byte
	//go:embed peer.py
	peerProgram []byte
)

const (
	// bareFolder holds what the peer has made, below the case's folder.
	bareFolder = "bare"
	// bareExhaustiveness is AutoDock Vina's own default.
	bareExhaustiveness = 8
	caseFile           = "case.json"
)

func (s *suite) programs() string { return filepath.Join(s.scratch, "programs") }

func writePrograms(folder string) error {
	err := os.MkdirAll(folder, 0o755)
	for name, program := range map[string][]byte{"crystal.py": crystalProgram, "score.py": scoreProgram, "peer.py": peerProgram} {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), program, 0o644))
	}
	return err
}

// python runs one of the programs. The problem is what it says when it ends with exit status 1; everything else that is wrong is
// an error.
func (s *suite) python(ctx context.Context, program string, args ...string) (out []byte, problem string, err error) {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, s.Python, append([]string{"-B", filepath.Join(s.programs(), program)}, args...)...)
	var said, complaint bytes.Buffer
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	command.Stdout, command.Stderr = &said, &complaint
	err = command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && ctx.Err() == nil {
		return nil, ending(complaint.String()), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w: %s", program, err, ending(complaint.String()))
	}
	return said.Bytes(), "", nil
}

// scores is what score.py prints.
type scores struct {
	SMILES       string               `json:"smiles"`
	HeavyAtoms   int                  `json:"heavyAtoms"`
	RMSDAngstrom map[string][]float64 `json:"rmsdAngstrom"` // of each file's poses
}

// look reads the crystal pose and returns what the ligand is; a problem is one of the case.
func (s *suite) look(ctx context.Context, c Case, folder string) (smiles, problem string, err error) {
	if err := writeJSON(filepath.Join(folder, caseFile), c); err != nil {
		return "", "", err
	}
	found, problem, err := s.score(ctx, folder)
	return found.SMILES, problem, err
}

// score measures the poses in SDF files against the crystal pose of the case in this folder.
func (s *suite) score(ctx context.Context, folder string, files ...string) (found scores, problem string, err error) {
	args := append([]string{"--components", s.Components, filepath.Join(folder, caseFile)}, files...)
	out, problem, err := s.python(ctx, "score.py", args...)
	if err != nil || problem != "" {
		return found, problem, err
	}
	err = json.Unmarshal(out, &found)
	return found, "", err
}

// peerRequest is what peer.py reads.
type peerRequest struct {
	Case           Case      `json:"case"`
	Keep           []string  `json:"keep"`
	Center         []float64 `json:"center,omitempty"`
	Size           []float64 `json:"size,omitempty"`
	Seed           int64     `json:"seed"`
	Exhaustiveness int       `json:"exhaustiveness"`
	CPU            int       `json:"cpu"`
	Components     string    `json:"components"`
}

// key tells whether a result of the peer is one of this request and these programs. Its threads do not change its poses.
func (r peerRequest) key() (string, error) {
	r.CPU, r.Case.Why = 0, ""
	said, err := json.Marshal(r)
	digest := sha256.New()
	for _, part := range [][]byte{said, crystalProgram, scoreProgram, peerProgram} {
		digest.Write(part)
	}
	return hex.EncodeToString(digest.Sum(nil)), err
}

// dockBare docks a case with AutoDock Vina as a chemist would, in the same box; box is empty where the other arm has none.
// earlier is what an earlier run has found, which stands while nothing has changed.
func (s *suite) dockBare(ctx context.Context, c Case, box Box, earlier *Bare, folder string) (*Bare, error) {
	request := peerRequest{
		Case: c, Keep: c.Keep, Center: box.Center, Size: box.Size, Seed: s.setup.Seed, Exhaustiveness: bareExhaustiveness,
		CPU: max(s.Slots/s.Jobs, 1), Components: s.Components,
	}
	if s.setup.Exhaustiveness > 0 {
		request.Exhaustiveness = s.setup.Exhaustiveness
	}
	key, err := request.key()
	if err != nil || earlier != nil && earlier.Key == key && !s.Again {
		return earlier, err
	}
	out := filepath.Join(folder, bareFolder)
	asked := filepath.Join(out, "request.json")
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755), writeJSON(asked, request)); err != nil {
		return nil, err
	}
	began := time.Now()
	if _, problem, err := s.python(ctx, "peer.py", asked, out); err != nil || problem != "" {
		return nil, errors.Join(err, errors.New(problem))
	}
	found, err := readPeer(out)
	if err != nil {
		return nil, err
	}
	found.Key, found.Poses.WallSeconds = key, time.Since(began).Seconds()
	if found.Failure != "" {
		return found, nil
	}
	poses := filepath.Join(out, "poses.sdf")
	scored, problem, err := s.score(ctx, folder, poses)
	if problem != "" {
		found.Failure = "score: " + problem
	}
	found.Poses.RMSDAngstrom = scored.RMSDAngstrom[poses]
	return found, err
}

// readPeer reads peer.json.
func readPeer(out string) (*Bare, error) {
	text, err := os.ReadFile(filepath.Join(out, "peer.json"))
	if err != nil {
		return nil, err
	}
	var said struct {
		FailedStep        string    `json:"failedStep"`
		Error             string    `json:"error"`
		Hydrogens         string    `json:"hydrogens"`
		Kept              []string  `json:"kept"`
		PrepareCPUSeconds float64   `json:"prepareCpuSeconds"`
		DockCPUSeconds    float64   `json:"dockCpuSeconds"`
		ScoresKcalMol     []float64 `json:"scoresKcalMol"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("peer.json: %w", err)
	}
	found := &Bare{Hydrogens: said.Hydrogens, Kept: said.Kept, Poses: Poses{
		ScoresKcalMol: said.ScoresKcalMol, CPUSeconds: said.PrepareCPUSeconds + said.DockCPUSeconds,
		DockCPUSeconds: said.DockCPUSeconds,
	}}
	if said.FailedStep != "" {
		found.Failure = said.FailedStep + ": " + said.Error
	}
	return found, nil
}
