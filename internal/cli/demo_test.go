package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/mol"
)

func TestReadTarget(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"ABL1_target.pdbqt": "ATOM\n", "ABL1_conf.txt": "center_x = 15.851\ncenter_y = 14.647\ncenter_z =  3.904\n\nsize_x = 30.000\n",
		"X_target.pdbqt": "ATOM\n", "X_conf.txt": "center_x = 1\ncenter_y = ?\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readTarget(folder, "ABL1")
	if want := (mol.BoxCenter{15.851, 14.647, 3.904}); err != nil || got.center != want || string(got.pdbqt) != "ATOM\n" {
		t.Errorf("got %+v, %v; want centre %v", got, err, want)
	}
	for _, name := range []string{"X", "missing"} {
		if _, err := readTarget(folder, name); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestWallTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		cpu            time.Duration
		ligands, cores int
		want           time.Duration
		text           string
	}{
		{400 * time.Second, 5, 1, 400 * time.Second, "7 minutes"},
		{400 * time.Second, 5, 2, 240 * time.Second, "4 minutes"},
		{400 * time.Second, 5, 64, 80 * time.Second, "2 minutes"},
		{10 * time.Second, 5, 2, 6 * time.Second, "a minute"},
	}
	for _, test := range tests {
		got := wallTime(test.cpu, test.ligands, test.cores)
		if text := minutes(got); got != test.want || text != test.text {
			t.Errorf("%v for %d ligands on %d cores: got %v (%s), want %v (%s)", test.cpu, test.ligands, test.cores, got, text, test.want, test.text)
		}
	}
}

func TestDemoLigandsAreInOrder(t *testing.T) {
	t.Parallel()
	for _, l := range demoLigands {
		if err := l.check(); err != nil {
			t.Errorf("%s: %v", l.label, err)
		}
	}
}
