package chaos

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
)

// Test is one row of the scorecard.
type Test struct {
	ID, Fault, Passes string // "R6", "a worker is stopped past its lease …", "the late result is fenced off; one charge"
	Short             bool   // part of the short form that CI runs (seconds, not minutes)
	// Run breaks something and looks at what the row promises; nil means passed. The oracle runs after it. It takes all that it
	// leaves to chance from rng.
	Run func(ctx context.Context, w *World, rng *rand.Rand) error
}

// Tests lists all rows in the order of their numbers.
func Tests() []Test {
	tests := slices.Concat(workerFaults(), storeFaults(), racing(), abuse(), confinement())
	slices.SortStableFunc(tests, func(a, b Test) int { return number(a.ID) - number(b.ID) })
	return tests
}

// number is that of an id: 6 of R6.
func number(id string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "R")) // a row without one comes first
	return n
}

// Options say which tests run, and with what.
type Options struct {
	Only     []string // ids; all when empty
	Seed     uint64   // 0: one is drawn; the same seed makes the same choices
	Short    bool     // only the rows of the short form, with small jobs
	Program  string   // path of the binary
	Python   string   // the scientific Python
	Home     string   // below it each test has a directory for its stores; "" means a temporary one
	Output   string   // file that the report is written to; "" writes none. The logs of what failed lie beside it
	Target   *Target  // what the whole form docks into; nil leaves the dockings out
	Patience float64  // what the scorecard's bounds are multiplied with on a busy machine; 0 means 1
	Out      io.Writer
	Log      *slog.Logger
}

// ErrFailed says that a test did not pass; the table names it.
var ErrFailed = errors.New("not every test passed")

// Run runs the tests one after the other, prints a line of each and a table at the end, and writes the report. Errors: ErrFailed,
// and what kept the tests from running at all.
func Run(ctx context.Context, o Options) error {
	tests, err := o.chosen()
	if err != nil {
		return err
	}
	return o.run(ctx, tests)
}

func (o Options) run(ctx context.Context, tests []Test) (err error) {
	if o.Seed == 0 {
		o.Seed = rand.Uint64() //nolint:gosec // G404: a choice of moments, not a secret
	}
	if o.Home == "" {
		if o.Home, err = os.MkdirTemp("", "molfabric-chaos-"); err != nil {
			return fmt.Errorf("make a directory for the stores: %w", err)
		}
		defer os.RemoveAll(o.Home)
	}
	if err := os.Chmod(o.Home, 0o711); err != nil { // the stores run as other users
		return err
	}
	report := Report{Seed: strconv.FormatUint(o.Seed, 10), Machine: proc.Machine(), Cores: runtime.NumCPU(), At: time.Now().UTC(),
		Short: o.Short}
	fmt.Fprintf(o.Out, "seed %d; the same again: --seed %d\n", o.Seed, o.Seed)
	for _, test := range tests {
		if err := ctx.Err(); err != nil {
			return err
		}
		outcome := o.RunOne(ctx, test)
		report.Tests = append(report.Tests, outcome)
		outcome.line(o.Out)
	}
	report.table(o.Out)
	if o.Output != "" {
		err = report.write(o.Output)
	}
	if slices.ContainsFunc(report.Tests, func(t Outcome) bool { return t.Outcome == Failed }) {
		err = errors.Join(err, ErrFailed)
	}
	return err
}

// chosen are the tests that were asked for.
func (o Options) chosen() ([]Test, error) {
	all := Tests()
	for _, asked := range o.Only {
		if !slices.ContainsFunc(all, func(t Test) bool { return t.ID == asked }) {
			return nil, fmt.Errorf("there is no test %s; there are %s", asked, strings.Join(ids(all), ", "))
		}
	}
	return slices.DeleteFunc(all, func(t Test) bool {
		return len(o.Only) > 0 && !slices.Contains(o.Only, t.ID) || len(o.Only) == 0 && o.Short && !t.Short
	}), nil
}

func ids(tests []Test) []string {
	names := make([]string, len(tests))
	for i, test := range tests {
		names[i] = test.ID
	}
	return names
}

// randomOf is a test's own source of chance, so that it makes the same choices alone and among others.
func randomOf(seed uint64, id string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(id))                    // never fails
	return rand.New(rand.NewPCG(seed, hash.Sum64())) //nolint:gosec // G404: a choice of moments, not a secret
}

// RunOne runs one test in a World of its own below o.Home, and the oracle after it. It may be called concurrently.
func (o Options) RunOne(ctx context.Context, test Test) Outcome {
	outcome := Outcome{ID: test.ID, Fault: test.Fault, Passes: test.Passes, Outcome: Passed, Figures: map[string]float64{}}
	began := time.Now()
	err := o.inWorld(ctx, test, &outcome)
	outcome.Seconds = time.Since(began).Seconds()
	var skip *SkipError
	switch {
	case errors.As(err, &skip):
		outcome.Outcome, outcome.Note = Skipped, skip.Reason
	case err != nil:
		outcome.Outcome, outcome.Note = Failed, strings.Join(append([]string{err.Error()}, outcome.notes...), "; ")
	default:
		outcome.Note = strings.Join(outcome.notes, "; ")
	}
	return outcome
}

// SkipError says that a test cannot run on this machine.
type SkipError struct{ Reason string }

func (e *SkipError) Error() string { return "skipped: " + e.Reason }

// Skip is the error of a test that this machine does not let run, which the report says; it is no failure.
func Skip(format string, args ...any) error { return &SkipError{fmt.Sprintf(format, args...)} }

// inWorld makes a World, runs the test and the oracle in it, and ends it.
func (o Options) inWorld(ctx context.Context, test Test, outcome *Outcome) (err error) {
	home := filepath.Join(o.Home, test.ID)
	if err := os.MkdirAll(home, 0o711); err != nil {
		return err
	}
	if err := os.Chmod(home, 0o711); err != nil { // whatever the umask is
		return err
	}
	defer os.RemoveAll(home)
	w, err := OpenWorld(ctx, WorldOptions{Program: o.Program, Python: o.Python, Home: home, Short: o.Short, Patience: o.Patience,
		Target: o.Target,
		Log:    o.Log.With("test", test.ID)})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, w.Close(ctx))
		outcome.Figures, outcome.notes = w.figures, w.notes
		if err != nil && o.Output != "" {
			err = errors.Join(err, w.keepLogs(filepath.Join(filepath.Dir(o.Output), "logs", test.ID)))
		}
	}()
	began := time.Now()
	err = test.Run(ctx, w, randomOf(o.Seed, test.ID))
	w.Figure("run_seconds", time.Since(began).Seconds())
	var skip *SkipError
	if errors.As(err, &skip) {
		return err
	}
	began = time.Now()
	err = errors.Join(err, w.Judge(ctx))
	w.Figure("oracle_seconds", time.Since(began).Seconds())
	return err
}

// keepLogs copies the logs of a World's processes.
func (w *World) keepLogs(into string) error {
	if err := os.RemoveAll(into); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(into), 0o755); err != nil {
		return err
	}
	return os.CopyFS(into, os.DirFS(filepath.Join(w.home, "logs")))
}
