package openmm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// mutate damages foreign files in many small ways, in one process because Python takes long to start. A reader must give a
// result or a Failure, and no damaged save may pass for a whole one.
const mutate = `import random, sys, tempfile
from pathlib import Path
import openmm
import amber, dynamics, protein, saving
from task import Failure

rounds, folder, *names = int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
scraps = [b"\n", b"'", b";", b"_", b"loop_\n", b"nan", b"1e999", b"\xff\xfe", b"ENDMDL\n", b"HETATM", b"CONECT  1 99999\n", b"%FLAG X\n", b"-1", b"<x>"]
chance = random.Random(1)

def damaged(content):
    content = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 20))):
        place, kind = chance.randrange(len(content) + 1), chance.random()
        if kind < 0.4:
            content[place : place + 1] = bytes([chance.randrange(32, 256)])
        elif kind < 0.7:
            del content[place : place + chance.randrange(1, 40)]
        else:
            content[place:place] = chance.choice(scraps)
    return bytes(content)

def structure(path):
    fixer = protein.read_structure(path, "pdb", openmm.Platform.getPlatform("CPU"))
    fixer.findMissingResidues()
    return protein.cut_chains(fixer)

def prmtop(path):
    amber.check_pointers(path, 1_000_000)
    return amber.read_prmtop(path)

readers = {"structure": structure, "prmtop": prmtop, "inpcrd": amber.read_inpcrd, "state": lambda path: dynamics.read_state(path.read_text(errors="replace"), 1262), "save": saving.unpack}
counts = {"prmtop": rounds // 10}
for name in names:
    base, accepted = (folder / name).read_bytes(), 0
    assert readers[name](folder / name) is not None, name
    path = folder / "damaged"
    for _ in range(counts.get(name, rounds)):
        content = damaged(base)
        path.write_bytes(content)
        try:
            found = readers[name](path)
        except Failure:
            continue
        accepted += found is not None
        assert name != "save" or found is None or content == base, "a damaged save passes for a whole one"
    print("accepted", name, accepted)`

// TestParsersOfForeignText mutates everything that a user or a broken disk can put before the programs.
func TestParsersOfForeignText(t *testing.T) {
	t.Parallel()
	python := enginestest.Python(t)
	folder := t.TempDir()
	request := killable()
	shard, inputs := prepared(t, request)
	killed := start(t, shard, engines.Dir(t.TempDir()), inputs, 2)
	files := map[string][]byte{"state": inputs[initialStateFile], "save": nil}
	for name := range killed.told {
		if strings.Contains(name, "state-") {
			files["save"] = readOut(t, killed.dir, name)
		}
	}
	amber := amberObjects(t)
	sources := map[string]string{"structure": trialanine, "prmtop": amber["system.prmtop"], "inpcrd": amber["system.inpcrd"]}
	for name, path := range sources {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = content
	}
	arguments := []string{"-B", "-c", mutate, "100", folder}
	for name, content := range files {
		writeFile(t, filepath.Join(folder, name), content)
		arguments = append(arguments, name)
	}
	command := exec.CommandContext(t.Context(), python, arguments...)
	command.Env = enginestest.ProgramPath(t, "programs")
	if output, err := command.CombinedOutput(); err != nil || strings.Count(string(output), "accepted") != len(files) {
		t.Errorf("%v: %s", err, output)
	}
}
