package openmm

import (
	"encoding/json"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

func TestImageIsThatOfTheDynamics(t *testing.T) {
	t.Parallel()
	asked := "sha256:" + digestOf("7")
	for params, want := range map[string]string{
		`{"program":"simulate.py","workerImageDigest":"` + asked + `"}`:    asked,
		`{"program":"simulate.py","workerImageDigest":"` + anyImage + `"}`: "",
		`{"program":"prepare.py"}`:                                         "",
		`[]`:                                                               "",
	} {
		if got := New().Image(engines.Shard{Params: json.RawMessage(params)}); got != want {
			t.Errorf("%s: got %q, want %q", params, got, want)
		}
	}
}
