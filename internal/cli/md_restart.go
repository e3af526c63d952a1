package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	provenanceFile = "provenance.json"
	checkpointFile = "final.chk"
	stateXMLFile   = "final-state.xml"
	// maxProvenanceBytes bounds a provenance that is read into memory.
	maxProvenanceBytes = 16 << 20
)

// runProvenance is what is read of a run's provenance.json.
type runProvenance struct {
	RestartProvenance *restartProvenance `json:"restartProvenance"`
	Parameters        struct {
		Protocol dynamicsProtocol `json:"protocol"`
		Outputs  dynamicsOutputs  `json:"outputs"`
		Platform dynamicsPlatform `json:"platform"`
	} `json:"parameters"`
}

// restarted makes a run that goes on from the end of another job.
func (inv *invocation) restarted(ctx context.Context, o mdOptions, jobID string) (dynamics, error) {
	jobID, err := inv.jobID(ctx, jobID)
	if err != nil {
		return dynamics{}, err
	}
	outputs, err := inv.api.AllOutputs(ctx, jobID)
	if err != nil {
		return dynamics{}, err
	}
	var text []byte
	if output, ok := findOutput(outputs.Body.Outputs, provenanceFile, ""); ok {
		if text, err = inv.api.FetchOutput(ctx, jobID, output, maxProvenanceBytes); err != nil {
			return dynamics{}, err
		}
	}
	provenance, err := readRunProvenance(jobID, text)
	if err != nil {
		return dynamics{}, err
	}
	earlier, err := o.choose(jobID, provenance, outputs.Body.Outputs)
	if err != nil {
		return dynamics{}, err
	}
	return o.settle(&earlier)
}

// readRunProvenance reads provenance.json; text is empty where there is none.
func readRunProvenance(jobID string, text []byte) (runProvenance, error) {
	var p runProvenance
	if len(text) == 0 {
		return p, invalidInput("--restart %s: that job has no %s; only a simulation that has ended well can be gone on from", jobID,
			provenanceFile)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("%s of job %s is not one that this program can read: %w", provenanceFile, jobID, err)
	}
	if p.RestartProvenance == nil || p.RestartProvenance.SystemSHA256 == "" {
		return p, invalidInput("--restart %s: its %s does not say what its checkpoint belongs to; was it a simulation?", jobID,
			provenanceFile)
	}
	return p, nil
}

var (
	// moves are the flags that a checkpoint does not survive; the portable state does.
	moves = []string{"friction", "timestep", "precision"}
	// systems are those that make another system of the same atoms: a state can be gone on from, but its provenance is not theirs.
	systems = []string{"temperature", "pressure", "seed", "forcefield", "water"}
)

// choose takes the checkpoint of the run, or its portable state: when that is asked for, or when the run goes on differently.
func (o mdOptions) choose(jobID string, p runProvenance, outputs []contract.Output) (earlierRun, error) {
	q := p.Parameters
	e := earlierRun{provenance: p.RestartProvenance, protocol: q.Protocol, outputs: q.Outputs, platform: q.Platform}
	e.platform.Name = first(e.platform.Name, e.provenance.PlatformName)
	e.workerImage = e.provenance.WorkerImageDigest
	other := slices.ContainsFunc(systems, o.given)
	portable := other || o.portable || slices.ContainsFunc(moves, o.given) || o.given("platform") &&
		o.platform.Name != e.provenance.PlatformName
	if other {
		e.provenance = nil
	}
	name, format := checkpointFile, formatCheckpoint
	if portable {
		name, format = stateXMLFile, formatStateXML
	}
	output, ok := findOutput(outputs, name, format)
	if !ok {
		return earlierRun{}, invalidInput("--restart %s: that job has left no %s to go on from", jobID, name)
	}
	e.start = artifactOf("restart", format, client.Uploaded{
		StorageKey: output.StorageKey, SHA256: output.SHA256, ByteSize: output.ByteSize,
		ContentType: first(output.MediaType, client.ContentType(name)),
	})
	return e, nil
}

// findOutput finds a job's file by its name, or by its format where that is not "".
func findOutput(outputs []contract.Output, name, format string) (contract.Output, bool) {
	for _, output := range outputs {
		if path.Clean(output.Name) == name {
			return output, true
		}
	}
	for _, output := range outputs {
		if format != "" && output.Format == format {
			return output, true
		}
	}
	return contract.Output{}, false
}
