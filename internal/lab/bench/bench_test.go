package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestArmsTakeTurns(t *testing.T) {
	t.Parallel()
	var order []string
	arm := func(name string, figure float64) Arm {
		return func(context.Context) (float64, error) { order = append(order, name); return figure, nil }
	}
	c, err := compare(t.Context(), "s", 1, arm("ours", 2), arm("peer", 3), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ours", "peer", "peer", "ours", "ours", "peer", "peer", "ours", "ours", "peer", "peer", "peer", "peer", "peer"}
	if !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	if c.Median != 1.5 || c.Lowest != 1.5 || c.Highest != 1.5 || c.Control != 1 || c.Void || len(c.Ratios) != MinPairs {
		t.Errorf("got %+v", c)
	}
}

func TestAnUnquietMachineVoids(t *testing.T) {
	t.Parallel()
	c := Comparison{Ours: []float64{1, 2, 4}, Peer: []float64{1, 4, 2}}.judged(1.06)
	if !c.Void || c.Median != 1 || c.Lowest != 0.5 || c.Highest != 2 {
		t.Errorf("got %+v, want a void comparison with median 1", c)
	}
	if drift := equalArms([]float64{1, 1.1, 1.2, 1.3}); drift < 0.9 || drift > 1 {
		t.Errorf("a steady drift gives the control %v, want one near 1", drift)
	}
	if even := median([]float64{4, 1, 3, 2}); even != 2.5 {
		t.Errorf("got the median %v of four, want 2.5", even)
	}
}

func TestAFailedArmEndsIt(t *testing.T) {
	t.Parallel()
	broken := errors.New("no")
	_, err := compare(t.Context(), "s", 5, func(context.Context) (float64, error) { return 0, broken }, nil, func(string) {})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the arm's error", err)
	}
}

func TestReportKeepsWhatWasMeasuredBefore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench", "results.json")
	if none, err := readReport(path); err != nil || len(none.Results) > 0 {
		t.Fatalf("a report that is not there reads as %+v, %v", none, err)
	}
	before := Report{Machine: "one", Cores: 4, Results: []Result{{ID: "B2", Goal: "old"}, {ID: "B8", Goal: "old"}}}
	if err := before.write(path); err != nil {
		t.Fatal(err)
	}
	earlier, err := readReport(path)
	if err != nil {
		t.Fatal(err)
	}
	now := Report{Machine: "one", Cores: 4, Results: []Result{{ID: "B3/50"}, {ID: "B2", Goal: "new"}}}
	now.keep(earlier)
	var got []string
	for _, r := range now.Results {
		got = append(got, r.ID+" "+r.Goal)
	}
	if want := []string{"B2 new", "B3/50 ", "B8 old"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	elsewhere := Report{Machine: "another", Cores: 4}
	if elsewhere.keep(earlier); len(elsewhere.Results) != 0 {
		t.Errorf("another machine's report keeps %+v", elsewhere.Results)
	}
	if err := os.WriteFile(path, []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readReport(path); err == nil {
		t.Error("a file that is no report would be written over")
	}
}
