package wavewatch3

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/internal/casefile"
	"github.com/molfabric/molfabric/internal/casefile/casetest"
)

// recorded is the engine on a machine with builds in a folder.
type recorded struct {
	WaveWatch
	folder string
}

func (r recorded) Command(shard engines.Shard, dir engines.Dir) (engines.Command, error) {
	command, err := r.WaveWatch.Command(shard, dir)
	command.Env[FolderVariable] = r.folder
	return command, err
}

const switches = "NOGRB SHRD PR3 UQ FLX2 LN0 ST0 NL0 BT0 DB0 TR0 BS0 IC0 IS0 REF0 WNT1 WNX1 CRT1 CRX1 O0 O1 O2 O3 O4 O5 O6 O7 O10 O11"

// played are programs that print and leave what the real ones did for the case of testdata/tp1.1, as scripts of the shell; $R is
// where that lies.
func played() map[string]string {
	const raw = `printf '\000\000\000\004abcd\000\000\000\004' > `
	scripts := map[string]string{
		"ww3_grid":  "echo grid > mod_def.ww3",
		"ww3_strt":  "echo start > restart.ww3",
		"ww3_shel":  "cp $R/log.ww3 .; " + raw + "out_grd.ww3; " + raw + "out_pnt.ww3",
		"ww3_ounf":  "cp $R/ww3.196806.nc .",
		"ww3_ounp":  "cp $R/ww3.196806_spec.nc .",
		"ww3_prnc":  "exit 1",
		"ww3_bounc": "exit 1",
	}
	for _, name := range []string{"ww3_grid", "ww3_strt", "ww3_shel", "ww3_ounf", "ww3_ounp"} {
		scripts[name] += "; cat $R/" + name + ".txt"
	}
	return scripts
}

// lay lays a build below a folder, whose name is the digest of its switch file unless it is given one.
func lay(t *testing.T, folder, switchText, name string, scripts map[string]string) string {
	t.Helper()
	digest := sha256.Sum256([]byte(switchText))
	if name == "" {
		name = hex.EncodeToString(digest[:])
	}
	where, err := filepath.Abs("testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(folder, name, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{filepath.Join(folder, name, "switch"): switchText}
	for program, script := range scripts {
		files[filepath.Join(bin, program)] = "#!/bin/sh\nR=" + where + "\n" + script + "\n"
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// packed is a case as an archive, and a request for it as the front door reads it.
func packed(t *testing.T, c *casefile.Case, params string) (engines.Request, map[string]string) {
	t.Helper()
	files := map[string]string{}
	for _, file := range c.Files {
		files["swell/"+file.Name] = string(file.Text)
	}
	path, read := casetest.Read(t, casetest.Files(files))
	return requestOf(read, params), map[string]string{"case.zip": path}
}

// TestRecorded runs the chain of programs with what real ones have printed and left, and reads their outputs.
func TestRecorded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	digest := lay(t, folder, switches+"\n", "", played())
	request, objects := packed(t, caseOf(t), `{}`)
	outcome := enginestest.Drive(t, recorded{folder: folder}, request, objects)
	if failure := outcome.Failures["run"]; failure != nil {
		t.Fatal(failure)
	}
	result := outcome.Results["run"]
	if got := result.Programs; got["wavewatch3"] != "7.14" || got["wavewatch3-switches"] != digest ||
		got["wavewatch3-byte-order"] != "big" {
		t.Errorf("the provenance: %v", got)
	}
	content, err := os.ReadFile(outcome.Dirs["run"].Out(waves.ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Started string
		Steps   int
		Checks  []struct{ Holds bool }
		Fields  map[string]struct {
			Times int
			Most  float64
		}
	}
	if err := json.Unmarshal(content, &found); err != nil {
		t.Fatal(err)
	}
	if found.Started != "cold start (idealized)" || found.Steps != 576 || len(found.Checks) != 3 || found.Fields["hs"].Times != 5 ||
		found.Fields["hs"].Most < 1.9 || found.Fields["hs"].Most > 2 {
		t.Errorf("got %s", content)
	}
	for _, one := range found.Checks {
		if !one.Holds {
			t.Errorf("a check does not hold: %s", content)
		}
	}
	names := map[string]bool{}
	for _, artifact := range result.Artifacts {
		names[artifact.Name] = true
	}
	for _, want := range []string{"ww3.196806.nc", "ww3.196806_spec.nc", "hs.png", "hs.svg", "hs.gif", "log.ww3", "mod_def.ww3",
		"report.html", "ww3_shel.txt"} {
		if !names[want] {
			t.Errorf("%s is missing among %v", want, names)
		}
	}
	for _, inner := range []string{"restart.ww3", "out_grd.ww3", "out_pnt.ww3", "ww3_shel.nml"} {
		if names[inner] {
			t.Errorf("%s is no result", inner)
		}
	}
}

// TestProgramsThatFail: what went wrong is said in the program's own words, also where it ended as if all were well.
func TestProgramsThatFail(t *testing.T) {
	t.Parallel()
	const refusal = `printf ' *** WAVEWATCH III ERROR IN W3FLDO : \n     ERROR IN OPENING WND FILE, IOSTAT =     2\n\n  End of program \n'`
	saved := `sed 's/cold start (idealized)/cold start (calm)/' $R/log.ww3 > log.ww3; cat $R/ww3_shel.txt`
	for name, one := range map[string]struct {
		program, script, params, code string
		class                         engines.FailureClass
		says                          string
	}{
		"exit status":     {"ww3_grid", "echo ' *** WAVEWATCH III ERROR IN W3GRID : '; echo '     NO GRID'; exit 13", `{}`, "WAVEWATCH_ERROR", engines.UserInput, "ww3_grid failed with exit status 13: error IN W3GRID : NO GRID"},
		"all as if well":  {"ww3_shel", "cp $R/log.ww3 .; " + refusal, `{}`, "WAVEWATCH_ERROR", engines.UserInput, "OPENING WND FILE"},
		"no end":          {"ww3_strt", "echo start > restart.ww3", `{}`, "WAVEWATCH_ERROR", engines.UserInput, "ww3_strt failed with exit status 0"},
		"nothing left":    {"ww3_grid", "cat $R/ww3_grid.txt", `{}`, "WAVEWATCH_NO_OUTPUT", engines.UserInput, "left no mod_def.ww3"},
		"signal":          {"ww3_shel", "kill -SEGV $$", `{}`, "WAVEWATCH_DIED", engines.Executor, "signal 11"},
		"ended early":     {"ww3_shel", "cp $R/log.ww3 .; grep -v '1968/06/2[45]' $R/ww3_shel.txt", `{}`, "WAVEWATCH_ENDED_EARLY", engines.UserInput, "ended at 1968/06/01 23:00:00"},
		"no raw output":   {"ww3_shel", "cp $R/log.ww3 .; cat $R/ww3_shel.txt", `{}`, "WAVEWATCH_NO_OUTPUT", engines.UserInput, "ww3_shel wrote no out_grd.ww3"},
		"cold after all":  {"ww3_shel", saved, `{"waveStart":"restart"}`, "WAVEWATCH_COLD_START", engines.UserInput, "cold start (calm)"},
		"no such program": {"ww3_ounp", "", `{}`, "WAVEWATCH_PROGRAM_MISSING", engines.Executor, "has no bin/ww3_ounp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scripts := played()
			if scripts[one.program] = one.script; one.script == "" {
				delete(scripts, one.program)
			}
			folder := t.TempDir()
			lay(t, folder, switches, "", scripts)
			c := caseOf(t)
			if strings.Contains(one.params, "restart") {
				c = with(c, restartFile, "a restart")
			}
			request, objects := packed(t, c, one.params)
			outcome := enginestest.Drive(t, recorded{folder: folder}, request, objects)
			failure := outcome.Failures["run"]
			if failure == nil || failure.Code != one.code || failure.Class != one.class ||
				!strings.Contains(failure.Message, one.says) {
				t.Errorf("got %+v, want %s: %s", failure, one.code, one.says)
			}
		})
	}
}

// TestChoosingABuild: a build is used only where its folder's name agrees with its switch file; of several the job must say which.
func TestChoosingABuild(t *testing.T) {
	t.Parallel()
	other := strings.Replace(switches, "PR3 UQ", "PR1", 1)
	for name, one := range map[string]struct {
		folders [][2]string // switch file and name
		params  string
		code    string
		says    string
		unbegun bool
	}{
		"none":         {nil, `{}`, "WAVEWATCH_MISSING", "no build", false},
		"another name": {[][2]string{{switches, "0123456789ab"}}, `{}`, "WAVEWATCH_MISSING", "0123456789ab: its switch file has the SHA-256", false},
		"short name":   {[][2]string{{switches, digestOf(switches)[:11]}}, `{}`, "WAVEWATCH_MISSING", "first 12 digits", false},
		"MPI":          {[][2]string{{"DIST MPI", ""}}, `{}`, "WAVEWATCH_MISSING", "built for MPI", false},
		"which":        {[][2]string{{switches, ""}, {other, ""}}, `{}`, "WAVEWATCH_WHICH_BUILD", digestOf(other)[:12], true},
		"not that":     {[][2]string{{switches, ""}}, `{"waveSwitches":"0123456789ab"}`, "WAVEWATCH_NO_SUCH_BUILD", "0123456789ab", true},
		"this one":     {[][2]string{{switches, digestOf(switches)[:12]}, {other, ""}}, `{"waveSwitches":"` + digestOf(switches) + `"}`, "WAVEWATCH_ERROR", "stops here", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for _, build := range one.folders {
				lay(t, folder, build[0], build[1], map[string]string{"ww3_shel": "", "ww3_grid": "echo an error stops here; exit 1",
					"ww3_strt": "", "ww3_ounf": "", "ww3_ounp": ""})
			}
			request, objects := packed(t, caseOf(t), one.params)
			failure := enginestest.Drive(t, recorded{folder: folder}, request, objects).Failures["run"]
			if failure == nil || failure.Code != one.code || failure.Unbegun != one.unbegun ||
				!strings.Contains(failure.Message, one.says) {
				t.Errorf("got %+v, want %s: %s", failure, one.code, one.says)
			}
		})
	}
}

func digestOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// TestProbe: an engine is offered where one of its builds starts, and the others are named with what is wrong.
func TestProbe(t *testing.T) {
	t.Parallel()
	if err := checkBuilds(map[string]string{"numpy": "2"}); err == nil || !strings.Contains(err.Error(), FolderVariable) {
		t.Errorf("got %v", err)
	}
	found := map[string]string{"refused b": "it has no program bin/ww3_grid", "refused a": "it has no switch file, `switch`"}
	if err := checkBuilds(found); err == nil || !strings.Contains(err.Error(), "a: it has no switch file, `switch`; b: it has no program") {
		t.Errorf("got %v", err)
	}
	found["build 0123456789ab"] = switches
	if err := checkBuilds(found); err != nil || len(Refused(found)) != 2 {
		t.Errorf("got %v, %v", err, Refused(found))
	}
}
