package abl1

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// residues of a structure's lines: how many atoms each has, by its name, chain and number.
func residues(text []byte) map[string]int {
	found := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM") {
			found[strings.Join(strings.Fields(line[17:26]), " ")]++
		}
	}
	return found
}

func TestNumberingIsTheLiterature(t *testing.T) {
	t.Parallel()
	structure, receptor := residues(Entry()), residues(Prepared())
	for _, residue := range []string{"MET A 318", "THR A 315", "GLU A 286", "ASP A 381", "PHE A 382", "MET A 225", "GLN A 498"} {
		if structure[residue] == 0 || receptor[residue] == 0 {
			t.Errorf("%s has %d atoms in the entry and %d in the receptor", residue, structure[residue], receptor[residue])
		}
	}
	if structure["STI A 201"] != 37 || receptor["STI A 201"] != 0 {
		t.Errorf("imatinib has %d atoms in the entry, want 37, and %d in the receptor, want none",
			structure["STI A 201"], receptor["STI A 201"])
	}
	if len(structure) != 275 || len(receptor) != 274 {
		t.Errorf("got %d and %d residues, want 274 and in the entry imatinib", len(structure), len(receptor))
	}
}

func TestSiteIsImatinibs(t *testing.T) {
	t.Parallel()
	low, high := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}, [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
	for line := range strings.Lines(string(Entry())) {
		if !strings.HasPrefix(line, "HETATM") {
			continue
		}
		for axis := range low {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[30+8*axis:38+8*axis]), 64)
			if err != nil {
				t.Fatal(err)
			}
			low[axis], high[axis] = min(low[axis], value), max(high[axis], value)
		}
	}
	for axis := range low {
		if middle := (low[axis] + high[axis]) / 2; math.Abs(middle-SiteCenterAngstrom[axis]) > 0.01 {
			t.Errorf("axis %d: imatinib's middle is %.3f, the site's %.3f", axis, middle, SiteCenterAngstrom[axis])
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() + "/new"
	for _, one := range []struct {
		write func(string) (string, error)
		want  []byte
	}{{WriteEntry, Entry()}, {WritePrepared, Prepared()}} {
		path, err := one.write(folder)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != string(one.want) {
			t.Errorf("%s holds %d bytes, %v, want %d", path, len(got), err, len(one.want))
		}
	}
}
