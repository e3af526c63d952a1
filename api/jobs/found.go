package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/confirmation"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/internal/structures"
	"github.com/molfabric/molfabric/scheduler/renders"
)

// Knowledge is what a deployment knows of public data, and what it has shown its callers of it. Ids are in either case; answers
// have them in upper case.
type Knowledge interface {
	// Structure finds an entry of the Protein Data Bank. Errors: those of structures.Library.
	Structure(ctx context.Context, pdbID string) (structures.Entry, error)
	// Kept is Structure without asking anybody outside; ok is false for an entry that is not there yet.
	Kept(ctx context.Context, pdbID string) (entry structures.Entry, ok bool, err error)
	// Components finds chemical components; unknown ones stay out of the answer. Beside fault.ProviderUnavailable the answer holds
	// what could be found. Errors: those of structures.Library.
	Components(ctx context.Context, ids []string) (map[string]structures.Component, error)
	// Known is Components without asking anybody.
	Known(ids []string) map[string]structures.Component
	// Verify holds the token of a look-up against what it should be for. Errors: *confirmation.Error.
	Verify(token string, c confirmation.Candidate) error
}

// ignorance is the knowledge of a deployment that was given none.
type ignorance struct{}

func (ignorance) Structure(context.Context, string) (structures.Entry, error) {
	return structures.Entry{}, structures.ErrNoSource
}

func (ignorance) Kept(context.Context, string) (entry structures.Entry, ok bool, err error) {
	return structures.Entry{}, false, nil
}

func (ignorance) Components(context.Context, []string) (map[string]structures.Component, error) {
	return nil, nil
}

func (ignorance) Known([]string) map[string]structures.Component { return nil }

func (ignorance) Verify(string, confirmation.Candidate) error {
	return &confirmation.Error{Part: confirmation.Token}
}

// lookUp finds what the names in a request stand for, and what the scene of a molecular job shows. Simulators beside docking and
// sequence search name nothing.
//
// Errors: fault.Validation, fault.SceneNotFound, fault.ArtifactNotFound, fault.WorkerImageMismatch, fault.ProviderUnavailable.
func (s *Service) lookUp(ctx context.Context, accountID string, request SubmitRequest, work engines.Request, engine engines.Engine) (engines.Found, error) {
	switch id := engine.Spec().ID; {
	case id == blast.IDProtein, id == blast.IDNucleotide:
		return s.lookUpDatabase(ctx, request.SimulationParams, id)
	case id == vina.ID && request.SimulationParams != nil:
		return s.lookUpDocking(ctx, accountID, request.SimulationParams.DockingParams, work)
	case work.JobType == engines.JobTypeMolecular, work.JobType == engines.JobTypeRender:
		return s.lookUpRendering(ctx, accountID, work, id)
	}
	return engines.Found{}, nil
}

// lookUpRendering reads what is to be drawn, and what frames of the same scene have taken before. Errors: those of lookUpScene.
func (s *Service) lookUpRendering(ctx context.Context, accountID string, work engines.Request, engineID string) (found engines.Found, err error) {
	if work.JobType == engines.JobTypeMolecular {
		if found.Scene, err = s.lookUpScene(ctx, work); err != nil {
			return engines.Found{}, err
		}
	}
	cost, known, err := renders.Cost(ctx, s.deps.DB, accountID, work.SceneFile, engineID)
	if known {
		found.Rendered = &cost
	}
	return found, err
}

// lookUpDocking finds the receptor's entry, the components, and an earlier preparation of the same receptor. A repetition gets
// what was found the first time, and its confirmations were checked then.
func (s *Service) lookUpDocking(ctx context.Context, accountID string, params vina.Params, work engines.Request) (engines.Found, error) {
	again := reproducedIn(ctx)
	if again.runID == "" {
		if err := s.checkConfirmations(accountID, params); err != nil {
			return engines.Found{}, err
		}
	}
	var found engines.Found
	var err error
	if again.found != nil {
		found = *again.found
	} else if found.Structures, err = s.structure(ctx, params); err != nil {
		return engines.Found{}, err
	}
	receptor := receptorOf(params, work.SceneFile, found.Structures)
	if err := s.lookIntoReceptor(ctx, params, receptor, &found); err != nil {
		return engines.Found{}, err
	}
	if again.found == nil {
		if found.Components, err = s.components(ctx, params, componentsOf(params, params.NativeComponent(found.Receptor))); err != nil {
			return engines.Found{}, err
		}
	}
	found.Prepared, err = s.prepared(ctx, accountID, params, receptor)
	return found, err
}

// known is lookUp for an estimate of an account, which asks nobody outside and misses what the deployment does not know of a docking. A
// database must be there: its size decides the price. Errors: those of lookUp.
func (s *Service) known(ctx context.Context, accountID string, request SubmitRequest, engine engines.Engine) (engines.Found, error) {
	switch id := engine.Spec().ID; {
	case id == blast.IDProtein, id == blast.IDNucleotide:
		return s.lookUpDatabase(ctx, request.SimulationParams, id)
	case id == vina.ID && request.SimulationParams != nil:
		return s.knownDocking(ctx, accountID, request.SimulationParams.DockingParams)
	}
	return engines.Found{}, nil
}

// knownDocking is lookUpDocking for an estimate. A visitor's files are nowhere.
func (s *Service) knownDocking(ctx context.Context, accountID string, params vina.Params) (found engines.Found, err error) {
	if accountID != "" {
		if err := s.lookIntoKnown(ctx, accountID, params, &found); err != nil {
			return engines.Found{}, err
		}
	}
	found.Components = defined(s.deps.Knowledge.Known(componentsOf(params, params.NativeComponent(found.Receptor))))
	return found, nil
}

// eachLigand visits the ligands of a request with their places below simulationParams, until visit returns an error.
func eachLigand(params vina.Params, visit func(path string, ligand mol.LigandEntry) error) error {
	if params.LigandIdentity != nil {
		if err := visit("simulationParams.ligandIdentity", *params.LigandIdentity); err != nil {
			return err
		}
	}
	for i, ligand := range params.LigandLibrary {
		if err := visit(fmt.Sprintf("simulationParams.ligandLibrary[%d]", i), ligand); err != nil {
			return err
		}
	}
	return nil
}

// checkConfirmations holds the tokens of a request against what they were given for. Errors: fault.Validation.
func (s *Service) checkConfirmations(accountID string, params vina.Params) error {
	return eachLigand(params, func(path string, ligand mol.LigandEntry) error {
		if ligand.Confirmation == nil {
			return nil
		}
		c := confirmation.Candidate{AccountID: accountID, Query: ligand.Confirmation.Query, SourceID: ligand.Confirmation.SourceID}
		switch {
		case ligand.Source.CCD != nil:
			c.ComponentID = ligand.Source.CCD.ComponentID
		case ligand.Source.SMILES != nil:
			c.SMILES = ligand.Source.SMILES.SMILES
		}
		err := s.deps.Knowledge.Verify(ligand.Confirmation.Token, c)
		var unfit *confirmation.Error
		if !errors.As(err, &unfit) {
			return err
		}
		const again = "look the ligand up again (POST /v1/molecular/docking/ligands/resolve), or leave confirmation out"
		switch unfit.Part {
		case confirmation.Query:
			return fault.New(fault.Validation, "%s.confirmation.query: the token was given for another query; send the query of the look-up unchanged", path)
		case confirmation.SourceID:
			return fault.New(fault.Validation, "%s.confirmation.sourceId: the token was given for another candidate; send the candidate's own sourceId", path)
		case confirmation.Source:
			return fault.New(fault.Validation, "%s.source: the confirmation's token was given for another structure; send the candidate's componentId or smiles unchanged", path)
		case confirmation.Expired:
			return fault.New(fault.Validation, "%s.confirmation.token: has expired; %s", path, again)
		case confirmation.Token:
		}
		return fault.New(fault.Validation, "%s.confirmation.token: is none that a look-up gave this account; %s", path, again)
	})
}

// componentsOf lists the ids of the components that a request names, in upper case: ligands, and what the receptor's preparation
// has to understand. native is the one that the request asks for without its name, or "".
func componentsOf(params vina.Params, native string) []string {
	var ids []string
	if native != "" {
		ids = append(ids, native)
	}
	if params.PocketLigand != nil {
		ids = append(ids, *params.PocketLigand)
	}
	if v := params.DockingValidation; v != nil && v.NativeReference != nil {
		ids = append(ids, v.NativeReference.ComponentID)
	}
	if params.ReceptorPreparation != nil {
		ids = append(ids, params.ReceptorPreparation.RetainComponents...)
	}
	_ = eachLigand(params, func(_ string, ligand mol.LigandEntry) error { // visits them all
		if ligand.Source.CCD != nil {
			ids = append(ids, ligand.Source.CCD.ComponentID)
		}
		return nil
	})
	for i := range ids {
		ids[i] = strings.ToUpper(ids[i])
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// components finds the components of a request. A ligand must be found; of the rest, what is unknown or cannot be asked for just
// now is absent. Errors: fault.Validation, fault.ProviderUnavailable.
func (s *Service) components(ctx context.Context, params vina.Params, ids []string) (map[string]engines.Component, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, away := s.deps.Knowledge.Components(ctx, ids)
	var many *structures.TooManyError
	switch {
	case errors.As(away, &many):
		return nil, fault.Wrap(away, fault.Validation, "simulationParams: names %d components that this deployment's dictionary does not have and would have to ask for one by one; "+
			"at most %d a request: give the other ligands as smiles, or cut the library", many.Count, structures.MaxRemote)
	case away != nil && !fault.Is(away, fault.ProviderUnavailable):
		return nil, away
	}
	err := eachLigand(params, func(path string, ligand mol.LigandEntry) error {
		if ligand.Source.CCD == nil {
			return nil
		}
		id := strings.ToUpper(ligand.Source.CCD.ComponentID)
		switch component, ok := found[id]; {
		case !ok && away != nil:
			return away
		case !ok:
			return fault.New(fault.Validation, "%s.source.componentId: this deployment knows no component %s; look ligands up by name (POST /v1/molecular/docking/ligands/resolve), or give the ligand as smiles", path, id)
		case component.SMILES == "":
			return fault.New(fault.Validation, "%s.source.componentId: the dictionary has no structure of component %s; give the ligand as smiles or artifact", path, id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if away != nil {
		s.deps.Log.WarnContext(ctx, "components of a receptor not looked up", "error", away)
	}
	return defined(found), nil
}

// defined are components as engines get them.
func defined(found map[string]structures.Component) map[string]engines.Component {
	all := make(map[string]engines.Component, len(found))
	for id, c := range found {
		all[id] = engines.Component{Name: c.Name, SMILES: c.SMILES}
	}
	return all
}

// structure finds the entry that is a request's receptor. Errors: fault.Validation, fault.ProviderUnavailable.
func (s *Service) structure(ctx context.Context, params vina.Params) (map[string]engines.Object, error) {
	if params.ReceptorPDBID == nil || params.ReceptorArtifact != nil { // both: the engine refuses it
		return nil, nil
	}
	const member = "simulationParams.receptorPdbId"
	id := *params.ReceptorPDBID
	entry, err := s.deps.Knowledge.Structure(ctx, id)
	switch {
	case errors.Is(err, structures.ErrNotFound):
		return nil, fault.Wrap(err, fault.Validation, "%s: the Protein Data Bank has no entry %s", member, strings.ToUpper(id))
	case errors.Is(err, structures.ErrNoSource):
		return nil, fault.Wrap(err, fault.Validation, "%s: this deployment has no source of structures; upload the entry and give it as receptorArtifact", member)
	case errors.Is(err, structures.ErrTooLarge):
		return nil, fault.Wrap(err, fault.Validation, "%s: entry %s has more than the %d bytes that a receptor may have; upload the part to dock into and give it as receptorArtifact",
			member, strings.ToUpper(id), structures.MaxEntryBytes)
	case err != nil:
		return nil, err
	}
	return map[string]engines.Object{entry.PDBID: {StorageKey: entry.StorageKey, SHA256: entry.SHA256, ByteSize: entry.ByteSize}}, nil
}

// receptorOf is the file that a docking will take as its receptor.
func receptorOf(params vina.Params, scene engines.Object, found map[string]engines.Object) engines.Object {
	switch {
	case params.ReceptorPDBID != nil:
		return found[strings.ToUpper(*params.ReceptorPDBID)]
	case params.ReceptorArtifact != nil:
		return objectOf(*params.ReceptorArtifact)
	}
	return scene
}
