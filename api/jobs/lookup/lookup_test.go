package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/confirmation"
	"github.com/molfabric/molfabric/internal/structures"
)

// asking is an engine that wants what a test says, and counts how often it was asked.
type asking struct {
	engines.Engine
	wants func(round int, found engines.Found) engines.Wants
	asked *int
}

func (asking) Spec() engines.Spec { return engines.Spec{ID: "asking"} }

func (a asking) Wants(r engines.Request) (engines.Wants, error) {
	*a.asked++
	return a.wants(*a.asked, r.Found), nil
}

// knowing knows every entry that is kept and every component, and notes what it was asked for.
type knowing struct {
	nothing
	heard *[]string
}

func (k knowing) Kept(_ context.Context, id string) (structures.Entry, bool, error) {
	*k.heard = append(*k.heard, "entry "+id)
	return structures.Entry{PDBID: strings.ToUpper(id), StorageKey: id}, true, nil
}

func (k knowing) Known(ids []string) map[string]structures.Component {
	*k.heard = append(*k.heard, "components "+strings.Join(ids, ","))
	all := map[string]structures.Component{}
	for _, id := range ids {
		all[id] = structures.Component{SMILES: "C"}
	}
	return all
}

func (k knowing) Verify(string, confirmation.Candidate) error {
	*k.heard = append(*k.heard, "token")
	return nil
}

func component(id string) engines.WantedComponent { return engines.WantedComponent{ID: id} }

// TestOneFindLeadsToTheNext wants entries before components, each asked for once, and the components that are wanted by then
// together.
func TestOneFindLeadsToTheNext(t *testing.T) {
	t.Parallel()
	var heard []string
	rounds := 0
	engine := asking{asked: &rounds, wants: func(_ int, found engines.Found) engines.Wants {
		wants := engines.Wants{Entries: []engines.WantedEntry{{ID: "1abc"}},
			Components: []engines.WantedComponent{component("sti"), component("STI")}}
		if _, ok := found.Structures["1ABC"]; ok {
			wants.Components = append(wants.Components, component("atp"))
		}
		return wants
	}}
	found, err := New(Deps{Knowledge: knowing{heard: &heard}}).Estimate(t.Context(), "acct_1", engine,
		engines.Request{SceneFile: NoScene})
	if want := []string{"entry 1abc", "components ATP,STI"}; err != nil || !slices.Equal(heard, want) || rounds != 3 {
		t.Errorf("asked for %q in %d rounds, %v; want %q in 3", heard, rounds, err, want)
	}
	if found.Structures["1ABC"].StorageKey != "1abc" || found.Components["STI"].SMILES != "C" || len(found.Components) != 2 {
		t.Errorf("found %+v", found)
	}
}

func TestAnEngineThatNeverHasEnoughIsStopped(t *testing.T) {
	t.Parallel()
	var heard []string
	rounds := 0
	engine := asking{asked: &rounds, wants: func(round int, _ engines.Found) engines.Wants {
		return engines.Wants{Components: []engines.WantedComponent{component(fmt.Sprint(round))}}
	}}
	_, err := New(Deps{Knowledge: knowing{heard: &heard}}).Estimate(t.Context(), "acct_1", engine,
		engines.Request{SceneFile: NoScene})
	if err == nil || rounds != maxRounds {
		t.Errorf("got %v after %d rounds, want it stopped after %d", err, rounds, maxRounds)
	}
}

// TestARepetitionKeepsWhatWasFound looks no name up again.
func TestARepetitionKeepsWhatWasFound(t *testing.T) {
	t.Parallel()
	var heard []string
	rounds := 0
	first := engines.Found{Components: map[string]engines.Component{"STI": {SMILES: "CC"}}}
	engine := asking{asked: &rounds, wants: func(int, engines.Found) engines.Wants {
		return engines.Wants{
			Confirmations: []engines.WantedConfirmation{{Token: "expired"}}, Entries: []engines.WantedEntry{{ID: "1abc"}},
			Components: []engines.WantedComponent{component("STI")},
		}
	}}
	found, err := New(Deps{Knowledge: knowing{heard: &heard}}).Submission(t.Context(), "acct_1", engine, engines.Request{}, &first)
	if err != nil || len(heard) != 0 || found.Components["STI"].SMILES != "CC" {
		t.Errorf("asked for %q, found %+v, %v", heard, found, err)
	}
}
