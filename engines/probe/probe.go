// Package probe is an engine for those who measure molfabric or break it on purpose: its tasks take the time, the memory and the
// disk that their job's parameters name, and compute nothing. No deployment offers it that does not list it by its id
// (MOLFABRIC_SIMULATORS). It plans its shards and writes their command line; the shell script beside it runs anywhere.
//
// Its jobs are simulations with any sceneFile, which no task reads, and take what they are to do from the job's parameters, all
// of which may be left out:
//
//	Tasks        1 to 20000, tasks of the first stage; 1
//	Gather       "true" adds a second stage of one task, which reads what every task of the first has written
//	Seconds      0 to 3600, how long each task waits, with a fraction if need be; 0
//	CPUSeconds   0 to 3600, whole processor seconds of each task; 0
//	MemoryBytes  0 to 4 GiB, touched by each task, which may have half a GiB; 0
//	OutputBytes  0 to 4 GiB, written by each task, which may write one GiB; 0 means no artifact at all
//	FailEvery    0 to 20000: the n-th, 2n-th, … task fails; 0, for none
//	FailClass    USER_INPUT, or EXECUTOR (which is tried again); EXECUTOR
package probe

import (
	"errors"
	"strings"

	_ "embed"

	"github.com/molfabric/molfabric/engines"
)

// ID is the name by which a deployment lists the engine and a job asks for it.
const ID = "probe"

//go:embed probe.sh
var script []byte

// Probe implements engines.Engine and engines.Explainer. Its zero value is ready; it has no state.
type Probe struct{}

var (
	_ engines.Engine    = Probe{}
	_ engines.Explainer = Probe{}
)

// New returns the engine.
func New() Probe { return Probe{} }

// Spec describes the engine.
func (Probe) Spec() engines.Spec {
	return engines.Spec{
		ID: ID, Title: "Probe", Hardware: engines.HardwareCPU,
		Citations: []engines.Citation{{Text: "The probe of molfabric computes nothing; there is nothing to cite."}},
		Probe:     engines.Probe{Argv: []string{"sh", "-c", "sleep 0 && echo usable"}, Check: checkProbe},
	}
}

// checkProbe wants a shell that finds its programs.
func checkProbe(stdout []byte) (map[string]string, error) {
	if strings.TrimSpace(string(stdout)) != "usable" {
		return nil, errors.New("the shell does not run programs; install coreutils")
	}
	return map[string]string{"sh": "POSIX"}, nil
}
