package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRunReports runs a test of each outcome, twice with one seed.
func TestRunReports(t *testing.T) {
	t.Parallel()
	drawn := []int64(nil)
	tests := []Test{
		{ID: "R1", Fault: "nothing", Passes: "always", Run: func(_ context.Context, w *World, rng *rand.Rand) error {
			drawn = append(drawn, rng.Int64())
			w.Figure("answers", 42)
			w.Notef("all is well")
			return nil
		}},
		{ID: "R2", Fault: "an error", Passes: "never", Run: func(context.Context, *World, *rand.Rand) error {
			return errors.New("it broke")
		}},
		{ID: "R3", Fault: "no machine for it", Passes: "elsewhere", Run: func(context.Context, *World, *rand.Rand) error {
			return Skip("no %s here", "kernel")
		}},
	}
	o := options(t)
	var out bytes.Buffer
	o.Out, o.Output = &out, filepath.Join(o.Home, "out", "report.json")
	if err := o.run(t.Context(), tests); !errors.Is(err, ErrFailed) {
		t.Errorf("with a failure the suite says %v, want %v", err, ErrFailed)
	}
	body, err := os.ReadFile(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := json.Unmarshal(body, &report); err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(report.Tests))
	for _, test := range report.Tests {
		got = append(got, test.ID+" "+test.Outcome+" "+test.Note)
	}
	if want := []string{"R1 passed all is well", "R2 failed it broke", "R3 skipped no kernel here"}; !slices.Equal(got, want) {
		t.Errorf("the report says %q, want %q", got, want)
	}
	if report.Seed != "7" || report.Cores == 0 || report.At.IsZero() || report.Tests[0].Figures["answers"] != 42 {
		t.Errorf("the report is %+v", report)
	}
	for _, want := range []string{"seed 7", "R2   failed", "it broke", "passes when", "answers 42"} {
		if !strings.Contains(strings.ToLower(out.String()), strings.ToLower(want)) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
	if _, err := os.Stat(filepath.Join(o.Home, "out", "logs", "R2", "stores.log")); err != nil {
		t.Errorf("the logs of a failure are not kept: %v", err)
	}
	if err := o.run(t.Context(), tests[:1]); err != nil || len(drawn) != 2 || drawn[0] != drawn[1] {
		t.Errorf("one seed has made the choices %v (%v)", drawn, err)
	}
}

func TestChosenTests(t *testing.T) {
	t.Parallel()
	if _, err := (Options{Only: []string{"R99"}}).chosen(); err == nil || !strings.Contains(err.Error(), "R99") ||
		!strings.Contains(err.Error(), "R6") {
		t.Errorf("an unknown id gives %v, want an error that names it and those that there are", err)
	}
	if chosen, err := (Options{Only: []string{"R6"}}).chosen(); err != nil || len(chosen) != 1 || chosen[0].ID != "R6" {
		t.Errorf("R6 alone is %v (%v)", ids(chosen), err)
	}
	all, seen := Tests(), map[string]bool{}
	for i, test := range all {
		if seen[test.ID] || test.Run == nil || test.Fault == "" || test.Passes == "" {
			t.Errorf("row %d is %+v, want an id of its own, a fault, a promise and a function", i, test)
		}
		seen[test.ID] = true
	}
	if !slices.IsSortedFunc(all, func(a, b Test) int { return number(a.ID) - number(b.ID) }) {
		t.Errorf("the rows are %v, want them by number", ids(all))
	}
}
