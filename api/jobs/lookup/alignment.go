package lookup

import (
	"context"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
)

// alignment finds the database that proteins are aligned to, for an estimate too: its size decides the price. A run that is
// repeated had one or none, and wants the same. Errors: fault.Validation.
func (s *search) alignment(_ context.Context, wants engines.Wants) (bool, error) {
	if wants.Alignment == nil || !s.once("alignment") {
		return false, nil
	}
	if !s.repeats {
		s.work.Found.Alignment = s.Alignment
		return true, nil
	}
	first := s.work.Found.Alignment
	if first == nil || s.Alignment != nil && s.Alignment.Digest == first.Digest {
		return true, nil
	}
	return true, fault.New(fault.Validation, "%s: the run that this one repeats was aligned to %s %s, which this deployment "+
		"has no more; submit the job anew", engines.Place(wants.Alignment.Path), first.Name, first.Version)
}
