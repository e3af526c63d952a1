package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestGoals(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string]float64{"≥ 0.98": 0.98, "> 1.0": 1, "≥ 0.67 (at most 1.5 × the peer's time)": 0.67,
		"≥ 20": 20, "≥ 0.95 to 64 workers": 0.95, "the same hits": 0, "": 0} {
		if got, ok := goalOf(goal); got != want || ok != (want > 0) {
			t.Errorf("%q: got %v, %v, want %v", goal, got, ok, want)
		}
	}
}

func TestAxes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		axis axis
		want []float64
	}{
		{axis{least: 0.1, most: 100, log: true}, []float64{0.1, 1, 10, 100}},
		{axis{least: 1, most: 64, log: true}, []float64{1, 2, 5, 10, 20, 50}},
		{axis{least: 0, most: 1}, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{axis{least: 0, most: 870}, []float64{0, 100, 200, 300, 400, 500, 600, 700, 800}},
		{axis{least: 0, most: 3}, []float64{0, 0.5, 1, 1.5, 2, 2.5, 3}},
	} {
		got := c.axis.ticks()
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%+v: got the ticks %v, want %v", c.axis, got, c.want)
		}
	}
	a := axis{least: 1, most: 100, from: 50, to: 250, log: true}
	if a.at(1) != 50 || a.at(10) != 150 || a.at(100) != 250 {
		t.Errorf("got %g, %g and %g", a.at(1), a.at(10), a.at(100))
	}
	if low, high := decades(0.7, 31); low != 0.1 || high != 100 {
		t.Errorf("got %g to %g", low, high)
	}
	if low, high := decades(1, 1); low != 1 || high != 10 {
		t.Errorf("got %g to %g", low, high)
	}
}

func TestPlots(t *testing.T) {
	t.Parallel()
	c := Comparison{Ours: []float64{1, 2}, Peer: []float64{20, 42}}.judged(1)
	void := Comparison{Ours: []float64{1}, Peer: []float64{1}}.judged(2)
	report := Report{Results: []Result{
		{ID: "B1/1", Goal: "≥ 0.98", Comparison: void}, {ID: "B7", Goal: "≥ 20", Met: true, Comparison: c},
		{ID: "B2", Goal: "≥ 0.7", Comparison: Comparison{}}, // nothing to draw
		{ID: "B12", Goal: "≥ 0.95", Comparison: c, Figures: map[string]float64{"efficiencyAt02": 0.99, "efficiencyAt64": 0.9,
			"tasks": 3}},
	}}
	rows := ratioRows(report.Results)
	if len(rows) != 3 || rows[0].id != "B1/1" || rows[0].color != voidColor || rows[1].color != metColor || rows[1].goal != 20 ||
		rows[2].color != missedColor {
		t.Errorf("got the rows %+v", rows)
	}
	if points := scaling(report.Results[3].Figures); len(points) != 3 || points[2] != (point{64, 0.9}) {
		t.Errorf("got the points %v", points)
	}
	folder := t.TempDir()
	if err := report.draw(filepath.Join(folder, "results.json")); err != nil {
		t.Fatal(err)
	}
	for name, holds := range map[string]string{"ratios.svg": "B1/1", "scaling.svg": "measured"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.Contains(string(text), holds) {
			t.Errorf("%s does not hold %q: %v", name, holds, err)
		}
		for decoder := xml.NewDecoder(strings.NewReader(string(text))); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s is no XML: %v", name, err)
				break
			}
		}
	}
	if err := (Report{}).draw(filepath.Join(folder, "none", "results.json")); err != nil {
		t.Errorf("a report without results: %v", err)
	}
}
