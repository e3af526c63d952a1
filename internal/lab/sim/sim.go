// Package sim lets the scheduler's own logic live through random histories: submissions, dispatches, reports, lost workers,
// cancels, retries, stages and the ledger, over a store and a queue in memory that stop at every call, so that whatever can happen
// between two calls does happen. Leaders crash, stall, lose their connections and their leads; Redis loses, repeats and reorders;
// workers die and come back. Every commit is checked when it happens, and every history ends with the oracle of the reliability
// suite. A seed is a history: the same one each time. It holds no product code, and the product knows nothing of it.
package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// progressEvery is how often a run says how far it is.
	progressEvery = 5 * time.Second
	// maxFailures ends a run that has found enough to think about.
	maxFailures = 10
	// tailLines is how much of a failed history's trace is shown.
	tailLines = 60
	// maxHunt bounds the histories within which a planted bug must be found.
	maxHunt = 20_000
	// gcPercent trades memory, of which a history needs little, for time.
	gcPercent = 800
)

// Options say what is simulated.
type Options struct {
	Histories int    // how many; at least 1
	Seed      uint64 // of the first; the others follow one by one
	Parallel  int    // how many at once; 0 for as many as there are processors
	// Planted lists bugs to look for as well, by their names; "all" stands for all of them.
	Planted []string
	// Steps and Without make a history smaller, as the report of a failed one says: at most so many actions, and none of these.
	Steps   int
	Without []string
	// Trace prints everything that happens. It is for one history.
	Trace bool
	Out   io.Writer
}

// Report is what a run has found.
type Report struct {
	Histories int
	Elapsed   time.Duration
	Failures  []Failure
	Planted   []Hunt
}

// Failure is a history in which something did not hold.
type Failure struct {
	Seed       uint64
	Violations []string
	// Steps and Without are the smallest form that was found to fail too, and Trace the end of it.
	Steps   int
	Without []string
	Trace   []string
}

// Hunt is the search for a planted bug. Histories is how many it took; Violation is empty when it was not found.
type Hunt struct {
	Bug       Bug
	Histories int
	Violation string
}

// Run simulates, and prints progress, what failed and how to see it again. Errors: ErrViolated; the context's.
func Run(ctx context.Context, o Options) (Report, error) {
	shared, err := newSetting()
	if err != nil {
		return Report{}, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	r := &runner{Options: o, shared: shared, began: time.Now()}
	if o.Trace {
		return r.traced()
	}
	err = r.histories(ctx)
	report := Report{Histories: int(r.done.Load()), Elapsed: time.Since(r.began), Failures: r.failures}
	fmt.Fprintf(o.Out, "%d histories in %s, %.0f a second, seeds %d to %d: %d failed\n", report.Histories,
		report.Elapsed.Round(time.Millisecond), float64(report.Histories)/report.Elapsed.Seconds(), o.Seed,
		o.Seed+uint64(max(report.Histories, 1))-1, len(report.Failures))
	if err == nil {
		report.Planted, err = r.hunts(ctx)
	}
	if err == nil && len(report.Failures) > 0 {
		err = ErrViolated
	}
	return report, err
}

// ErrViolated says that a history did not end as it must, or that a planted bug was not found.
var ErrViolated = errors.New("the simulation found a violation")

// runner is one run.
type runner struct {
	Options
	shared *setting
	began  time.Time
	next   atomic.Uint64
	done   atomic.Int64

	mu       sync.Mutex
	failures []Failure
}

func (r *runner) script(seed uint64) script {
	s := script{seed: seed, steps: r.Steps, without: map[string]bool{}}
	for _, name := range r.Without {
		s.without[name] = true
	}
	return s
}

// traced shows one history.
func (r *runner) traced() (Report, error) {
	s := r.script(r.Seed)
	s.traced = true
	h := newHistory(r.shared, s)
	h.play()
	for _, line := range h.trace {
		fmt.Fprintln(r.Out, line)
	}
	fmt.Fprintf(r.Out, "seed %d, digest %016x, %d violations\n", r.Seed, h.digest, len(h.violations))
	report := Report{Histories: 1}
	if len(h.violations) > 0 {
		report.Failures = []Failure{{Seed: r.Seed, Violations: h.violations, Trace: h.trace}}
		return report, ErrViolated
	}
	return report, nil
}

// histories simulates them all, several at once.
func (r *runner) histories(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for range r.Parallel {
		all.Go(func() {
			for ctx.Err() == nil {
				n := r.next.Add(1) - 1
				if n >= uint64(r.Histories) {
					return
				}
				r.one(r.Seed + n)
				r.done.Add(1)
				if r.failed() >= maxFailures {
					stop()
				}
			}
		})
	}
	finished := make(chan struct{})
	go func() { all.Wait(); close(finished) }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-finished:
			if r.failed() >= maxFailures {
				return nil
			}
			return ctx.Err()
		case <-ticker.C:
			r.progress()
		}
	}
}

func (r *runner) progress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := r.done.Load()
	fmt.Fprintf(r.Out, "%d of %d histories, %.0f a second, %d failed\n", done, r.Histories,
		float64(done)/time.Since(r.began).Seconds(), len(r.failures))
}

func (r *runner) failed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures)
}

// one simulates a history, and makes it as small as it gets when it fails.
func (r *runner) one(seed uint64) {
	s := r.script(seed)
	h := newHistory(r.shared, s)
	h.play()
	if len(h.violations) == 0 {
		return
	}
	f := shrink(r.shared, s, h)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, f)
	fmt.Fprint(r.Out, f.String())
}

// String says what failed and how to see it again.
func (f Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d:\n", f.Seed)
	for _, v := range f.Violations {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	fmt.Fprintf(&b, "  again: molfabric-lab sim --seed %d --histories 1\n", f.Seed)
	if f.Steps > 0 {
		fmt.Fprintf(&b, "  smaller: molfabric-lab sim --seed %d --trace --steps %d", f.Seed, f.Steps)
		if len(f.Without) > 0 {
			fmt.Fprintf(&b, " --without %q", strings.Join(f.Without, ","))
		}
		fmt.Fprintln(&b)
	}
	tail := f.Trace[max(0, len(f.Trace)-tailLines):]
	fmt.Fprintf(&b, "  its last %d steps:\n", len(tail))
	for _, line := range tail {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	return b.String()
}

// hunts looks for the planted bugs, one after the other.
func (r *runner) hunts(ctx context.Context) ([]Hunt, error) {
	var hunts []Hunt
	var missed error
	for _, bug := range Bugs() {
		if !slices.Contains(r.Planted, bug.Name) && !slices.Contains(r.Planted, "all") {
			continue
		}
		hunt, err := r.hunt(ctx, bug)
		if err != nil {
			return hunts, err
		}
		if len(hunts) == 0 {
			fmt.Fprintf(r.Out, "%-26s %9s  %s\n", "planted bug", "histories", "found as")
		}
		hunts = append(hunts, hunt)
		found := hunt.Violation
		if found == "" {
			found, missed = "not found", ErrViolated
		}
		fmt.Fprintf(r.Out, "%-26s %9d  %s\n", bug.Name, hunt.Histories, firstLine(found))
	}
	return hunts, missed
}

// hunt simulates histories with a planted bug until one fails.
func (r *runner) hunt(ctx context.Context, bug Bug) (Hunt, error) {
	for n := range maxHunt {
		if err := ctx.Err(); err != nil {
			return Hunt{}, err
		}
		s := r.script(r.Seed + uint64(n))
		s.planted = &bug
		h := newHistory(r.shared, s)
		h.play()
		if len(h.violations) > 0 {
			return Hunt{Bug: bug, Histories: n + 1, Violation: h.violations[0]}, nil
		}
	}
	return Hunt{Bug: bug, Histories: maxHunt}, nil
}

// maxLine bounds a line of the table.
const maxLine = 200

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), maxLine)]
}
