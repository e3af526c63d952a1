package cli

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
)

func TestWallTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		cpu            time.Duration
		ligands, cores int
		want           time.Duration
		text           string
	}{
		{400 * time.Second, 5, 1, 400 * time.Second, "7 minutes"},
		{400 * time.Second, 5, 2, 240 * time.Second, "4 minutes"},
		{400 * time.Second, 5, 64, 80 * time.Second, "2 minutes"},
		{10 * time.Second, 5, 2, 6 * time.Second, "a minute"},
	}
	for _, test := range tests {
		got := wallTime(test.cpu, test.ligands, test.cores)
		if text := minutes(got); got != test.want || text != test.text {
			t.Errorf("%v for %d ligands on %d cores: got %v (%s), want %v (%s)", test.cpu, test.ligands, test.cores, got, text,
				test.want, test.text)
		}
	}
}

func TestDemoLigandsAreInOrder(t *testing.T) {
	t.Parallel()
	for _, l := range demoLigands {
		if err := l.check(); l.componentID == "" && err != nil {
			t.Errorf("%s: %v", l.label, err)
		}
	}
}

func TestWhatTheDemoFound(t *testing.T) {
	t.Parallel()
	tests := []struct{ result, pose, want string }{
		{`{"label":"imatinib","interactions":["A:MET:318:hydrogen_bond","A:THR:315:hydrogen_bond","A:MET:318:hydrophobic",
			"A:MET:318:hydrogen_bond","A:GLU:286:hydrogen_bond"]}`, `{"referenceRmsdAngstrom":0.58}`,
			"imatinib 0.6 Å from the crystal, hydrogen bonds to GLU 286, THR 315 and MET 318"},
		{`{"label":"imatinib","interactions":["A:ASP:381A:hydrogen_bond"]}`, `{"referenceRmsdAngstrom":12.41}`,
			"imatinib 12.4 Å from the crystal, a hydrogen bond to ASP 381A"},
		{`{"label":"imatinib","interactions":null}`, `{"referenceRmsdAngstrom":1}`, "imatinib 1.0 Å from the crystal"},
		{`{"label":"imatinib"}`, `{}`, "imatinib has no pose"},
	}
	for _, test := range tests {
		var result contract.DockingResult
		var pose contract.DockingPose
		if err := errors.Join(json.Unmarshal([]byte(test.result), &result), json.Unmarshal([]byte(test.pose), &pose)); err != nil {
			t.Fatal(err)
		}
		if got := whereItLies(result, pose); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
