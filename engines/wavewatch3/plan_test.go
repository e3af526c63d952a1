package wavewatch3

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/internal/casefile"
)

// requestOf is a request with a case that the front door has read.
func requestOf(c *casefile.Case, params string) engines.Request {
	return engines.Request{
		JobID: "job_test", JobName: "a swell", Params: json.RawMessage(params),
		SceneFile: engines.Object{StorageKey: "case.zip", ByteSize: 1000},
		Found:     engines.Found{Contents: map[string]engines.Contents{waves.SceneFile: {Case: c}}},
	}
}

// planOf plans a request and reads its program's parameters.
func planOf(t *testing.T, r engines.Request) (engines.Shard, runParams) {
	t.Helper()
	shards, err := New().Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	var params runParams
	if err := json.Unmarshal(shards[0].Params, &params); err != nil || len(shards) != 1 {
		t.Fatal(err, len(shards))
	}
	return shards[0], params
}

func TestPlan(t *testing.T) {
	t.Parallel()
	shard, params := planOf(t, requestOf(caseOf(t), `{}`))
	if params.Start != startCold || params.Switches != "" || params.Begin != "19680601 000000" || len(params.Windows) != 0 ||
		!params.Drawn || !shard.Essential || shard.ExpectedCPUSeconds <= 0 || shard.MostCPUSeconds < shard.ExpectedCPUSeconds {
		t.Errorf("got %+v %+v", shard, params)
	}
	// The case says itself which build it is for; the request has the last word.
	const digest = "6f18ec03ce1a4cbbdb4b3d23b2d5bb2a6d0d9a2c4b5e8d7f" // any
	c := with(caseOf(t), switchFile, "NOGRB SHRD\n")
	if _, params := planOf(t, requestOf(c, `{}`)); len(params.Switches) != 64 {
		t.Errorf("got %q", params.Switches)
	}
	if _, params := planOf(t, requestOf(c, `{"waveSwitches":"`+digest+`"}`)); params.Switches != digest {
		t.Errorf("got %q", params.Switches)
	}
	if _, err := New().Plan(requestOf(nil, `{}`)); err != nil {
		t.Errorf("an estimate: %v", err)
	}
}

// TestStart: a run goes on from a restart file that is there, and is refused where one is asked for that is not.
func TestStart(t *testing.T) {
	t.Parallel()
	saved := with(without(caseOf(t), startDeck), restartFile, "")
	if _, params := planOf(t, requestOf(saved, `{}`)); params.Start != startRestart {
		t.Errorf("got %q", params.Start)
	}
	if _, params := planOf(t, requestOf(saved, `{"waveStart":"cold"}`)); params.Start != startCold {
		t.Errorf("got %q", params.Start)
	}
	for _, one := range []struct {
		c            *casefile.Case
		params, want string
	}{
		{caseOf(t), `{"waveStart":"restart"}`, "the case has no restart.ww3"},
		{with(caseOf(t), restartFile, ""), `{}`, "the case has both"},
	} {
		var invalid *engines.InvalidError
		if _, err := New().Plan(requestOf(one.c, one.params)); !errors.As(err, &invalid) || invalid.Field != "waveStart" ||
			!strings.Contains(err.Error(), one.want) {
			t.Errorf("got %v, want %s", err, one.want)
		}
	}
	many := requestOf(caseOf(t), `{}`)
	many.TaskCount = 2
	if _, err := New().Plan(many); err == nil || !strings.Contains(err.Error(), "is one task") {
		t.Errorf("two tasks: got %v", err)
	}
	long := requestOf(caseOf(t, [2]string{"RECT%NX = 360", "RECT%NX = 3000000"}, [2]string{"DTXY  = 3600.", "DTXY  = 1."}), `{}`)
	if _, err := New().Plan(long); err == nil || !strings.Contains(err.Error(), "hours of a core") {
		t.Errorf("too long: got %v", err)
	}
}

// TestWindows: windows meet at times of outputs behind an even number of steps, each has the outputs behind the one before, and
// together they have all of them.
func TestWindows(t *testing.T) {
	t.Parallel()
	resumable := func(changes ...[2]string) []window {
		r := requestOf(caseOf(t, changes...), `{}`)
		r.Recovery = waves.RecoveryResumable
		_, params := planOf(t, r)
		return params.Windows
	}
	same := func(name string, got, want []window) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: got %d windows %+v, want %d", name, len(got), got, len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: window %d is %+v, want %+v", name, i, got[i], want[i])
			}
		}
	}
	none := [3]string{"19680613 000000", "0", "19680613 000000"}
	same("own restart", resumable(), []window{
		{Begin: "19680601 000000", End: "19680613 000000", Field: [3]string{"19680601 000000", "86400", "19680613 000000"},
			Point:   [3]string{"19680601 000000", "86400", "19680613 000000"},
			Restart: [3]string{"19680613 000000", "3600", "19680613 000000"}, Own: true},
		{Begin: "19680613 000000", End: "19680625 000000", Field: [3]string{"19680614 000000", "86400", "19680625 000000"},
			Point: [3]string{"19680614 000000", "86400", "19680625 000000"}, Restart: none},
	})
	restart := [2]string{"  DATE%POINT", "  DATE%RESTART = '19680605 000000' '432000' '19680624 000000'\n  DATE%POINT"}
	same("the case's restarts", resumable(restart), []window{
		{Begin: "19680601 000000", End: "19680610 000000", Field: [3]string{"19680601 000000", "86400", "19680610 000000"},
			Point:   [3]string{"19680601 000000", "86400", "19680610 000000"},
			Restart: [3]string{"19680605 000000", "432000", "19680610 000000"}},
		{Begin: "19680610 000000", End: "19680625 000000", Field: [3]string{"19680611 000000", "86400", "19680625 000000"},
			Point:   [3]string{"19680611 000000", "86400", "19680625 000000"},
			Restart: [3]string{"19680615 000000", "432000", "19680624 000000"}},
	})
	// Behind an odd number of steps there is no cut, and none where an output has no parts that can be joined.
	odd := resumable([2]string{"DTMAX = 3600.", "DTMAX = 86400."},
		[2]string{"DOMAIN%STOP  = '19680625", "DOMAIN%STOP  = '19680604"})
	if len(odd) != 2 || odd[1].Begin != "19680603 000000" {
		t.Errorf("got %+v", odd)
	}
	parts := [2]string{"  DATE%POINT", "  DATE%PARTITION = '19680601 000000' '3600' '19680625 000000'\n  DATE%POINT"}
	same("partitions", resumable(parts), nil)
}
