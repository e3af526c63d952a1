package parameters_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/molfabric/molfabric/api/jobs/parameters"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
)

const library = `{"exhaustiveness":3,"boxCenterAngstrom":[1,2,3],"boxSizeAngstrom":20,
	"ligandLibrary":[{"ligandId":"l1","label":"L","source":{"kind":"smiles","smiles":"C<C>&"}}]}`

func complete(t *testing.T, text, simulator string) (given parameters.SimulationParams, completed parameters.Completed) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		t.Fatal(err)
	}
	completed, err := parameters.Complete(&given, simulator)
	if err != nil {
		t.Fatal(err)
	}
	return given, completed
}

// What an engine is handed is what it would have read.
func TestWhatIsRememberedIsWhatParamsSay(t *testing.T) {
	t.Parallel()
	given, completed := complete(t, library, vina.ID)
	var work engines.Request
	completed.Into(&work)
	remembered, err := engines.ParamsOf[vina.Params](work)
	if err != nil {
		t.Fatal(err)
	}
	read, err := engines.ParamsOf[vina.Params](engines.Request{Params: work.Params})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, remembered) {
		t.Errorf("remembered %+v\nread       %+v", remembered, read)
	}
	if given.LigandLibrary[0].Preparation != nil || given.MaxPockets != nil {
		t.Errorf("what was given has changed: %+v", given)
	}
}

func TestDefaultsOfOtherSimulators(t *testing.T) {
	t.Parallel()
	for simulator, want := range map[string]string{
		"fpocket": `{"maxPockets":10}`,
		vina.ID: `{"dockingExecution":{"shardSize":1},"dockingReport":{"picture":"molstar"},"maxPockets":10,` +
			`"receptorPreparation":{"addHydrogens":true,"forceField":"AMBER","protonationMethod":"pdb2pqr-propka","protonationPh":7.4}}`,
	} {
		if _, completed := complete(t, `{}`, simulator); string(completed.Text) != want {
			t.Errorf("%s: got %s, want %s", simulator, completed.Text, want)
		}
	}
}
