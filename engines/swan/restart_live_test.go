package swan

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/waves"
)

// attempt runs a shard as a worker would, and kills it and what it has started after the second line for which stop says so.
func attempt(t *testing.T, shard engines.Shard, dir engines.Dir, objects map[string]string, stop func(line string) bool) string {
	t.Helper()
	for _, input := range shard.Inputs {
		content, err := os.ReadFile(objects[input.Object.StorageKey])
		if err != nil {
			t.Fatal(err)
		}
		lay(t, dir.In(input.Name), content)
	}
	if err := os.MkdirAll(dir.Out(""), 0o755); err != nil {
		t.Fatal(err)
	}
	command, err := New().Command(shard, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range command.Files {
		lay(t, filepath.Join(string(dir), name), content)
	}
	process := exec.CommandContext(t.Context(), enginestest.Python(t), command.Argv[1:]...)
	process.Dir, process.Env = string(dir), []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	for name, value := range command.Env {
		process.Env = append(process.Env, name+"="+value)
	}
	var problems bytes.Buffer
	process.Stderr = &problems
	pipe, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	killed, count := false, 0
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if stop(lines.Text()) {
			if count++; count == 2 {
				killed = true
				if err := process.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	if err := process.Wait(); err != nil && !killed {
		t.Fatalf("%v: %s", err, problems.String())
	}
	return printed.String()
}

func lay(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAKilledRunEndsAsAnUndisturbedOne: a run over two hours loses its worker in the middle, goes on from the hot file, and leaves
// byte for byte what a run without windows leaves.
func TestAKilledRunEndsAsAnUndisturbedOne(t *testing.T) {
	t.Parallel()
	needSWAN(t)
	const times = "OUTPUT 20260101.000000 10 MIN\n"
	text := strings.Replace(coarse(deckText(t, "nonstationary")), times, times+
		"POINTS 'P' 2000. 5000. 5000. 5000.\n"+
		"TABLE 'P' HEADER 'pts.tab' TIME XP YP HSIGN OUTPUT 20260101.000000 15 MIN\n"+
		"SPECOUT 'P' SPEC1D ABS 'p.spc' OUTPUT 20260101.000000 20 MIN\n", 1)
	request, objects := requestOf(t, map[string]string{"INPUT": text})
	shards, err := New().Plan(request)
	if err != nil {
		t.Fatal(err)
	}
	never := func(string) bool { return false }
	whole := engines.Dir(t.TempDir())
	attempt(t, shards[0], whole, objects, never)

	request.Recovery = waves.RecoveryResumable
	shards, err = New().Plan(request)
	if err != nil {
		t.Fatal(err)
	}
	shards[0].Params = bytes.Replace(shards[0].Params, []byte(`"windows":[{"begin":"20260101.000000","end":"20260101.010000","firstStep":0},`+
		`{"begin":"20260101.010000","end":"20260101.020000","firstStep":12}]`), []byte(`"windows":[`+
		`{"begin":"20260101.000000","end":"20260101.003000","firstStep":0},{"begin":"20260101.003000","end":"20260101.010000","firstStep":6},`+
		`{"begin":"20260101.010000","end":"20260101.013000","firstStep":12},{"begin":"20260101.013000","end":"20260101.020000","firstStep":18}]`), 1)
	lost := engines.Dir(t.TempDir())
	attempt(t, shards[0], lost, objects, func(line string) bool {
		_, ok := New().Checkpoint(line)
		return ok
	})
	next := engines.Dir(t.TempDir())
	saves, err := os.ReadDir(lost.Out("checkpoint"))
	if err != nil || len(saves) < 4 {
		t.Fatalf("%d files were saved, %v", len(saves), err)
	}
	for _, save := range saves {
		content, err := os.ReadFile(lost.Out("checkpoint/" + save.Name()))
		if err != nil {
			t.Fatal(err)
		}
		lay(t, next.In("resume/"+save.Name()), content)
	}
	printed := attempt(t, shards[0], next, objects, never)
	if !strings.Contains(printed, "step 13 of 24") || strings.Contains(printed, "step 6 of 24") {
		t.Errorf("it did not go on behind the second window:\n%s", printed)
	}
	for _, name := range []string{"hs.mat", "pts.tab", "p.spc", "hot2.dat", "fields.nc"} {
		one, err := os.ReadFile(whole.Out(name))
		if err != nil {
			t.Fatal(err)
		}
		if other, err := os.ReadFile(next.Out(name)); err != nil || !bytes.Equal(one, other) {
			t.Errorf("%s differs: %d and %d bytes, %v", name, len(one), len(other), err)
		}
	}
}
