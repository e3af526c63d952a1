package python

import (
	"errors"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/molfabric/molfabric/engines"
)

var counting = Program{
	Engine: "counting", Mains: []string{"count.py"}, Flags: []string{"-S"},
	Sources: []Source{{Files: fstest.MapFS{"programs/count.py": {}, "programs/words.py": {}, "other/not.py": {}},
		From: "programs"}},
	Name: "The counter", Requirements: "counters", LessMemory: "fewer numbers", MemorySigns: []string{"no more room"},
}

func TestCommand(t *testing.T) {
	t.Parallel()
	shard := engines.Shard{Name: "one", Params: []byte(`{"program":"count.py"}`)}
	main, err := counting.Main(shard)
	if err != nil {
		t.Fatal(err)
	}
	command, err := counting.Command(shard, main, Environment(map[string]string{"THREADS": "1"}),
		Source{Files: fstest.MapFS{"add.py": {}}, Into: "adding"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"python", "-B", "-S", "program/count.py", "--request", "request.json"}; !slices.Equal(command.Argv, want) {
		t.Errorf("got %q, want %q", command.Argv, want)
	}
	want := []string{"program/adding/add.py", "program/adding/task.py", "program/count.py", "program/task.py", "program/words.py",
		"request.json"}
	var got []string
	for name := range command.Files {
		got = append(got, name)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got the files %q, want %q", got, want)
	}
	if command.Env["THREADS"] != "1" || command.Env["PYTHONHASHSEED"] != "0" {
		t.Errorf("got %v", command.Env)
	}
}

func TestMainRefuses(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"program":"words.py"}`: `counting: shard one names the unknown program "words.py"`,
		`{}`:                     `counting: shard one names the unknown program ""`,
		`{`:                      "counting: reading the parameters of shard one: unexpected end of JSON input",
	} {
		if _, err := counting.Main(engines.Shard{Name: "one", Params: []byte(params)}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", params, err, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	const traceback = "Traceback (most recent call last):\n"
	for _, c := range []struct {
		name, written, log string
		exitCode           int
		want               string
	}{
		{"understood", `{"class":"USER_INPUT","code":"TOO_FEW","message":"Give more."}`, "", failureStatus, "TOO_FEW"},
		{"not written", "", "", failureStatus, "FAILURE_UNREADABLE"},
		{"cut off", `{"class":"USER_INPUT","code":"TOO_F`, "", failureStatus, "FAILURE_UNREADABLE"},
		{"of no class", `{"class":"WEATHER","code":"RAIN","message":"It rains."}`, "", failureStatus, "FAILURE_UNREADABLE"},
		{"package", "", traceback + "ModuleNotFoundError: numpy", 1, "PROGRAM_MISSING"},
		{"memory", "", traceback + "MemoryError", 1, "OUT_OF_MEMORY"},
		{"memory of what it starts", "", "no more room", 1, "OUT_OF_MEMORY"},
		{"mistake", "", traceback + "ZeroDivisionError", 1, "PROGRAM_ERROR"},
		{"unknown", "", "ended", 3, ""},
	} {
		dir := engines.Dir(t.TempDir())
		if c.written != "" {
			leave(t, dir, failureFile, c.written)
		}
		got := counting.Explain(dir, c.exitCode, c.log)
		if c.want == "" && got != nil || c.want != "" && (got == nil || got.Code != c.want) {
			t.Errorf("%s: got %+v, want %q", c.name, got, c.want)
		}
	}
}

func TestReadResultRefuses(t *testing.T) {
	t.Parallel()
	for name, written := range map[string]string{"cut off": `{"summary":{`, "of no program": `{"summary":{},"programs":{}}`} {
		dir := engines.Dir(t.TempDir())
		leave(t, dir, ResultFile, written)
		var failure *engines.Failure
		if _, err := counting.ReadResult(dir); !errors.As(err, &failure) || failure.Code != "OUTPUT_INCOMPLETE" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAtLeast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, oldest string
		want            bool
	}{
		{"1.2.5", "1.2.5", true}, {"1.2.3", "1.2.5", false}, {"1.10", "1.9", true}, {"2", "1.2.5", true}, {"1.2", "1.2.5", false},
		{"2.12.0+", "2.10", true}, {"2.9.0+", "2.10", false}, {"", "0.1", false}, {"unknown", "0.1", false},
	} {
		if got := AtLeast(c.version, c.oldest); got != c.want {
			t.Errorf("AtLeast(%q, %q) is %v", c.version, c.oldest, got)
		}
	}
}

func leave(t *testing.T, dir engines.Dir, name, content string) {
	t.Helper()
	if err := os.MkdirAll(dir.Out(""), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Out(name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
