package redock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// goodAngstrom is how near a pose must be to count as found again: the usual bound (Cole et al. 2005, doi:10.1002/prot.20497).
const goodAngstrom = 2.0

// Record is what is known of one case: the file record.json in its folder.
type Record struct {
	Case    Case    `json:"case"`
	Problem string  `json:"problem,omitempty"` // why the case itself cannot be measured; the rest is nil then
	Fabric  *Fabric `json:"fabric,omitempty"`
	Bare    *Bare   `json:"bare,omitempty"`
}

// Setup is what both arms are told: results of equal setups need not be measured twice.
type Setup struct {
	Seed           int64 `json:"seed"`
	Exhaustiveness int   `json:"exhaustiveness"` // 0 leaves it to each arm
}

// Poses are an arm's, best first by the arm's own score.
type Poses struct {
	RMSDAngstrom   []float64 `json:"rmsdAngstrom"`
	ScoresKcalMol  []float64 `json:"scoresKcalMol,omitempty"`
	CNNScores      []float64 `json:"cnnScores,omitempty"` // 0 to 1, of each pose; empty where nobody has computed them
	CPUSeconds     float64   `json:"cpuSeconds"`          // of everything
	DockCPUSeconds float64   `json:"dockCpuSeconds"`      // of the search alone
	WallSeconds    float64   `json:"wallSeconds"`
}

// Fabric is what molfabric made of a case.
type Fabric struct {
	Setup   Setup     `json:"setup"`
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	Command []string  `json:"command"` // after the program's name
	JobID   string    `json:"jobId,omitempty"`
	Cost    string    `json:"cost,omitempty"`
	// Failure is why there are no poses, in the product's words; "" where there are.
	Failure     string       `json:"failure,omitempty"`
	Poses       Poses        `json:"poses"`
	Convergence *Convergence `json:"convergence,omitempty"` // nil where nobody has judged it
	Box         Box          `json:"box"`
	Kept        []string     `json:"kept,omitempty"`     // components in the receptor that was docked into
	Repaired    []string     `json:"repaired,omitempty"` // what the preparation says that it did
}

// Convergence says whether independent searches agreed on the best pose.
type Convergence struct {
	Converged      bool `json:"converged"`
	Exhaustiveness int  `json:"exhaustiveness"` // of all searches together
}

// Box is where an arm searched, in Å.
type Box struct {
	Source string    `json:"source,omitempty"`
	Center []float64 `json:"center,omitempty"`
	Size   []float64 `json:"size,omitempty"`
}

// Bare is what AutoDock Vina made of a case in a chemist's hands.
type Bare struct {
	Key       string   `json:"key"`                 // digest of the program and of all that it was told
	Failure   string   `json:"failure,omitempty"`   // step and reason; "" where there are poses
	Hydrogens string   `json:"hydrogens,omitempty"` // the program that placed them
	Poses     Poses    `json:"poses"`
	Kept      []string `json:"kept,omitempty"`
}

// first is the deviation of the pose with the best score; ok is false where there is none.
func (p Poses) first() (rmsd float64, ok bool) {
	if len(p.RMSDAngstrom) == 0 {
		return 0, false
	}
	return p.RMSDAngstrom[0], true
}

// closest is the smallest deviation of any pose; there must be one.
func (p Poses) closest() float64 { return slices.Min(p.RMSDAngstrom) }

// firstByCNN is the deviation of the pose with the best CNN score.
func (p Poses) firstByCNN() (rmsd float64, ok bool) {
	if len(p.CNNScores) == 0 || len(p.CNNScores) != len(p.RMSDAngstrom) {
		return 0, false
	}
	best := 0
	for i, score := range p.CNNScores {
		if score > p.CNNScores[best] {
			best = i
		}
	}
	return p.RMSDAngstrom[best], true
}

// readRecord reads what is known of a case; where nothing is, the record has the case alone.
func readRecord(folder string, c Case) (Record, error) {
	text, err := os.ReadFile(filepath.Join(folder, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{Case: c}, nil
	}
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s is no record of a case: %w; move it away, or name another folder with --output",
			filepath.Join(folder, recordFile), err)
	}
	r.Case, r.Problem = c, ""
	return r, nil
}

// write keeps the record in its folder: whole, or not at all.
func (r Record) write(folder string) error { return writeJSON(filepath.Join(folder, recordFile), r) }

// writeJSON writes a document for people and programs, whole or not at all.
func writeJSON(path string, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(path, append(text, '\n'))
}

func writeWhole(path string, text []byte) error {
	part := path + ".part"
	if err := os.WriteFile(part, text, 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}
