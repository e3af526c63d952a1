package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// versionNeeds bounds a version probe: importing a scientific Python package from a cold disk takes seconds and a few hundred
// megabytes.
var versionNeeds = engines.Resources{CPUs: 1, MemoryBytes: 2 << 30, FileBytes: 1 << 20, Processes: 256, TimeLimit: 2 * time.Minute,
	MaxLogBytes: 1 << 20}

// maxVersionBytes bounds what is read of a probe's output: versions are a few lines.
const maxVersionBytes = 64 << 10

// Versions runs a version probe as a command. The error says why its programs cannot be used on this machine.
func (r *Runner) Versions(ctx context.Context, probe engines.Probe) (map[string]string, error) {
	dir, err := os.MkdirTemp("", "molfabric-probe-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the probe: %w", err)
	}
	defer os.RemoveAll(dir)
	var out strings.Builder
	outcome, err := r.Run(ctx, Spec{Dir: engines.Dir(dir), Command: engines.Command{Argv: probe.Argv}, Needs: versionNeeds},
		func(line string) {
			if out.Len() < maxVersionBytes {
				out.WriteString(line + "\n")
			}
		})
	if err != nil {
		return nil, err
	}
	if outcome.Reason != Exited || outcome.ExitCode != 0 {
		return nil, fmt.Errorf("the version probe ended as %s with exit code %d: %s", outcome.Reason, outcome.ExitCode,
			lastLine(outcome.LogTail))
	}
	if out.Len() == 0 {
		return nil, errors.New("the version probe printed nothing")
	}
	return probe.Check([]byte(out.String()))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
