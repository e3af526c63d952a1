// Package lookup finds what only the deployment can find for a request before it is planned: the stored files that it
// names, and what its engine wants (engines.Wanter): entries of the Protein Data Bank, chemical components, sequence
// databases, weights of models, what files hold, earlier work. It knows no engine.
package lookup

import (
	"context"
	"fmt"
	"log/slog"
	"maps"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/alignments"
	"github.com/molfabric/molfabric/internal/object"
)

// maxRounds bounds how often an engine is asked what else it wants: about twice for each kind of thing would do.
const maxRounds = 32

// Deps is what a Finder needs; all are required but Knowledge, Databases, Weights and Alignment.
type Deps struct {
	DB      *sqlx.DB
	Objects *object.Store
	Uploads Uploads
	// Knowledge finds what names of public data stand for; without it, they are refused.
	Knowledge Knowledge
	// Databases finds the databases of sequence searches; without it, every search is refused.
	Databases Databases
	// Weights finds the weights of models; without it, every prediction is refused.
	Weights Weights
	// Alignment is the database that proteins are aligned to; nil for none.
	Alignment *alignments.Database
	Log       *slog.Logger
}

// Finder finds what requests want. It is safe for concurrent use.
type Finder struct {
	Deps
	store   store
	surveys *surveys
}

// New returns a Finder.
func New(deps Deps) *Finder {
	if deps.Knowledge == nil {
		deps.Knowledge = nothing{}
	}
	if deps.Databases == nil {
		deps.Databases = nothing{}
	}
	if deps.Weights == nil {
		deps.Weights = nothing{}
	}
	return &Finder{Deps: deps, store: store{db: deps.DB}, surveys: newSurveys()}
}

// Submission finds everything that an account's request wants, or refuses it. first is what was found for the run that
// the request repeats, and nil for every other: names stand for what they stood for then, and what was confirmed then
// stays confirmed.
//
// Errors: *engines.InvalidError, fault.Validation, fault.SceneNotFound, fault.ArtifactNotFound,
// fault.WorkerImageMismatch, fault.ProviderUnavailable.
func (f *Finder) Submission(
	ctx context.Context, accountID string, engine engines.Engine, work engines.Request, first *engines.Found,
) (engines.Found, error) {
	s := search{Finder: f, accountID: accountID, engine: engine, work: work, asked: map[string]bool{}}
	if first != nil {
		s.repeats, s.work.Found = true, *first
	}
	return s.run(ctx)
}

// NoScene stands for the input file of an estimate that has none: no engine's price depends on its name.
var NoScene = engines.Object{StorageKey: "estimate"}

// Estimate finds what can be found for an estimate without asking anybody outside; accountID is "" for a visitor, who has
// no files. What is not known is left out. A sequence database must be there: its size decides the price. Errors: those
// of Submission, and fault.ChecksumMismatch for a file that is another than the estimate says.
func (f *Finder) Estimate(
	ctx context.Context, accountID string, engine engines.Engine, work engines.Request,
) (engines.Found, error) {
	s := search{Finder: f, accountID: accountID, engine: engine, work: work, asked: map[string]bool{}, estimates: true}
	return s.run(ctx)
}

// search finds what one request wants.
type search struct {
	*Finder
	accountID string
	engine    engines.Engine
	work      engines.Request // what was found is in its Found
	asked     map[string]bool // what has been looked for
	estimates bool
	repeats   bool
}

// sceneless tells whether the request has no input file that could be read.
func (s *search) sceneless() bool { return s.work.SceneFile == NoScene }

// run asks the engine after each kind of thing that was found, for it may now want more.
func (s *search) run(ctx context.Context) (engines.Found, error) {
	wanter, ok := s.engine.(engines.Wanter)
	if !ok {
		return s.work.Found, nil
	}
	for range maxRounds {
		wants, err := wanter.Wants(s.work)
		if err != nil {
			return engines.Found{}, err
		}
		found, err := s.next(ctx, wants)
		if err != nil {
			return engines.Found{}, err
		}
		if !found {
			return s.work.Found, nil
		}
	}
	return engines.Found{}, fmt.Errorf("%s still wants more after %d rounds", s.engine.Spec().ID, maxRounds)
}

// next finds the first kind of thing that has not been looked for yet; found is false when there is none.
func (s *search) next(ctx context.Context, wants engines.Wants) (found bool, err error) {
	for _, find := range []func(context.Context, engines.Wants) (bool, error){
		s.confirmations, s.entries, s.contents, s.components, s.preparation, s.database, s.weights,
		s.alignment, s.scene, s.renderCost,
	} {
		if found, err = find(ctx, wants); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// unasked are the wants whose keys have not been asked for before; they are from now on.
func unasked[W any](s *search, kind string, wants []W, key func(W) string) []W {
	var fresh []W
	keys := map[string]bool{}
	for _, want := range wants {
		if name := kind + " " + key(want); !s.asked[name] {
			keys[name] = true
			fresh = append(fresh, want)
		}
	}
	maps.Copy(s.asked, keys)
	return fresh
}

// once tells the first time that it is asked for a key.
func (s *search) once(key string) bool {
	first := !s.asked[key]
	s.asked[key] = true
	return first
}
