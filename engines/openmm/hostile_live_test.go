package openmm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// farApart is a structure of 5 KB whose two peptides lie so far apart that their box would hold 200,000 atoms.
func farApart(t *testing.T) enginestest.LiveCase {
	t.Helper()
	whole, err := os.ReadFile(trialanine)
	if err != nil {
		t.Fatal(err)
	}
	var atoms [2]strings.Builder
	for line := range strings.Lines(string(whole)) {
		if !strings.HasPrefix(line, "ATOM") {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(line[30:38]), 64)
		if err != nil {
			t.Fatal(err)
		}
		atoms[0].WriteString(line[:21] + "A" + line[22:])
		atoms[1].WriteString(fmt.Sprintf("%sB%s%8.3f%s", line[:21], line[22:30], x+110, line[38:]))
	}
	path := writeFile(t, filepath.Join(t.TempDir(), "far.pdb"), []byte(atoms[0].String()+"TER\n"+atoms[1].String()+"TER\nEND\n"))
	request := smallRun(func(r *DynamicsRequest) { r.Input.Protein.Coordinates.ByteSize = 5_400 })
	return enginestest.LiveCase{
		Name: "two peptides far apart", Request: request, Objects: map[string]string{"protein.pdb": path},
		Check: wantRefused("SYSTEM_LARGER_THAN_PLANNED", "25,", "bring them together", "solvated already"),
	}
}

// bombs are prmtops that state numbers which their reader would believe.
func bombs(t *testing.T, objects map[string]string) []enginestest.LiveCase {
	t.Helper()
	prmtop, err := os.ReadFile(objects["system.prmtop"])
	if err != nil {
		t.Fatal(err)
	}
	const flag = "%FLAG POINTERS"
	start := bytes.Index(prmtop, []byte(flag))
	numbers := start + bytes.Index(prmtop[start:], []byte("8)")) + 2
	numbers += bytes.IndexByte(prmtop[numbers:], '\n') + 1
	with := func(place int, text string) []byte { // the number at a place of the section, 10 to a line
		at := numbers + 8*place + place/10
		return append(append(bytes.Clone(prmtop[:at]), fmt.Sprintf("%8s", text)...), prmtop[at+8:]...)
	}
	second := append(bytes.Clone(prmtop), []byte(flag+"\n%FORMAT(10I8)\n99999999\n")...)
	narrow := bytes.Replace(prmtop, []byte("%FORMAT(10I8)"), []byte("%FORMAT(40I2)"), 1)
	var cases []enginestest.LiveCase
	for _, bad := range []struct {
		name    string
		content []byte
		word    string
	}{
		{"a bomb of atoms", with(0, "99999999"), "NATOM"},
		{"no atoms", with(0, "0"), "NATOM"},
		{"fewer than no atoms", with(0, "-5"), "NATOM"},
		{"a bomb of residues", with(11, "99999999"), "NRES"},
		{"a bomb of types", with(1, "300000"), "300,000"},
		{"a bomb of bonds", with(2, "99999999"), "99,999,999"},
		{"pointers that are no numbers", with(0, "1e9"), "number"},
		{"a second section", second, "more than one"},
		{"narrow columns", narrow, "10I8"},
	} {
		path := writeFile(t, filepath.Join(t.TempDir(), "p"), bad.content)
		cases = append(cases, enginestest.LiveCase{
			Name: bad.name, Request: smallRun(amberInput), Check: wantRefused("PRMTOP_UNREADABLE", bad.word),
			Objects: map[string]string{"system.prmtop": path, "system.inpcrd": objects["system.inpcrd"]},
		})
	}
	return cases
}

// TestForeignStates restarts from texts that are no states. Several would run a program if OpenMM read them: none must.
func TestForeignStates(t *testing.T) {
	t.Parallel()
	shard, inputs := prepared(t, smallRun(unchanged))
	folder := t.TempDir()
	state := writeFile(t, filepath.Join(folder, "state.xml"), inputs[initialStateFile])
	foreign, ran := filepath.Join(folder, "foreign"), filepath.Join(folder, "ran")
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "testdata/foreign_states.py", state, foreign, ran)
	command.Env = enginestest.ProgramPath(t, "programs")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Fatal("the program in the states is harmless: OpenMM did not run it where it should have")
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(foreign)
	if err != nil || len(files) < 15 {
		t.Fatalf("got %d texts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file.Name(), ".xml"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join(foreign, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files := map[string][]byte{"restart": content}
			for name, content := range inputs {
				files[name] = content
			}
			made := start(t, restartOf(t, shard, FormatStateXML, nil), engines.Dir(t.TempDir()), files, -1)
			if file.Name() == "force in a state.xml" { // what is no number of a state is passed over
				if made.failure != nil {
					t.Error(made.failure)
				}
			} else if made.failure == nil || made.failure.Class != engines.UserInput || made.failure.Code != "RESTART_UNUSABLE" {
				t.Errorf("got %v, want USER_INPUT RESTART_UNUSABLE", made.failure)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the program in the state was run")
			}
		})
	}
}
