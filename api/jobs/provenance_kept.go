package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/internal/contract"
)

// keptDocument is a provenance file that an engine wrote, without an address.
type keptDocument struct {
	ArtifactID string `json:"artifactId"`
	TaskIndex  int    `json:"taskIndex"`
	Name       string `json:"name"`
	SHA256     string `json:"sha256"`
}

// KeptProvenance is Provenance as JSON to keep: without addresses that expire, so that a job that has ended has one for ever.
// Errors: fault.NotFound.
func (s *Service) KeptProvenance(ctx context.Context, accountID, jobID string) (json.RawMessage, error) {
	told, err := s.Provenance(ctx, accountID, jobID)
	if err != nil {
		return nil, err
	}
	kept := struct {
		contract.Provenance
		Documents []keptDocument `json:"documents"` // in place of Provenance's own
	}{Provenance: told, Documents: make([]keptDocument, len(told.Documents))}
	for i, d := range told.Documents {
		kept.Documents[i] = keptDocument{ArtifactID: d.ArtifactID, TaskIndex: d.TaskIndex, Name: d.Name, SHA256: d.SHA256}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("writing the provenance of job %s: %w", jobID, err)
	}
	return text, nil
}
