package docking

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/internal/confirmation"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/structures"
)

// maxCandidates bounds the answer of a look-up: whoever does not find a ligand among so many asks more precisely.
const maxCandidates = 20

// ccdSource begins the source id of a component of the Chemical Component Dictionary.
const ccdSource = "ccd:"

const resolveText = "Looks a ligand up by its name, a synonym or its id in the wwPDB Chemical Component Dictionary. The id comes " +
	"first, then names that are the query, names that begin with it, and names with all of its words. " +
	"Letter case and punctuation do not count. A query that fits nothing has no candidates; a SMILES needs no look-up and is not " +
	"read as one. " +
	"To dock a candidate, send its componentId or its smiles as the ligand's source, and token, query and sourceId as the " +
	"ligand's confirmation: the submission is refused when they do not belong together."

// Resolver looks ligands up. It is safe for concurrent use.
type Resolver struct {
	library *structures.Library
	signer  *confirmation.Signer
}

// NewResolver returns a Resolver. The signer must be the one that submissions are checked with.
func NewResolver(library *structures.Library, signer *confirmation.Signer) *Resolver {
	return &Resolver{library: library, signer: signer}
}

// RegisterResolve adds the look-up. It reads and therefore asks for jobs:read alone.
func RegisterResolve(api huma.API, r *Resolver) {
	huma.Register(api, operation(http.MethodPost, "resolve-ligand", "/ligands/resolve", "Look a ligand up", resolveText,
		access.Rule{Scope: access.JobsRead}), r.resolve)
}

// Resolve finds the ligands that a query may mean. Errors: fault.ProviderUnavailable.
func (r *Resolver) Resolve(ctx context.Context, accountID, query string) (contract.LigandCandidates, error) {
	found, err := r.library.Search(ctx, query, maxCandidates)
	if err != nil {
		return contract.LigandCandidates{}, err
	}
	shown := contract.LigandCandidates{Candidates: []contract.LigandCandidate{}}
	for _, c := range found {
		if c.SMILES == "" {
			continue // of a component without one nothing can be docked
		}
		shown.Candidates = append(shown.Candidates, r.candidate(accountID, query, c))
	}
	return shown, nil
}

func (r *Resolver) candidate(accountID, query string, c structures.Component) contract.LigandCandidate {
	shown := contract.LigandCandidate{
		SourceID: ccdSource + c.ID, Name: c.Name, ComponentID: &c.ID, SMILES: c.SMILES, Formula: orNull(c.Formula),
		InChIKey: orNull(c.InChIKey),
	}
	shown.Token, shown.ExpiresAt = r.signer.Sign(confirmation.Candidate{
		AccountID: accountID, Query: query, SourceID: shown.SourceID, ComponentID: c.ID, SMILES: c.SMILES,
	})
	return shown
}

// orNull is a text as an answer shows it: null when there is none.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (r *Resolver) resolve(
	ctx context.Context, in *struct{ Body contract.LigandQuery },
) (*wire.Answer[contract.LigandCandidates], error) {
	return wire.Answered(r.Resolve(ctx, access.From(ctx).AccountID, in.Body.Query))
}
