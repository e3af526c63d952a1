package swan

import (
	"bytes"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/waves"
)

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
	whole := engines.Dir(t.TempDir())
	enginestest.Attempt(t, New(), shards[0], whole, objects, nil)

	request.Recovery = waves.RecoveryResumable
	shards, err = New().Plan(request)
	if err != nil {
		t.Fatal(err)
	}
	shards[0].Params = bytes.Replace(shards[0].Params, []byte(`"windows":[`+
		`{"begin":"20260101.000000","end":"20260101.010000","firstStep":0},`+
		`{"begin":"20260101.010000","end":"20260101.020000","firstStep":12}]`), []byte(`"windows":[`+
		`{"begin":"20260101.000000","end":"20260101.003000","firstStep":0},`+
		`{"begin":"20260101.003000","end":"20260101.010000","firstStep":6},`+
		`{"begin":"20260101.010000","end":"20260101.013000","firstStep":12},`+
		`{"begin":"20260101.013000","end":"20260101.020000","firstStep":18}]`), 1)
	lost, next := engines.Dir(t.TempDir()), engines.Dir(t.TempDir())
	saves := 0
	enginestest.Attempt(t, New(), shards[0], lost, objects, func(line string) bool {
		if _, ok := New().Checkpoint(line); ok {
			saves++
		}
		return saves == 2
	})
	enginestest.Resume(t, lost, next, "*")
	printed := enginestest.Attempt(t, New(), shards[0], next, objects, nil)
	if !strings.Contains(printed, "step 13 of 24") || strings.Contains(printed, "step 6 of 24") {
		t.Errorf("it did not go on behind the second window:\n%s", printed)
	}
	enginestest.Same(t, whole, next, "hs.mat", "pts.tab", "p.spc", "hot2.dat", "fields.nc")
}
