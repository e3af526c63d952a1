package fpocket

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// mutate damages foreign files in many small ways, in one process because Python takes long to start. What a reader accepts must be
// writable as PDB in 80 columns; what it refuses must be a Failure.
const mutate = `import random, sys, tempfile
from pathlib import Path
import detect, structure
from task import Failure

rounds, recorded, *bases = int(sys.argv[1]), Path(sys.argv[2]), *(Path(name).read_bytes() for name in sys.argv[3:])
scraps = [b"\n", b"'", b";", b"_", b"loop_\n", b"data_y\n", b"nan", b"1e999", b"\xff\xfe", b"\xc3\xa9", b"MODEL 2\n", b"ENDMDL\n", b"HETATM", b"ATOM  "]
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

accepted = 0
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "structure"
    for base in bases:
        for _ in range(rounds):
            path.write_bytes(damaged(base))
            try:
                read = structure.read_structure(path)
            except Failure:
                continue
            accepted += 1
            author = structure.AuthorPdb(read.residues())
            for line in [*structure.working_pdb(read)[0].splitlines()[1:-2], *(author.line(1, atom) for atom in read.atoms)]:
                assert len(line) == 80, line
for reader, name in ((detect.read_info, "protein_info.txt"), (detect.read_spheres, "pockets/pocket1_vert.pqr"), (lambda text: detect.read_contacts(text, 281), "pockets/pocket1_atm.pdb")):
    base = (recorded / name).read_bytes()
    for _ in range(rounds):
        try:
            reader(damaged(base).decode("utf-8", errors="replace"))
        except Failure:
            pass
print("accepted", accepted)`

// TestParsersOfForeignText mutates structures and recorded output of fpocket; no reader may end with anything but a result or a
// Failure.
func TestParsersOfForeignText(t *testing.T) {
	t.Parallel()
	python := enginestest.Python(t)
	whole, err := os.ReadFile(carved)
	if err != nil {
		t.Fatal(err)
	}
	long := t.TempDir() + "/long.cif"
	writeFile(t, long, []byte(mmcif(string(whole))))
	rounds := "300"
	if testing.Short() {
		rounds = "30"
	}
	command := exec.CommandContext(t.Context(), python, "-B", "-c", mutate, rounds, "testdata/fpocket-4.0", carved, long)
	command.Env = enginestest.ProgramPath(t, "../pockets")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "accepted") || strings.Contains(string(output), "accepted 0\n") {
		t.Errorf("%v: %s", err, output)
	}
}
