// Package studio is the API group of Molecular Studio: sessions, in which a conversation becomes a scene, and what a scene becomes:
// previews, pictures and films through the jobs of every other door, files of the open format MolViewSpec, and revisions of
// projects. What a sentence means and what an operation does is known below it (internal/studio); it finds structures, keeps
// conversations, and says who may see them.
package studio

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/stream"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/structures"
	"github.com/molfabric/molfabric/internal/studio"
)

const (
	// maxSessions bounds an account's sessions.
	maxSessions = 1000
	// maxMessages bounds those of a session.
	maxMessages = 5000
	// maxStructureBytes bounds a structure that a session loads: 300,000 atoms as mmCIF.
	maxStructureBytes = 32 << 20
	// keptAtoms bounds the structures that stay in memory after they were read, so that the next message need not read them again:
	// some 300 MB.
	keptAtoms = 3_000_000
	// tries is how often a message is answered anew because another one came first.
	tries = 4
)

// Poses finds docked poses of an account.
type Poses interface {
	// Pose reads a pose. Errors: fault.NotFound.
	Pose(ctx context.Context, accountID, poseID string) (contract.DockingPose, error)
	// Contacts are a pose's interactions. Errors: fault.NotFound.
	Contacts(ctx context.Context, accountID, poseID string) ([]contract.DockingInteraction, error)
	// Siblings are the poses of a result, best first. Errors: fault.NotFound.
	Siblings(ctx context.Context, accountID, resultID string) ([]contract.DockingPose, error)
	// Best is the best pose of a run. Errors: fault.NotFound, also when there is none yet.
	Best(ctx context.Context, accountID, runID string) (poseID string, err error)
}

// Files are the files of accounts.
type Files interface {
	// OwnedAll finds those of the keys that the account has uploaded.
	OwnedAll(ctx context.Context, accountID string, keys []string) (map[string]engines.Object, error)
	// Keep stores a file that was made for the account, under a key by its content.
	Keep(ctx context.Context, accountID, name, mediaType string, content []byte) (engines.Object, error)
}

// Projects are versioned workspaces.
type Projects interface {
	// Content reads a revision, the head where version is 0. Errors: fault.NotFound.
	Content(ctx context.Context, accountID, projectID string, version int64) (content []byte, found int64, err error)
	// Create makes a project. Errors: those of the group.
	Create(ctx context.Context, accountID, key, name string, content []byte) (projectID string, version int64, err error)
	// Save appends a revision. Errors: fault.NotFound, fault.VersionConflict, those of the group.
	Save(ctx context.Context, accountID, key, projectID string, expectedVersion int64, content []byte) (version int64, err error)
}

// Picture is a rendering job as this group orders it.
type Picture struct {
	SceneFile   string // storage key
	Attachments []string
	JobName     string
	Engine      string
	Resolution  string
	Samples     *int
	FPS         *float64
	Parameters  map[string]string
}

// Jobs run renderings.
type Jobs interface {
	// Submit stores a job. Errors: those of the jobs' group.
	Submit(ctx context.Context, caller access.Principal, key string, p Picture) (contract.SubmitResponse, error)
	// Price is what a job is expected to cost. Errors: those of the jobs' group.
	Price(ctx context.Context, accountID string, p Picture) (contract.Pounds, error)
}

// Previews draw small pictures at once.
type Previews interface {
	// Draw draws a scene of the format mvsj or mvsx. Errors: ErrBusy, *UndrawableError.
	Draw(ctx context.Context, accountID string, scene []byte, format string, width, height int, transparent bool) ([]byte, error)
}

// ErrBusy says that no renderer is at hand.
var ErrBusy = errors.New("no renderer is at hand")

// UndrawableError says why a scene cannot be drawn.
type UndrawableError struct{ Reason string }

func (e *UndrawableError) Error() string { return e.Reason }

// Deps is what a Service needs; all are required but Model, Previews and Metrics.
type Deps struct {
	DB         *sqlx.DB
	Objects    *object.Store
	Structures *structures.Library
	Poses      Poses
	Files      Files
	Projects   Projects
	Jobs       Jobs
	Previews   Previews     // nil: previews answer that none is at hand
	Model      studio.Model // nil: the grammar alone
	Metrics    prometheus.Registerer
	Log        *slog.Logger
	Now        func() time.Time
}

// Service holds the rules of the group. It is safe for concurrent use.
type Service struct {
	deps    Deps
	store   store
	streams *stream.Streams
	metrics *metrics
	read    *otter.Cache[string, *scene.Structure] // by what their bytes are
}

// New returns a Service. It starts nothing.
func New(deps Deps) *Service {
	read := otter.Must(&otter.Options[string, *scene.Structure]{MaximumWeight: keptAtoms, Weigher: weight})
	return &Service{deps: deps, store: store{deps.DB}, streams: stream.New(deps.Log), metrics: newMetrics(deps.Metrics),
		read: read}
}

// weight is how many atoms a structure holds.
func weight(_ string, structure *scene.Structure) uint32 {
	atoms := 0
	for model := range structure.Models {
		atoms += len(structure.Table(model + 1).Atoms)
	}
	return uint32(min(atoms, math.MaxUint32))
}

// studio is the conversation's engine over what the account may see.
func (s *Service) studio(accountID string) (*studio.Studio, *library) {
	shelf := &library{service: s, accountID: accountID}
	return studio.New(shelf, s.deps.Model), shelf
}

// now is the time as Postgres keeps it.
func (s *Service) now() time.Time { return s.deps.Now().UTC().Truncate(time.Microsecond) }

// needs refuses a caller whose key lacks a scope that what is asked for takes beside the operation's own. Errors:
// fault.InsufficientScope.
func needs(ctx context.Context, scope, why string) error {
	if access.From(ctx).Has(scope) {
		return nil
	}
	return fault.New(fault.InsufficientScope, "%s takes the scope %s, which this key does not carry", why, scope)
}
