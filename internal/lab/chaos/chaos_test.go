package chaos

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// ciPatience is what the scorecard's bounds are multiplied with here: a machine that runs other tests at the same time is no place
// to hold seconds against.
const ciPatience = 4

// seed makes the same choices at every run; MOLFABRIC_CHAOS_SEED names another one.
const seed = 7

// binary builds the program once a test process; MOLFABRIC_CHAOS_PROGRAM names one that is there already.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("MOLFABRIC_CHAOS_PROGRAM"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "molfabric-chaos-bin-")
	if err != nil {
		return "", err
	}
	return serverstest.Build(dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil && os.Getenv("MOLFABRIC_CHAOS_PROGRAM") == "" {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// options are those of the short form, in a directory that the stores' users may enter.
func options(t *testing.T) Options {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Seed: seed, Short: true, Program: program, Python: enginestest.Python(t), Home: serverstest.Dir(t),
		Patience: ciPatience, Out: os.Stdout, Log: slog.New(slog.NewTextHandler(t.Output(),
			&slog.HandlerOptions{Level: slog.LevelWarn}))}
	if text := os.Getenv("MOLFABRIC_CHAOS_SEED"); text != "" {
		if o.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MOLFABRIC_CHAOS_SEED: %v", err)
		}
	}
	return o
}

// TestScorecard runs the short form of every row that has one.
func TestScorecard(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Output = filepath.Join(o.Home, "report.json")
	for _, test := range Tests() {
		if !test.Short {
			continue
		}
		t.Run(test.ID, func(t *testing.T) {
			t.Parallel()
			outcome := o.RunOne(t.Context(), test)
			t.Logf("%s: %s after %.1f s: %v %s", test.Fault, outcome.Outcome, outcome.Seconds, outcome.Figures, outcome.Note)
			switch {
			case outcome.Outcome == Skipped && !serverstest.Required():
				t.Skip("SKIPPED: ", outcome.Note)
			case outcome.Outcome == Failed:
				t.Errorf("%s (seed %d): want that %s", outcome.Note, o.Seed, test.Passes)
			}
		})
	}
}
