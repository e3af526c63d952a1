package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/engines/wavewatch3"
	"github.com/molfabric/molfabric/internal/casefile/casetest"
)

const waveWatchCases = "../../engines/wavewatch3/testdata/"

// buildsOf finds an operator's builds of WAVEWATCH III, of which none can be installed by a package, and one with a switch.
func buildsOf(t *testing.T, having string) (folder, digest string) {
	t.Helper()
	folder = os.Getenv(wavewatch3.FolderVariable)
	if folder == "" {
		t.Skip("needs an operator's binaries of WAVEWATCH III: set " + wavewatch3.FolderVariable)
	}
	found, err := filepath.Glob(filepath.Join(folder, "*", "switch"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); strings.Contains(" "+string(text)+" ", " "+having+" ") {
			return folder, hex.EncodeToString(sum[:])
		}
	}
	t.Skip("no build in " + folder + " has the switch " + having)
	return "", ""
}

// waveCase copies a case of testdata, with texts of its decks changed, and returns its folder.
func waveCase(t *testing.T, name string, changes ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(folder, os.DirFS(waveWatchCases+name)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.NewReplacer(changes...).Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestWaveWatch is the path of an oceanographer: decks that are refused with their line, a restart that is not there, a build that
// must be named, and a swell that runs once round the globe to its report.
func TestWaveWatch(t *testing.T) {
	t.Parallel()
	builds, digest := buildsOf(t, "ST0")
	sh := start(t, wavewatch3.FolderVariable+"="+builds).signIn()
	_, refused := sh.want(5, "", "waves", waveCase(t, "tp1.1", "'equator.depth'", "'../equator.depth'"))
	sh.contains(refused, "ww3_grid.nml, line 42", "outside the case")
	_, refused = sh.want(5, "", "waves", waveCase(t, "tp1.1"), "--start", "restart")
	sh.contains(refused, "waveStart", "restart.ww3")

	done, _ := sh.want(0, "", "waves", waveCase(t, "tp1.1"), "--switches", digest[:12], "--out", "results")
	sh.contains(done, "576 steps", "cold start (idealized)", "hs", "Bill", "report.html")
	for _, name := range []string{"report.html", "hs.png", "ww3.196806.nc", "ww3.196806_spec.nc", "log.ww3", "mod_def.ww3"} {
		if _, err := os.Stat(filepath.Join(sh.dir, "results", name)); err != nil {
			t.Error(err)
		}
	}
	_, failed := sh.want(7, "", "waves", waveCase(t, "tp1.1"), "--switches", "0123456789ab")
	sh.contains(failed, "no build of the switches 0123456789ab")
}

// onBuilds is the engine on a machine with an operator's builds.
type onBuilds struct {
	wavewatch3.WaveWatch
	folder string
}

func (e onBuilds) Command(shard engines.Shard, dir engines.Dir) (engines.Command, error) {
	command, err := e.WaveWatch.Command(shard, dir)
	command.Env[wavewatch3.FolderVariable] = e.folder
	return command, err
}

// resumableRequest is a request for a case that is cut into windows.
func resumableRequest(t *testing.T, folder, digest string) (engines.Request, map[string]string) {
	t.Helper()
	path, read := casetest.Read(t, os.DirFS(folder))
	params, err := json.Marshal(map[string]string{"waveSwitches": digest})
	if err != nil {
		t.Fatal(err)
	}
	return engines.Request{
		JobID: "job_test", JobName: "waves", Params: params, Recovery: waves.RecoveryResumable,
		SceneFile: engines.Object{StorageKey: "case.zip", ByteSize: 1000},
		Found:     engines.Found{Contents: map[string]engines.Contents{waves.SceneFile: {Case: read}}},
	}, map[string]string{"case.zip": path}
}

// windOf writes a wind that rises and turns over five hours.
const windOf = `
import sys
import numpy as np
from scipy.io import netcdf_file
f = netcdf_file(sys.argv[1], "w")
x, y, t = np.arange(6) * 10000.0, np.arange(5) * 10000.0, np.arange(5) / 24.0
u = 12 + 4 * np.sin(t * 12)[:, None, None] + (y / 20000)[None, :, None] + 0 * x[None, None, :]
for name, dimensions, values, units in (
    ("x", ("x",), x, "m"), ("y", ("y",), y, "m"), ("time", ("time",), t, "days since 2026-01-01 00:00:00"),
    ("u10", ("time", "y", "x"), u, "m s-1"), ("v10", ("time", "y", "x"), 2 + 0 * u, "m s-1"),
):
    if len(dimensions) == 1:
        f.createDimension(name, len(values))
    variable = f.createVariable(name, "f8" if len(dimensions) == 1 else "f4", dimensions)
    variable._FillValue = np.array(9.9e36, variable.data.dtype)
    variable.units = units
    if name == "time":
        variable.calendar = "standard"
    variable[:] = values
f.close()
`

// TestAKilledWaveWatchEndsAsAnUndisturbedOne: a run loses its worker in the middle, goes on from the restart file, and leaves byte
// for byte the netCDF and the restart files of a run without windows: without source terms, and with wind and those of ST4.
func TestAKilledWaveWatchEndsAsAnUndisturbedOne(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		having, wind string
		same         []string
	}{
		"tp1.1": {"ST0", "", []string{"ww3.196806.nc", "ww3.196806_spec.nc", "mod_def.ww3"}},
		"bay": {"ST4", "wind.nc",
			[]string{"ww3.202601.nc", "ww3.202601_spec.nc", "restart001.ww3", "restart004.ww3", "mod_def.ww3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			builds, digest := buildsOf(t, one.having)
			folder := waveCase(t, name)
			if one.wind != "" {
				command := exec.CommandContext(t.Context(), enginestest.Python(t), "-c", windOf, filepath.Join(folder, one.wind))
				if said, err := command.CombinedOutput(); err != nil {
					t.Fatal(err, string(said))
				}
			}
			request, objects := resumableRequest(t, folder, digest)
			engine := onBuilds{folder: builds}
			request.Recovery = ""
			shards, err := engine.Plan(request)
			if err != nil {
				t.Fatal(err)
			}
			whole, lost, next := engines.Dir(t.TempDir()), engines.Dir(t.TempDir()), engines.Dir(t.TempDir())
			enginestest.Attempt(t, engine, shards[0], whole, objects, nil)

			request.Recovery = waves.RecoveryResumable
			if shards, err = engine.Plan(request); err != nil {
				t.Fatal(err)
			}
			enginestest.Attempt(t, engine, shards[0], lost, objects, func(line string) bool {
				_, saved := engine.Checkpoint(line)
				return saved
			})
			enginestest.Resume(t, lost, next, "*")
			printed := enginestest.Attempt(t, engine, shards[0], next, objects, nil)
			if strings.Contains(printed, "window_0000.json") || !strings.Contains(printed, "window_0001.json") {
				t.Errorf("it did not go on behind the first window:\n%s", printed)
			}
			if _, err := engine.Collect(shards[0], next); err != nil {
				t.Error(err)
			}
			enginestest.Same(t, whole, next, one.same...)
		})
	}
}
