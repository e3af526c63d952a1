package cli

import (
	"encoding/json"
	"testing"
	"time"
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
			t.Errorf("%v for %d ligands on %d cores: got %v (%s), want %v (%s)", test.cpu, test.ligands, test.cores, got, text, test.want, test.text)
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
	tests := []struct{ ligands, want string }{
		{`[{"label":"aspirin","interactions":["A:LYS:271:hydrogen_bond"]},
			{"label":"imatinib","referenceRmsdAngstrom":0.58,"interactions":["A:MET:318:hydrogen_bond","A:THR:315:hydrogen_bond",
				"A:MET:318:hydrophobic","A:MET:318:hydrogen_bond","A:GLU:286:hydrogen_bond"]}]`,
			"imatinib 0.6 Å from the crystal, hydrogen bonds to GLU 286, THR 315 and MET 318"},
		{`[{"label":"imatinib","referenceRmsdAngstrom":12.41,"interactions":["A:ASP:381A:hydrogen_bond"]}]`,
			"imatinib 12.4 Å from the crystal, a hydrogen bond to ASP 381A"},
		{`[{"label":"imatinib","referenceRmsdAngstrom":1,"interactions":null}]`, "imatinib 1.0 Å from the crystal"},
		{`[{"label":"imatinib"}]`, "imatinib has no pose"},
		{`[]`, "imatinib has no pose"},
	}
	for _, test := range tests {
		var results demoResults
		if err := json.Unmarshal([]byte(`{"ligands":`+test.ligands+`}`), &results); err != nil {
			t.Fatal(err)
		}
		if got := results.found(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
