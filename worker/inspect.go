package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// probeNeeds bounds an engine's version probe: importing a scientific Python package from a cold disk takes seconds and
// a few hundred megabytes.
var probeNeeds = engines.Resources{CPUs: 1, MemoryBytes: 2 << 30, FileBytes: 1 << 20, Processes: 256, TimeLimit: 2 * time.Minute, MaxLogBytes: 1 << 20}

// maxProbeBytes bounds what is read of a probe's output: versions are a few lines.
const maxProbeBytes = 64 << 10

// Offer is an engine that this machine can run.
type Offer struct {
	Engine   string
	Hardware string
	GPU      bool              // its tasks may ask for devices
	Programs map[string]string // program → version
}

// Refusal is an engine that this machine cannot run, and why.
type Refusal struct {
	Engine string
	Reason error
}

// Inspect runs every engine's version probe in the sandbox and sorts the engines into those that may be offered and those
// that may not.
func Inspect(ctx context.Context, runner *sandbox.Runner, registry *engines.Registry) (offers []Offer, refusals []Refusal) {
	for _, id := range registry.IDs() {
		engine, _ := registry.Lookup(id)
		programs, err := probe(ctx, runner, engine.Spec())
		if err != nil {
			refusals = append(refusals, Refusal{Engine: id, Reason: err})
			continue
		}
		offers = append(offers, Offer{Engine: id, Hardware: engine.Spec().Hardware, GPU: engine.Spec().GPU, Programs: programs})
	}
	return offers, refusals
}

// probe asks one engine's programs for their versions.
func probe(ctx context.Context, runner *sandbox.Runner, spec engines.Spec) (map[string]string, error) {
	dir, err := os.MkdirTemp("", "molfabric-probe-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the probe: %w", err)
	}
	defer os.RemoveAll(dir)
	var out strings.Builder
	outcome, err := runner.Run(ctx, sandbox.Spec{Dir: engines.Dir(dir), Command: engines.Command{Argv: spec.Probe.Argv}, Needs: probeNeeds},
		func(line string) {
			if out.Len() < maxProbeBytes {
				out.WriteString(line + "\n")
			}
		})
	if err != nil {
		return nil, err
	}
	if outcome.Reason != sandbox.Exited || outcome.ExitCode != 0 {
		return nil, fmt.Errorf("the version probe ended as %s with exit code %d: %s", outcome.Reason, outcome.ExitCode, lastLine(outcome.LogTail))
	}
	if out.Len() == 0 {
		return nil, errors.New("the version probe printed nothing")
	}
	return spec.Probe.Check([]byte(out.String()))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
