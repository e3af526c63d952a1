package lookup

import (
	"context"
	"errors"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/weights"
)

// Weights is the registry of the weights of a deployment's models.
type Weights interface {
	// Newest returns the weights of a model that are in use. Errors: *weights.NoneError.
	Newest(ctx context.Context, model string) (weights.Weights, error)
}

func (nothing) Newest(_ context.Context, model string) (weights.Weights, error) {
	return weights.Weights{}, &weights.NoneError{Model: model}
}

// weights finds the weights of a model, for an estimate too: their size decides the price. Those that may not be used commercially
// are refused for an account that pays. A run that is repeated keeps its own. Errors: fault.Validation.
func (s *search) weights(ctx context.Context, wants engines.Wants) (bool, error) {
	if wants.Weights == nil || !s.once("weights") {
		return false, nil
	}
	if s.repeats && s.work.Found.Weights != nil {
		return true, nil
	}
	found, err := s.Weights.Newest(ctx, wants.Weights.Model)
	place := engines.Place(wants.Weights.Path)
	var none *weights.NoneError
	if errors.As(err, &none) {
		return true, fault.Wrap(err, fault.Validation, "%s: %s", place, none.Error())
	}
	if err != nil {
		return true, err
	}
	if !found.CommercialUse && !s.estimates {
		pays, err := s.store.pays(ctx, s.accountID)
		if err != nil {
			return true, err
		}
		if pays {
			return true, fault.New(fault.Validation, "%s: the weights of %s in this deployment (licence %s) may not be used "+
				"commercially, and this account pays for its jobs; ask the operator for others", place, found.Model, found.Licence)
		}
	}
	files := make(map[string]engines.Object, len(found.Files))
	for _, f := range found.Files {
		files[f.Name] = engines.Object{StorageKey: found.Key(f.Name), SHA256: f.SHA256, ByteSize: f.ByteSize}
	}
	s.work.Found.Weights = &engines.Weights{Model: found.Model, Digest: found.Digest, Licence: found.Licence,
		CommercialUse: found.CommercialUse, Trained: found.Trained, Bytes: found.Bytes, Files: files}
	return true, nil
}
