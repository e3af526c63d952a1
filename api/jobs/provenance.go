package jobs

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// provenanceSchema names the form of the document.
	provenanceSchema = "molfabric.provenance/v1"
	// maxRequestShown bounds the request that a provenance carries whole: any job but one with a large ligand library.
	maxRequestShown = 256 << 10
	// maxProvenanceEntries bounds each list of a provenance: one entry for each ligand of the largest library.
	maxProvenanceEntries = 10_000
	// maxProvenanceDocuments bounds the addresses that a provenance carries, each of which is signed.
	maxProvenanceDocuments = 100
)

// Provenance reads how a job's results came to be, at one moment. But for the addresses of its documents, a job that has ended
// has one provenance for ever. Errors: fault.NotFound, fault.FilesDeleted.
func (s *Service) Provenance(ctx context.Context, accountID, jobID string) (contract.Provenance, error) {
	if _, err := s.withFiles(ctx, accountID, jobID); err != nil {
		return contract.Provenance{}, err
	}
	past, err := s.store.past(ctx, accountID, jobID)
	if err != nil {
		return contract.Provenance{}, err
	}
	r := past.Job
	document := contract.Provenance{
		Schema: provenanceSchema, JobID: r.ID, JobType: r.JobType, JobName: r.JobName, Status: r.Status,
		Complete: r.Status.Terminal(), Attempts: r.Attempts,
		CreatedAt: r.CreatedAt.UTC(), StartedAt: wire.TimeOrNil(r.StartedAt), FinishedAt: wire.TimeOrNil(r.FinishedAt),
		Fabric: contract.ProvenanceFabric{Name: provider, Version: s.deps.Version},
		Engine: contract.ProvenanceEngine{ID: r.Simulator.String, Programs: past.programs()}, Request: past.request(),
		Seeds: append([]int64{}, past.Seeds...), Inputs: past.inputs(), Counts: past.Counts, Cost: r.cost(s.deps.Currency),
		Citations: []contract.ProvenanceCitation{},
	}
	if engine, ok := s.deps.Engines.Lookup(r.Simulator.String); ok {
		spec := engine.Spec()
		document.Engine.Title = spec.Title
		for _, c := range spec.Citations {
			document.Citations = append(document.Citations, contract.ProvenanceCitation(c))
		}
	}
	document.Executions, document.Outputs = past.executions(), past.outputs()
	document.Documents, err = s.documents(ctx, past.Outputs)
	return document, err
}

// documents signs the addresses of what the engine itself wrote on the provenance of its results.
func (s *Service) documents(ctx context.Context, outputs []artifact) ([]contract.ProvenanceAttachment, error) {
	documents := []contract.ProvenanceAttachment{}
	expiresAt := s.deps.Now().UTC().Add(outputURLLifetime).Truncate(time.Second)
	for _, f := range outputs {
		if f.Role != string(engines.RoleProvenance) || len(documents) == maxProvenanceDocuments {
			continue
		}
		url, err := s.deps.Objects.PresignGet(ctx, f.StorageKey, path.Base(f.Name), outputURLLifetime)
		if err != nil {
			return nil, fmt.Errorf("signing provenance %s: %w", f.ID, err)
		}
		documents = append(documents, contract.ProvenanceAttachment{
			ArtifactID: f.ID, TaskIndex: f.TaskIndex, Name: f.Name, SHA256: f.SHA256, URL: url, URLExpiresAt: expiresAt,
		})
	}
	return documents, nil
}

func (p past) programs() map[string][]string {
	programs := map[string][]string{}
	for _, row := range p.Programs {
		programs[row.Program] = append(programs[row.Program], row.Version)
	}
	return programs
}

func (p past) request() contract.ProvenanceRequest {
	request := contract.ProvenanceRequest{SHA256: p.Job.RequestSHA256, ByteSize: p.Job.RequestByteSize}
	if p.Job.Request != nil {
		request.Content = ref(contract.ProvenanceSubmission(p.Job.Request))
	}
	return request
}

// inputs are the files of the tasks; the scene is always among them.
func (p past) inputs() []contract.ProvenanceInput {
	inputs := make([]contract.ProvenanceInput, len(p.Inputs))
	for i, row := range p.Inputs {
		inputs[i] = contract.ProvenanceInput{StorageKey: row.StorageKey, SceneFile: row.StorageKey == p.Job.SceneFile,
			SHA256: textOrNil(row.SHA256)}
		if row.ByteSize.Valid {
			inputs[i].ByteSize = &row.ByteSize.Int64
		}
	}
	return inputs
}

func (p past) executions() []contract.ProvenanceExecution {
	executions := make([]contract.ProvenanceExecution, len(p.Executions))
	for i, row := range p.Executions {
		executions[i] = contract.ProvenanceExecution{TaskID: row.TaskID, TaskIndex: row.Ordinal, Name: row.Name, Stage: row.Stage,
			TaskAttempt: row.view()}
	}
	return executions
}

func (p past) outputs() []contract.ProvenanceOutput {
	outputs := make([]contract.ProvenanceOutput, len(p.Outputs))
	for i, f := range p.Outputs {
		outputs[i] = contract.ProvenanceOutput{
			ArtifactID: f.ID, TaskIndex: f.TaskIndex, Name: f.Name, Role: f.Role, StorageKey: f.StorageKey, SHA256: f.SHA256,
			ByteSize: f.ByteSize, MediaType: f.MediaType, Format: f.Format, CreatedAt: f.CreatedAt.UTC(),
		}
	}
	return outputs
}
