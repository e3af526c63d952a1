package lookup

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/confirmation"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/structures"
)

// Knowledge is what a deployment knows of public data, and what it has shown its callers of it. Ids are in either case;
// answers have them in upper case.
type Knowledge interface {
	// Structure finds an entry of the Protein Data Bank. Errors: those of structures.Library.
	Structure(ctx context.Context, pdbID string) (structures.Entry, error)
	// Kept is Structure without asking anybody outside; ok is false for an entry that is not there yet.
	Kept(ctx context.Context, pdbID string) (entry structures.Entry, ok bool, err error)
	// Components finds chemical components; unknown ones stay out of the answer. Beside fault.ProviderUnavailable the answer
	// holds what could be found. Errors: those of structures.Library.
	Components(ctx context.Context, ids []string) (map[string]structures.Component, error)
	// Known is Components without asking anybody.
	Known(ids []string) map[string]structures.Component
	// Verify holds the token of a look-up against what it should be for. Errors: *confirmation.Error.
	Verify(token string, c confirmation.Candidate) error
}

// nothing is what a deployment knows that was given no Knowledge, no Databases and no Weights.
type nothing struct{}

func (nothing) Structure(context.Context, string) (structures.Entry, error) {
	return structures.Entry{}, structures.ErrNoSource
}

func (nothing) Kept(context.Context, string) (entry structures.Entry, ok bool, err error) {
	return structures.Entry{}, false, nil
}

func (nothing) Components(context.Context, []string) (map[string]structures.Component, error) {
	return nil, nil
}

func (nothing) Known([]string) map[string]structures.Component { return nil }

func (nothing) Verify(string, confirmation.Candidate) error {
	return &confirmation.Error{Part: confirmation.Token}
}

// confirmations holds the tokens of a submission against what they were given for. Errors: fault.Validation.
func (s *search) confirmations(_ context.Context, wants engines.Wants) (bool, error) {
	if s.estimates || s.repeats {
		return false, nil
	}
	fresh := unasked(s, "confirmation", wants.Confirmations, func(w engines.WantedConfirmation) string { return w.Path })
	for _, w := range fresh {
		if err := s.confirm(w); err != nil {
			return true, err
		}
	}
	return len(fresh) > 0, nil
}

func (s *search) confirm(w engines.WantedConfirmation) error {
	err := s.Knowledge.Verify(w.Token, confirmation.Candidate{
		AccountID: s.accountID, Query: w.Query, SourceID: w.SourceID, ComponentID: w.ComponentID, SMILES: w.SMILES,
	})
	var unfit *confirmation.Error
	if !errors.As(err, &unfit) {
		return err
	}
	path := engines.Place(w.Path)
	const again = "look the ligand up again (POST /v1/molecular/docking/ligands/resolve), or leave confirmation out"
	switch unfit.Part {
	case confirmation.Query:
		return fault.New(fault.Validation, "%s.confirmation.query: the token was given for another query; send the query of the "+
			"look-up unchanged", path)
	case confirmation.SourceID:
		return fault.New(fault.Validation, "%s.confirmation.sourceId: the token was given for another candidate; send the "+
			"candidate's own sourceId", path)
	case confirmation.Source:
		return fault.New(fault.Validation, "%s.source: the confirmation's token was given for another structure; send the "+
			"candidate's componentId or smiles unchanged", path)
	case confirmation.Expired:
		return fault.New(fault.Validation, "%s.confirmation.token: has expired; %s", path, again)
	case confirmation.Token:
	}
	return fault.New(fault.Validation, "%s.confirmation.token: is none that a look-up gave this account; %s", path, again)
}

// entries finds entries of the Protein Data Bank; for an account's estimate those that are kept here.
func (s *search) entries(ctx context.Context, wants engines.Wants) (bool, error) {
	if s.repeats || s.estimates && s.accountID == "" {
		return false, nil
	}
	fresh := unasked(s, "entry", wants.Entries, func(w engines.WantedEntry) string { return strings.ToUpper(w.ID) })
	for _, w := range fresh {
		entry, ok, err := s.entry(ctx, w)
		if err != nil {
			return true, err
		}
		if ok {
			s.work.Found.Structures = with(s.work.Found.Structures, entry.PDBID,
				engines.Object{StorageKey: entry.StorageKey, SHA256: entry.SHA256, ByteSize: entry.ByteSize})
		}
	}
	return len(fresh) > 0, nil
}

// entry finds one entry. Errors: fault.Validation, fault.ProviderUnavailable.
func (s *search) entry(ctx context.Context, w engines.WantedEntry) (entry structures.Entry, ok bool, err error) {
	if s.estimates {
		return s.Knowledge.Kept(ctx, w.ID)
	}
	member, id := engines.Place(w.Path), strings.ToUpper(w.ID)
	entry, err = s.Knowledge.Structure(ctx, w.ID)
	switch {
	case errors.Is(err, structures.ErrNotFound):
		err = fault.Wrap(err, fault.Validation, "%s: the Protein Data Bank has no entry %s", member, id)
	case errors.Is(err, structures.ErrNoSource):
		err = fault.Wrap(err, fault.Validation, "%s: this deployment has no source of structures; %s", member, w.NoSource)
	case errors.Is(err, structures.ErrTooLarge):
		err = fault.Wrap(err, fault.Validation, "%s: entry %s has more than the %d bytes that %s may have; %s",
			member, id, structures.MaxEntryBytes, w.Use, w.TooLarge)
	}
	return entry, err == nil, err
}

// components finds chemical components. Of a submission those that are needed must be found; of the rest, what is unknown
// or cannot be asked for just now is absent. An estimate asks nobody. Errors: fault.Validation,
// fault.ProviderUnavailable.
func (s *search) components(ctx context.Context, wants engines.Wants) (bool, error) {
	if s.repeats {
		return false, nil
	}
	fresh := unasked(s, "component", wants.Components, func(w engines.WantedComponent) string { return strings.ToUpper(w.ID) })
	if len(fresh) == 0 {
		return false, nil
	}
	ids := map[string]bool{}
	for _, w := range fresh {
		ids[strings.ToUpper(w.ID)] = true
	}
	found, err := s.defined(ctx, slices.Sorted(maps.Keys(ids)), fresh)
	for id, c := range found {
		s.work.Found.Components = with(s.work.Found.Components, id, engines.Component{Name: c.Name, SMILES: c.SMILES})
	}
	return true, err
}

// defined finds the definitions of components, which are wanted as wants says.
func (s *search) defined(
	ctx context.Context, ids []string, wants []engines.WantedComponent,
) (map[string]structures.Component, error) {
	if s.estimates {
		return s.Knowledge.Known(ids), nil
	}
	found, away := s.Knowledge.Components(ctx, ids)
	var many *structures.TooManyError
	switch {
	case errors.As(away, &many):
		return nil, fault.Wrap(away, fault.Validation, "simulationParams: names %d components that this deployment's dictionary "+
			"does not have and would have to ask for one by one; at most %d a request%s",
			many.Count, structures.MaxRemote, adviceOnMany(wants))
	case away != nil && !fault.Is(away, fault.ProviderUnavailable):
		return nil, away
	}
	for _, w := range wants {
		if w.Needed == nil {
			continue
		}
		id, path := strings.ToUpper(w.ID), engines.Place(w.Path)
		switch component, ok := found[id]; {
		case !ok && away != nil:
			return nil, away
		case !ok:
			return nil, fault.New(fault.Validation, "%s: this deployment knows no component %s; %s", path, id, w.Needed.Unknown)
		case component.SMILES == "":
			return nil, fault.New(fault.Validation, "%s: the dictionary has no structure of component %s; %s",
				path, id, w.Needed.NoStructure)
		}
	}
	if away != nil {
		s.Log.WarnContext(ctx, "components of a receptor not looked up", "error", away)
	}
	return found, nil
}

func adviceOnMany(wants []engines.WantedComponent) string {
	for _, w := range wants {
		if w.Needed != nil {
			return ": " + w.Needed.TooMany
		}
	}
	return ""
}

// with is a map with one more entry, which may have been nil.
func with[V any](all map[string]V, key string, value V) map[string]V {
	if all == nil {
		all = map[string]V{}
	}
	all[key] = value
	return all
}
