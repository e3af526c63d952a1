package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/jobs/parameters"
)

// defaultRecoveryMode is what a job gets that says nothing about recovery.
const defaultRecoveryMode = "standard"

// MaxBodyBytes bounds submit and estimate: the legal maximum of a 10,000-ligand library is 138 MB (doc/contract.md §8).
const MaxBodyBytes = 160 << 20

// SubmitRequest is a job to run (doc/contract.md §2.1). Members that have a default are pointers: huma cannot otherwise tell an
// explicit value from an absent one.
type SubmitRequest struct {
	JobType          *string           `json:"jobType,omitempty" enum:"render,simulation,molecular,pipeline" default:"render" doc:"Kind of job."`
	SceneFile        string            `json:"sceneFile,omitempty" doc:"Storage key of the input: for docking, the receptor. Required for every job type."`
	Recovery         *Recovery         `json:"recovery,omitempty" doc:"What happens to a task whose worker is lost."`
	FrameStart       *int64            `json:"frameStart,omitempty" doc:"First frame, inclusive; given together with frameEnd. Render jobs only. A render job that names no frame renders frame 1."`
	FrameEnd         *int64            `json:"frameEnd,omitempty" doc:"Last frame, inclusive; not less than frameStart. Render jobs only."`
	FrameStep        *int64            `json:"frameStep,omitempty" minimum:"1" doc:"Render every Nth frame of the range; 1 when left out. Render jobs only."`
	Parameters       map[string]string `json:"parameters,omitempty" doc:"Job-bundle style parameters. Frames or FrameRange of a render job name its frames in the range syntax of Open Job Description, e.g. 1-100:10 or 1,3,5-9."`
	OutputFormat     string            `json:"outputFormat,omitempty" enum:"EXR,PNG,JPEG" doc:"Render jobs only."`
	Simulator        string            `json:"simulator,omitempty" doc:"Simulator id or one of its aliases. Required for simulation jobs."`
	TaskCount        *int              `json:"taskCount,omitempty" minimum:"1" doc:"Number of independent parallel tasks, at most 20000. Simulation jobs only."`
	SimulationParams *SimulationParams `json:"simulationParams,omitempty" doc:"Parameters of the simulator."`
	IdempotencyKey   string            `json:"idempotencyKey,omitempty" minLength:"8" maxLength:"255" doc:"The header Idempotency-Key in the body; where both are given they must be equal."`
	DockingRequest   *DockingRequest   `json:"dockingRequest,omitempty" doc:"The caller's identification of a docking run."`
	Metadata         Metadata          `json:"metadata,omitempty" doc:"Known members are described; unknown ones are kept as they are."`
	Priority         *int64            `json:"priority,omitempty" deprecated:"true" doc:"Ignored: the account's plan decides the priority."`
	JobName          string            `json:"jobName,omitempty" maxLength:"1024" doc:"Name for people."`
	Attachments      []string          `json:"attachments,omitempty" maxItems:"1000" doc:"Storage keys of further files that the input refers to."`
	NoReuse          bool              `json:"noReuse,omitempty" doc:"Runs everything anew. Otherwise tasks that the account has run before, with the same inputs, parameters and programs, are not run again: their outputs are copied, at no charge."`
}

// Recovery says what happens to a task whose worker is lost.
type Recovery struct {
	Mode *string `json:"mode,omitempty" enum:"standard,resumable" default:"standard" doc:"standard starts the task again; resumable goes on from its last checkpoint where the engine makes any."`
}

// DockingRequest identifies a docking run on the caller's side.
type DockingRequest struct {
	RequestID      string `json:"requestId" minLength:"1" maxLength:"255" doc:"The caller's id of the request."`
	RunID          string `json:"runId" minLength:"1" maxLength:"255" doc:"The caller's id of the run."`
	IdempotencyKey string `json:"idempotencyKey" minLength:"8" maxLength:"255" doc:"The same as the header Idempotency-Key."`
}

// EstimateMetadata is the metadata of an estimate: the members of doc/contract.md §2.3 and no others.
type EstimateMetadata struct {
	Software           string   `json:"software,omitempty" doc:"Render host or engine; drives script routing and pricing."`
	Renderer           string   `json:"renderer,omitempty" doc:"Engine when software is not set."`
	InstanceType       string   `json:"instanceType,omitempty" deprecated:"true" doc:"Ignored."`
	RenderTimeMinutes  *float64 `json:"renderTimeMinutes,omitempty" doc:"Expected time of one frame, in minutes."`
	TaskRuntimeMinutes *float64 `json:"taskRuntimeMinutes,omitempty" doc:"Expected time of one task, in minutes."`
	TotalSizeGB        *float64 `json:"totalSizeGB,omitempty" doc:"Size of all inputs, in GB."`
	Resolution         string   `json:"resolution,omitempty" pattern:"^[0-9]+x[0-9]+$" patternDescription:"WIDTHxHEIGHT" doc:"Resolution of molecular jobs and estimates, in pixels."`
	FPS                *float64 `json:"fps,omitempty" doc:"Frame rate."`
	RenderEngine       string   `json:"renderEngine,omitempty" enum:"molstar,cycles" doc:"Molecular render tier: raster or ray-traced."`
	Samples            *int64   `json:"samples,omitempty" doc:"Cycles samples a frame."`
}

// Metadata is a submission's metadata as it came, byte for byte: a number of 20 digits survives, and so do unknown members.
type Metadata json.RawMessage

// Schema describes an object with known members and any others.
func (Metadata) Schema(r huma.Registry) *huma.Schema {
	described := *r.Schema(reflect.TypeFor[EstimateMetadata](), false, "")
	described.AdditionalProperties = true
	return &described
}

// UnmarshalJSON keeps the text.
func (m *Metadata) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return errors.New("expected object")
	}
	*m = bytes.Clone(text)
	return nil
}

// MarshalJSON writes the text.
func (m Metadata) MarshalJSON() ([]byte, error) { return m, nil }

// SimulationParams is the union of the engines' parameters.
type SimulationParams = parameters.SimulationParams

// EstimateRequest is a job to price (doc/contract.md §2.5). Unlike a submission it needs no input file; with one it is priced as it
// would be submitted.
type EstimateRequest struct {
	JobType          *string           `json:"jobType,omitempty" enum:"render,simulation,molecular" default:"render" doc:"Kind of job."`
	FrameStart       *int64            `json:"frameStart,omitempty" doc:"First frame, inclusive."`
	FrameEnd         *int64            `json:"frameEnd,omitempty" doc:"Last frame, inclusive."`
	FrameStep        *int64            `json:"frameStep,omitempty" minimum:"1" doc:"Every Nth frame is quoted."`
	Parameters       map[string]string `json:"parameters,omitempty" doc:"Job-bundle style parameters, for example FrameRange."`
	Simulator        string            `json:"simulator,omitempty" doc:"Simulator id or one of its aliases. Required for simulation jobs."`
	TaskCount        *int              `json:"taskCount,omitempty" minimum:"1" doc:"Number of independent parallel tasks."`
	SimulationParams *SimulationParams `json:"simulationParams,omitempty" doc:"Parameters of the simulator. Without the work of a docking or an OpenMM run a typical one is priced, and the answer's assumed says which."`
	Metadata         *EstimateMetadata `json:"metadata,omitempty" doc:"Unknown members are refused."`
	Recovery         *Recovery         `json:"recovery,omitempty" doc:"What happens to a task whose worker is lost."`
	SceneFile        string            `json:"sceneFile,omitempty" doc:"Storage key of the job's input file, where the account has it: then the answer knows what the file holds, and which tasks the account has run before. An estimate without an account has none."`
	Attachments      []string          `json:"attachments,omitempty" maxItems:"1000" doc:"Storage keys of further files that the input refers to; only with sceneFile."`
	NoReuse          bool              `json:"noReuse,omitempty" doc:"Prices a submission with noReuse, which runs every task."`
}
