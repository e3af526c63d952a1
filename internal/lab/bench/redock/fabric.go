package redock

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// fabricFolder holds the files of the job, below the case's folder.
	fabricFolder = "molfabric"
	// caseTimeout bounds one docking: the longest search of a ligand that can be docked takes an hour on one core.
	caseTimeout = 4 * time.Hour
	// saidChars is how much of a program's words a record keeps.
	saidChars = 400
	// taskPage is more than the tasks of a docking of one ligand, and what the API gives at once.
	taskPage = "100"
)

// command is what a chemist types for the case; smiles is the ligand's.
func (s *suite) command(c Case, smiles string) []string {
	args := []string{"dock", c.Receptor, "--seed", strconv.FormatInt(s.setup.Seed, 10)}
	if c.Crystal == "" {
		args = append(args, "--redock", c.place())
	} else {
		args = append(args, "--box-from", c.Crystal, "--ligand", c.Ligand+"="+smiles)
	}
	if s.setup.Exhaustiveness > 0 {
		args = append(args, "--exhaustiveness", strconv.Itoa(s.setup.Exhaustiveness))
	}
	return args
}

// dockFabric docks a case with molfabric. A docking that fails is a result; the error is one of this machine.
func (s *suite) dockFabric(ctx context.Context, c Case, smiles, folder string) (*Fabric, error) {
	server, err := s.fabric(ctx)
	if err != nil {
		return nil, err
	}
	args := s.command(c, smiles)
	found := &Fabric{Setup: s.setup, Version: s.Version, At: time.Now().UTC(), Command: args}
	files := filepath.Join(folder, fabricFolder)
	if err := os.RemoveAll(files); err != nil {
		return nil, err
	}
	environment := append(os.Environ(), "MOLFABRIC_SERVER="+server.URL, "MOLFABRIC_API_KEY="+server.APIKey,
		"MOLFABRIC_CONFIG="+filepath.Join(s.scratch, "settings"))
	said, err := s.run(ctx, environment, append(slices.Clone(args), "--json")...)
	var docked dockedJob
	if decoded := json.Unmarshal(said.out, &docked); decoded != nil || docked.JobID == "" {
		if err == nil {
			return nil, fmt.Errorf("molfabric dock printed no job: %.200q", said.out)
		}
		found.Failure = "refused: " + cmp.Or(said.why, err.Error())
		return found, ctx.Err()
	}
	found.JobID, found.Cost = docked.JobID, docked.cost()
	found.Poses.WallSeconds = docked.wallSeconds()
	if docked.Error != nil {
		found.Failure = docked.Error.Code + ": " + docked.Error.Message
	}
	if err := s.tasks(ctx, environment, found); err != nil {
		return nil, err
	}
	if _, err := s.run(ctx, environment, "outputs", docked.JobID, "-o", files, "--json"); err != nil {
		return nil, err
	}
	return found, s.readOutputs(ctx, found, folder)
}

// dockedJob is what `molfabric dock --json` prints.
type dockedJob struct {
	JobID string `json:"jobId"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Cost struct {
		Final    *json.Number `json:"final"`
		Currency string       `json:"currency"`
	} `json:"cost"`
	CreatedAt  time.Time  `json:"createdAt"`
	FinishedAt *time.Time `json:"finishedAt"`
}

func (d dockedJob) cost() string {
	if d.Cost.Final == nil {
		return ""
	}
	return d.Cost.Final.String() + " " + d.Cost.Currency
}

// wallSeconds are those from the submission to the job's end.
func (d dockedJob) wallSeconds() float64 {
	if d.FinishedAt == nil {
		return 0
	}
	return d.FinishedAt.Sub(d.CreatedAt).Seconds()
}

// spoken is what a program has said.
type spoken struct {
	out []byte
	why string // the end of its standard error
}

// run runs this program's own command line. The error is of its exit code; a command that could not be run at all is one too.
func (s *suite) run(ctx context.Context, environment []string, args ...string) (spoken, error) {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, s.Program, args...)
	var out, problem bytes.Buffer
	command.Env, command.Stdout, command.Stderr = environment, &out, &problem
	err := command.Run()
	said := spoken{out: out.Bytes(), why: ending(problem.String())}
	if err != nil {
		err = fmt.Errorf("molfabric %s: %w: %s", args[0], err, said.why)
	}
	return said, err
}

// ending is the last part of a text, in one line.
func ending(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > saidChars {
		return "…" + string(runes[len(runes)-saidChars:])
	}
	return text
}

// tasks adds up what the tasks of the job used.
func (s *suite) tasks(ctx context.Context, environment []string, found *Fabric) error {
	said, err := s.run(ctx, environment, "tasks", found.JobID, "--limit", taskPage, "--json")
	if err != nil {
		return err
	}
	var page struct {
		Tasks []struct {
			Stage string `json:"stage"`
			Usage struct {
				CPUSeconds float64 `json:"cpuSeconds"`
			} `json:"usage"`
		} `json:"tasks"`
	}
	if err := json.Unmarshal(said.out, &page); err != nil {
		return fmt.Errorf("molfabric tasks: %w", err)
	}
	for _, task := range page.Tasks {
		found.Poses.CPUSeconds += task.Usage.CPUSeconds
		if task.Stage == "dock" || task.Stage == "redock" {
			found.Poses.DockCPUSeconds += task.Usage.CPUSeconds
		}
	}
	return nil
}

// readOutputs reads poses, scores, and what the preparation did from the job's files. What a failed job has not written is left
// out.
func (s *suite) readOutputs(ctx context.Context, found *Fabric, folder string) error {
	files := outputs{filepath.Join(folder, fabricFolder)}
	var box struct {
		Source         string    `json:"source"`
		CenterAngstrom []float64 `json:"centerAngstrom"`
		SizeAngstrom   []float64 `json:"sizeAngstrom"`
	}
	var receptor receptorReport
	if err := errors.Join(files.read("box.json", &box), files.read("receptor.json", &receptor)); err != nil {
		return err
	}
	found.Box = Box{Source: box.Source, Center: box.CenterAngstrom, Size: box.SizeAngstrom}
	found.Kept, found.Repaired = receptor.kept(), receptor.Notes
	if found.Failure != "" {
		return nil
	}
	poses, ok := files.poses()
	if !ok {
		found.Failure = "the job has no poses: " + files.whyNone()
		return nil
	}
	scored, problem, err := s.score(ctx, folder, poses)
	if err != nil {
		return err
	}
	found.Poses.RMSDAngstrom = scored.RMSDAngstrom[poses]
	if problem != "" {
		found.Failure = "the poses cannot be compared: " + problem
	}
	return files.readPoses(found)
}

// outputs is the folder with a job's files. Those that several tasks have written lie in a folder for each task.
type outputs struct{ folder string }

// find returns the paths of the files of this name, in order.
func (o outputs) find(name string) []string {
	var found []string
	// a folder that is not there holds nothing
	_ = filepath.WalkDir(o.folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, string(filepath.Separator)+filepath.FromSlash(name)) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// read reads a document; one that is not there leaves into alone.
func (o outputs) read(name string, into any) error {
	found := o.find(name)
	if len(found) == 0 {
		return nil
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", found[0], err)
	}
	return nil
}

// poses is the SDF file of the ligand's poses.
func (o outputs) poses() (path string, ok bool) {
	found, _ := filepath.Glob(filepath.Join(o.folder, "poses", "*.sdf")) // the pattern is a good one
	if len(found) == 0 {
		found = o.find("native/redocked.sdf")
	}
	if len(found) == 0 {
		return "", false
	}
	return found[0], true
}

// ligands is what is read of results.json and analysis.json.
type ligands struct {
	Ligands []struct {
		Error       *string      `json:"error"`
		Convergence *Convergence `json:"convergence"`
		Poses       []struct {
			ScoreKcalMol float64  `json:"scoreKcalMol"`
			CNNScore     *float64 `json:"cnnScore"`
		} `json:"poses"`
	} `json:"ligands"`
}

func (o outputs) whyNone() string {
	var results ligands
	if err := o.read("results.json", &results); err != nil {
		return err.Error()
	}
	for _, ligand := range results.Ligands {
		if ligand.Error != nil {
			return *ligand.Error
		}
	}
	return "nobody says why"
}

// readPoses reads the scores of the poses, which stand in the order of the SDF file.
func (o outputs) readPoses(found *Fabric) error {
	var results, analysis ligands
	if err := errors.Join(o.read("results.json", &results), o.read("analysis.json", &analysis)); err != nil {
		return err
	}
	if len(results.Ligands) == 1 {
		found.Convergence = results.Ligands[0].Convergence
	}
	if len(analysis.Ligands) != 1 {
		return nil
	}
	for _, pose := range analysis.Ligands[0].Poses {
		found.Poses.ScoresKcalMol = append(found.Poses.ScoresKcalMol, pose.ScoreKcalMol)
		if pose.CNNScore != nil {
			found.Poses.CNNScores = append(found.Poses.CNNScores, *pose.CNNScore)
		}
	}
	return nil
}

// receptorReport is what is read of receptor.json.
type receptorReport struct {
	Notes []string `json:"notes"`
	Site  []struct {
		ResidueName   string `json:"residueName"`
		Chain         string `json:"chain"`
		Residue       int    `json:"residue"`
		InsertionCode string `json:"insertionCode"`
		Status        string `json:"status"`
	} `json:"site"`
}

// kept are the components of the site that stayed in the receptor, as "HEM A 500".
func (r receptorReport) kept() []string {
	var kept []string
	for _, entry := range r.Site {
		if entry.Status == "kept" {
			kept = append(kept, fmt.Sprintf("%s %s %d%s", entry.ResidueName, entry.Chain, entry.Residue, entry.InsertionCode))
		}
	}
	return kept
}
