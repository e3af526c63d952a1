// Package redock measures whether dockings find known poses again: it takes entries of the Protein Data Bank as people get them,
// docks the ligand of each back into its structure through molfabric's own command line, and does the same with AutoDock Vina and
// the usual programs by hand. One scorer, which is neither arm's, compares both with the crystal pose.
package redock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/lab/bench"
	"github.com/molfabric/molfabric/internal/proc"
)

const (
	recordFile = "record.json"
	reportJSON = "report.json"
	reportText = "report.md"
)

// Options say what is measured, and with what.
type Options struct {
	Cases          []string // folders with a cases.tsv, or such tables
	Only           []string // names of cases; all when empty
	Seed           int64
	Exhaustiveness int    // of both arms; 0 leaves it to molfabric's default, and 8 to Vina
	SkipBare       bool   // measure molfabric alone
	Again          bool   // measure also what this version has measured already
	Jobs           int    // cases at once
	Slots          int    // cores of the workers
	Program        string // path of the molfabric to measure
	Version        string // of this program
	Python         string // the scientific Python
	Components     string // dictionary of chemical components
	Output         string // folder of the report
	Out            io.Writer
	Log            *slog.Logger
}

// Report is report.json.
type Report struct {
	Version string    `json:"version"`
	Machine string    `json:"machine"`
	Cores   int       `json:"cores"` // of the workers
	Jobs    int       `json:"jobs"`  // cases at once; above 1, wall times are those of a busy machine
	At      time.Time `json:"at"`
	Setup   Setup     `json:"setup"`
	Totals  Totals    `json:"totals"`
	Records []Record  `json:"records"` // in the order of the tables
}

// Run measures every case that has not been measured before, and writes the report. A case that cannot be measured is named in
// the report and stops no other. What Run starts lives in a temporary directory, which it removes. It may be called again with
// the same folder, and then goes on where it was interrupted.
func Run(ctx context.Context, o Options) error {
	cases, asked, err := o.choose()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "molfabric-redock-")
	if err != nil {
		return fmt.Errorf("make a scratch directory: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o755); err != nil { // the stores run as other users
		return err
	}
	s := &suite{Options: o, setup: Setup{Seed: o.Seed, Exhaustiveness: o.Exhaustiveness}, scratch: scratch}
	if err := s.prepare(); err != nil {
		return err
	}
	records, err := s.measure(ctx, cases, asked)
	report := Report{
		Version: o.Version, Machine: proc.Machine(), Cores: o.Slots, Jobs: s.Jobs, At: time.Now().UTC(), Setup: s.setup,
		Totals: totalsOf(records), Records: records,
	}
	if err != nil && len(records) == 0 {
		return err
	}
	report.show(o.Out)
	fmt.Fprintf(o.Out, "\nThe report lies in %s.\n", filepath.Join(o.Output, reportText))
	return errors.Join(err, report.write(o.Output))
}

// choose reads the cases, and says of each whether it was asked for.
func (o Options) choose() (cases []Case, asked func(Case) bool, err error) {
	if cases, err = ReadCases(o.Cases); err != nil {
		return nil, nil, err
	}
	for _, name := range o.Only {
		if !slices.ContainsFunc(cases, func(c Case) bool { return strings.EqualFold(c.Name, name) }) {
			return nil, nil, fmt.Errorf("--only %s: there is no such case; there are %s", name, strings.Join(names(cases), ", "))
		}
	}
	return cases, func(c Case) bool {
		return len(o.Only) == 0 || slices.ContainsFunc(o.Only, func(name string) bool { return strings.EqualFold(c.Name, name) })
	}, nil
}

func names(cases []Case) []string {
	var all []string
	for _, c := range cases {
		all = append(all, c.Name)
	}
	return all
}

// suite is one run of the measurement.
type suite struct {
	Options
	setup   Setup
	scratch string

	server *bench.Server // nil until a case needs it
	start  sync.Mutex    // held while the server starts

	mu            sync.Mutex // of what follows
	wanted, ended int        // cases
	began         time.Time
}

// prepare makes the folders and the programs that cases need.
func (s *suite) prepare() error {
	s.Jobs, s.began = max(s.Jobs, 1), time.Now()
	if _, err := os.Stat(s.Components); err != nil {
		return fmt.Errorf("the dictionary of chemical components is missing: %w; run `make setup`", err)
	}
	output, err := filepath.Abs(s.Output)
	if err != nil {
		return err
	}
	s.Output = output
	return errors.Join(os.MkdirAll(output, 0o755), writePrograms(s.programs()))
}

// measure measures the cases that were asked for, some at once, and returns what is known of each, also beside an error. What this
// version has measured of the others is in the report too.
func (s *suite) measure(ctx context.Context, cases []Case, asked func(Case) bool) (records []Record, err error) {
	defer func() {
		if s.server != nil {
			err = errors.Join(err, s.server.Stop(ctx))
		}
	}()
	records = make([]Record, len(cases))
	for _, c := range cases {
		if asked(c) {
			s.wanted++
		}
	}
	workers, inner := errgroup.WithContext(ctx)
	workers.SetLimit(s.Jobs)
	for i, c := range cases {
		if !asked(c) {
			if r, err := readRecord(filepath.Join(s.Output, c.Name), c); err == nil && s.measured(r) {
				records[i] = r
			}
			continue
		}
		workers.Go(func() error {
			var err error
			if records[i], err = s.measureCase(inner, c); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			s.told(records[i])
			return nil
		})
	}
	err = workers.Wait()
	return slices.DeleteFunc(records, func(r Record) bool { return r.Case.Name == "" }), err
}

// measureCase brings one case up to date. An error is one of this machine; what is wrong with the case is in the record.
func (s *suite) measureCase(ctx context.Context, c Case) (Record, error) {
	folder := filepath.Join(s.Output, c.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Record{}, err
	}
	r, err := readRecord(folder, c)
	if err != nil {
		return Record{}, err
	}
	smiles, problem, err := s.look(ctx, c, folder)
	if err != nil {
		return Record{}, err
	}
	if problem != "" {
		r = Record{Case: c, Problem: problem}
		return r, r.write(folder)
	}
	if s.Again || !s.measured(r) {
		if r.Fabric, err = s.dockFabric(ctx, c, smiles, folder); err != nil {
			return Record{}, err
		}
		if err := r.write(folder); err != nil {
			return Record{}, err
		}
	}
	if s.SkipBare {
		return r, nil
	}
	if r.Bare, err = s.dockBare(ctx, c, r.Fabric.Box, r.Bare, folder); err != nil {
		return Record{}, err
	}
	return r, r.write(folder)
}

// measured tells whether this version has measured a case as it is measured now.
func (s *suite) measured(r Record) bool {
	return r.Fabric != nil && r.Fabric.Version == s.Version && r.Fabric.Setup == s.setup
}

// fabric is the running system; the first case that needs it starts it.
func (s *suite) fabric(ctx context.Context) (*bench.Server, error) {
	s.start.Lock()
	defer s.start.Unlock()
	if s.server != nil {
		return s.server, nil
	}
	home := filepath.Join(s.scratch, "system")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	var err error
	s.server, err = bench.StartServer(ctx, bench.ServerOptions{
		Home: home, Program: s.Program, Python: s.Python, Components: s.Components, Slots: s.Slots, Log: s.Log,
	})
	return s.server, err
}
