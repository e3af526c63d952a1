package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
)

// IDs are the benchmarks that there are, in the order of the report. Those with a slash are one workload in several forms: ligands
// a task, submissions a second, commands, renderers.
var IDs = []string{"B1/1", "B1/10", "B2", "B3/50", "B3/200", "B4", "B5", "B6", "B7", "B8", "B9", "B10/fpocket", "B10/docking",
	"B11/molstar", "B11/cycles", "B12", knownID, freshID, "fleet", "scale", historyID}

// Options say what to measure, and with what.
type Options struct {
	Only     []string // of IDs, or the part before the slash; all when empty
	Pairs    int      // at least MinPairs
	Slots    int      // cores of the workers, and processes of the peer
	Program  string   // path of the molfabric to measure
	Python   string   // the scientific Python
	Target   Target
	Frames   int    // of B11, 2 to 3600; 0 means 48
	Proteins string // FASTA to search in and for, plain or compressed with gzip; "" makes proteins
	Finished int    // tasks of the past of history; 0 means ten million
	Output   string // file that the report is written to, with its plots beside it
	Out      io.Writer
	Log      *slog.Logger
}

// Report is the file that a suite writes.
type Report struct {
	Machine string    `json:"machine"`
	Cores   int       `json:"cores"`
	At      time.Time `json:"at"`
	Results []Result  `json:"results"`
}

// Run measures, prints a table and writes the report. What it starts lives in a temporary directory, which it removes. What an
// earlier report in the same file says of other benchmarks stays, if it was measured on this machine.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "molfabric-bench-")
	if err != nil {
		return fmt.Errorf("make a scratch directory: %w", err)
	}
	defer os.RemoveAll(scratch)
	earlier, err := readReport(o.Output)
	if err != nil {
		return err
	}
	if err := os.Chmod(scratch, 0o755); err != nil { // the stores run as other users
		return err
	}
	report := Report{Machine: proc.Machine(), Cores: runtime.NumCPU(), At: time.Now().UTC()}
	report.Results, err = o.measure(ctx, scratch)
	if len(report.Results) == 0 {
		return err
	}
	report.keep(earlier)
	table(o.Out, report)
	return errors.Join(err, report.write(o.Output), report.draw(o.Output)) // an hour's results outlive the benchmark that fails
}

// check refuses what cannot be measured before anything is started, and fills in how many frames there are.
func (o *Options) check() error {
	for _, asked := range o.Only {
		if !slices.ContainsFunc(IDs, func(id string) bool { return covers(asked, id) }) {
			return fmt.Errorf("there is no benchmark %s; there are %s", asked, strings.Join(IDs, ", "))
		}
	}
	if o.Frames == 0 {
		o.Frames = filmFrames
	}
	if o.Frames < leastFrames || o.Frames > mostFrames {
		return fmt.Errorf("the frames (--frames) of B11 are %d; give %d to %d", o.Frames, leastFrames, mostFrames)
	}
	return nil
}

// covers tells whether an id was asked for by its name or by the part before its slash.
func covers(asked, id string) bool { return asked == id || strings.HasPrefix(id, asked+"/") }

func (o Options) wants(id string) bool {
	return len(o.Only) == 0 && id != historyID || slices.ContainsFunc(o.Only, func(asked string) bool { return covers(asked, id) })
}

// told prints what is being measured.
func (o Options) told(id string) func(string) {
	return func(what string) { fmt.Fprintf(o.Out, "%s  %s  %s\n", time.Now().Format(time.TimeOnly), id, what) }
}

// group is benchmarks that are measured together, on what they share.
type group struct {
	ids     []string
	measure func(ctx context.Context, scratch string) ([]Result, error)
}

// readReport reads the report that is to be written again; one that is not there is empty.
func readReport(path string) (Report, error) {
	var report Report
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return report, nil
	}
	if err != nil {
		return report, err
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return report, fmt.Errorf("%s is no report of benchmarks: %w; move it away, or name another file with --output", path, err)
	}
	return report, nil
}

// keep adds what an earlier report of this machine says of benchmarks that were not measured now, and puts all in the order of IDs.
func (r *Report) keep(earlier Report) {
	if earlier.Machine == r.Machine && earlier.Cores == r.Cores {
		for _, old := range earlier.Results {
			if !slices.ContainsFunc(r.Results, func(now Result) bool { return now.ID == old.ID }) {
				r.Results = append(r.Results, old)
			}
		}
	}
	slices.SortFunc(r.Results, func(a, b Result) int { return slices.Index(IDs, a.ID) - slices.Index(IDs, b.ID) })
}

// measure measures what was asked for.
func (o Options) measure(ctx context.Context, scratch string) ([]Result, error) {
	return o.measureGroups(ctx, scratch, []group{
		{[]string{"B2"}, o.deployed("whole-path", o.measureWholePath)},
		{[]string{"B3/50", "B3/200"}, o.deployed("durable", o.measureDurable)},
		{[]string{"B5"}, o.measureBacklog},
		{[]string{"B6"}, o.deployed("pickup", o.measurePickup)},
		{[]string{"B7"}, o.deployed("lost", o.measureLost)},
		{[]string{"B8"}, o.deployed("charges", o.measureCharges)},
		{[]string{"B10/fpocket", "B10/docking"}, o.measureBoxes},
		{[]string{"B12"}, alone(o.measureScale)}, {[]string{"fleet"}, alone(o.measureThousand)},
		{[]string{"scale"}, alone(o.measureCosts)}, {[]string{historyID}, alone(o.measureHistory)},
		{[]string{"B1/1", "B1/10", "B4", "B9", "B11/molstar", "B11/cycles", knownID, freshID}, o.measureSystem},
	})
}

// measureGroups returns, beside an error, what was measured before it.
func (o Options) measureGroups(ctx context.Context, scratch string, groups []group) ([]Result, error) {
	var results []Result
	for _, g := range groups {
		if !slices.ContainsFunc(g.ids, o.wants) {
			continue
		}
		measured, err := g.measure(ctx, scratch)
		results = append(results, measured...)
		if err != nil {
			return results, fmt.Errorf("%s: %w", strings.Join(g.ids, ", "), err)
		}
	}
	return results, nil
}

// alone measures without a system.
func alone(measure func(context.Context, *system, string) ([]Result, error)) func(context.Context, string) ([]Result, error) {
	return func(ctx context.Context, scratch string) ([]Result, error) { return measure(ctx, nil, scratch) }
}

// deployed measures on a deployment of its own.
func (o Options) deployed(
	name string, measure func(context.Context, *deployment) ([]Result, error),
) func(context.Context, string) ([]Result, error) {
	return func(ctx context.Context, scratch string) (results []Result, err error) {
		d, err := o.deployBelow(ctx, scratch, name)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, d.stop(ctx)) }()
		return measure(ctx, d)
	}
}

// measureSystem measures what runs on `molfabric up`.
func (o Options) measureSystem(ctx context.Context, scratch string) (results []Result, err error) {
	home := filepath.Join(scratch, "system")
	if err := os.Mkdir(home, 0o755); err != nil {
		return nil, err
	}
	s, err := startSystem(ctx, ServerOptions{Home: home, Program: o.Program, Python: o.Python, Slots: o.Slots, Log: o.Log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	on := func(measure func(context.Context, *system, string) ([]Result, error)) func(context.Context, string) ([]Result, error) {
		return func(ctx context.Context, home string) ([]Result, error) { return measure(ctx, s, home) }
	}
	return o.measureGroups(ctx, home, []group{
		{[]string{"B1/1", "B1/10", "B4"}, on(o.measureDockings)}, {[]string{"B9"}, on(o.measureSearch)},
		{[]string{"B11/molstar", "B11/cycles"}, on(o.measureFrames)}, {[]string{knownID, freshID}, on(o.measureReuse)},
	})
}

func (o Options) measureSearch(ctx context.Context, s *system, scratch string) ([]Result, error) {
	folder := filepath.Join(scratch, "searching")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	w, err := newSearching(ctx, s, o, scratch, folder)
	if err != nil {
		return nil, fmt.Errorf("B9: %w", err)
	}
	result, err := w.search(ctx, o.Pairs, o.told("B9"))
	if err != nil {
		return nil, fmt.Errorf("B9: %w", err)
	}
	return []Result{result}, nil
}

func (o Options) measureDockings(ctx context.Context, s *system, scratch string) ([]Result, error) {
	folder := filepath.Join(scratch, "screening")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	screening, err := newScreening(ctx, s, o.Python, o.Slots, folder, o.Target)
	if err != nil {
		return nil, err
	}
	var results []Result
	if o.wants("B4") {
		l, err := newLibrary(s, screening.scene, o.Target)
		if err != nil {
			return nil, err
		}
		result, err := l.accept(ctx, o.Pairs, o.told("B4"))
		if err != nil {
			return nil, fmt.Errorf("B4: %w", err)
		}
		results = append(results, result)
	}
	for _, shardSize := range []int{1, 10} {
		id := fmt.Sprintf("B1/%d", shardSize)
		if !o.wants(id) {
			continue
		}
		result, err := screening.screen(ctx, shardSize, o.Pairs, o.told(id))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// table prints the report for people.
func table(w io.Writer, report Report) {
	fmt.Fprintf(w, "\n%d cores, %s\nratios are peer ÷ molfabric: above 1, molfabric needs less\n\n%-11s  %-7s  %-14s  %-8s  "+
		"%-8s  %s\n", report.Cores, report.Machine, "id", "ratio", "range", "control", "goal", "workload")
	for _, r := range report.Results {
		verdict := "missed"
		switch {
		case r.Comparison.Void:
			verdict = "void"
		case r.Met:
			verdict = "met"
		}
		if c := r.Comparison; len(c.Ratios) > 0 {
			fmt.Fprintf(w, "%-11s  %-7.3f  %.3f to %.3f  %-8.3f  %-8s  %s\n        against %s; goal %s\n", r.ID, c.Median, c.Lowest,
				c.Highest, c.Control, verdict, r.Workload, r.Peer, r.Goal)
		} else {
			fmt.Fprintf(w, "%-11s  %-7s  %-14s  %-8s  %-8s  %s\n", r.ID, "", "", "", "", r.Workload)
		}
		for _, name := range sortedNames(r.Figures) {
			fmt.Fprintf(w, "        %s %.4g\n", name, r.Figures[name])
		}
		if r.MeasuredAt.Before(report.At) {
			fmt.Fprintf(w, "        measured before, %s\n", r.MeasuredAt.Local().Format(time.DateTime))
		}
	}
}

func sortedNames(figures map[string]float64) []string {
	var names []string
	for name := range figures {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (r Report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
