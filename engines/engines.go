// Package engines says what an engine is: a pure adapter between molfabric's tasks and one scientific program. It holds the
// interface, its value types and the registry. It runs no process, opens no network connection and knows no database; the
// worker runs what an engine describes, the scheduler stores what an engine plans. Each engine lives in a folder of its own
// below this one, and engines/enginestest is the suite that every one of them must pass.
package engines

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/molfabric/molfabric/internal/alignments"
	"github.com/molfabric/molfabric/internal/frames"
)

// Bounds on what an engine may hand over, so that no single shard can swell the queue or the database.
const (
	// MaxShardParamsBytes bounds Shard.Params: it travels in the queue message.
	MaxShardParamsBytes = 1 << 20
	// MaxSummaryBytes bounds Result.Summary: it is stored with the task's row.
	MaxSummaryBytes = 1 << 20
	// MaxShards bounds one job's plan: 10,000 ligands, their preparation chunks and the ranking fit easily.
	MaxShards = 20_000
)

// Engine adapts one scientific program. Every method is a pure function of its arguments, except that Collect reads the
// output files below its Dir; all may be called concurrently.
type Engine interface {
	// Spec describes the engine. It is constant for the life of the process.
	Spec() Spec
	// Plan cuts a request into shards. The same request always gives the same shards, in the same order. A request that the
	// engine cannot serve gives an *InvalidError that names the field.
	Plan(Request) ([]Shard, error)
	// Command tells how to run one shard. The process starts in dir, where the shard's inputs lie below in/ under their
	// Input.Name; it may write only below out/. Argv and file names are relative to dir.
	Command(Shard, Dir) (Command, error)
	// Collect reads the outputs of a process that exited with 0. Exit status 0 proves nothing: Collect checks that every
	// expected output exists, parses and is complete. Wrong or missing output is a *Failure.
	Collect(Shard, Dir) (Result, error)
}

// Progresser is an Engine that can read progress from its program's standard output.
type Progresser interface {
	// Progress parses one line (without its newline) and returns the finished fraction of the shard in [0, 1] and a short
	// message for people. ok is false when the line tells nothing about progress.
	Progress(line string) (fraction float64, message string, ok bool)
}

// Checkpointer is an Engine whose program saves finished work while it runs, so that the next attempt of an interrupted shard
// goes on from there.
type Checkpointer interface {
	// Checkpoint parses one line and returns the files, "checkpoint/<name>" below out/, that now hold finished work. Each was
	// moved into place whole; a name that is told again replaces the file of that name. The next attempt finds them at
	// in/resume/<name>, unless they have been lost: a resume file may always be missing. ok is false when the line tells of none.
	//
	// Names are words of letters, digits, "_", "-" and "." between slashes, at most 200 bytes in all; a line names at most 100,
	// a task at most queue.MaxCheckpoints, and all of them hold at most Needs.ScratchBytes. What is beyond is left out. The files
	// of a line are stored one by one and about once a second: what belongs together belongs into one file, or carries its step
	// in its name. What an attempt has resumed from is given to the next one too and need not be saved again. The inputs of a
	// task never change between its attempts. A success ends the use of its checkpoints: they are no outputs.
	Checkpoint(line string) (names []string, ok bool)
}

// Explainer is an Engine that can tell more about a non-zero exit than the exit code does.
type Explainer interface {
	// Explain returns why the process failed, or nil when it cannot say more than the exit code. logTail is the end of what
	// the process printed (standard output and error together).
	Explain(shard Shard, dir Dir, exitCode int, logTail string) *Failure
}

// Forecaster is an Engine that can tell more of a request than its plan does, before it is submitted.
type Forecaster interface {
	// Foretell returns what the caller should know of a request, as a JSON object, or nil when there is nothing to tell. It is
	// pure, and returns the same *InvalidError that Plan would.
	Foretell(Request) (json.RawMessage, error)
}

// Typical is an Engine that has a price for a request that says nothing of its work: that of a case which is usual.
type Typical interface {
	// Typical completes a request that says nothing of what is to be computed, and says for people what that assumes. A request
	// that says more comes back as it is, with "". It is pure. Errors: *InvalidError.
	Typical(Request) (completed Request, assumes string, err error)
}

// ImagePinner is an Engine whose requests may name the container image that must run a shard.
type ImagePinner interface {
	// Image is the digest that the shard asks for, "sha256:…", or "" for any. A worker whose tasks run in containers refuses a
	// shard that asks for another image than its own; what a worker without one does is up to the engine's programs.
	Image(Shard) string
}

// Spec describes an engine to the rest of the fabric.
type Spec struct {
	ID       string   // canonical simulator id of doc/contract.md §1, e.g. "autodock-vina"
	Aliases  []string // other accepted names, already normalised (lower case; no spaces, "_" or "-")
	Title    string   // name for people, e.g. "AutoDock Vina"
	JobTypes []string // of doc/contract.md §2.1 that it serves; empty means simulation alone
	Hardware string   // worker class that runs it: "cpu" or "gpu"
	GPU      bool     // whether shards of it may ask for devices (Resources.GPUs), also where Hardware is "cpu"
	// Helper says that it runs shards of other engines' plans (Shard.Engine), and no job of its own. Workers offer it by itself:
	// what it needs may be on few of them.
	Helper bool
	// Brought says that it runs what an operator has built, and that a deployment without it is whole.
	Brought bool
	// Helpers are the helpers, by id, that its plans may name: who lists the engine lists them too.
	Helpers   []string
	Citations []Citation // papers to cite for a result of this engine
	Probe     Probe
}

// Probe finds out whether an installation can run the engine.
type Probe struct {
	// Argv prints the versions of the programs involved; resolved like Command.Argv.
	Argv []string
	// Check reads what Argv printed and returns program name → version. An installation that must not be used (too old,
	// known to be wrong) gives an error with the reason and the way out.
	Check func(stdout []byte) (map[string]string, error)
}

// Citation is a paper that a user of the engine should cite.
type Citation struct {
	Text string `json:"text"`
	DOI  string `json:"doi"`
}

// Request is what Plan works from. It has been validated against the API's schema and the rules of its job type, and completed
// with its defaults.
type Request struct {
	JobID       string // "job_…": a stable source of a default seed
	JobName     string // for people: the title of what is made for them; "" when the caller gave none
	JobType     string // one of the engine's Spec.JobTypes
	SceneFile   Object // the job's sceneFile; of an estimate, which has none, only a placeholder key
	Attachments []Object
	Params      json.RawMessage // simulationParams, canonical JSON; "{}" when there are none; ParamsOf reads them
	TaskCount   int             // of a simulation; 0 when the caller left it out
	Frames      []frames.Range  // of a render job: which frames, ascending and without overlap; nil for every other type
	// OutputFormat is EXR, PNG or JPEG, of a render job; "" when the caller left it out.
	OutputFormat string
	Parameters   map[string]string // job-bundle style; nil when there are none
	Metadata     json.RawMessage   // as it came, unknown members included; "{}" when there is none
	Recovery     string            // standard or resumable
	Found        Found             // what the request's names of public data stand for

	remembered remembered
}

// Found is what the deployment has looked up for a request before it is planned: an engine reaches no database. An estimate
// looks nothing up, so a name may be missing here. Wants says how it gets here.
type Found struct {
	Structures map[string]Object    // entries of the Protein Data Bank as mmCIF, by id in upper case
	Components map[string]Component // of the Chemical Component Dictionary, by id in upper case
	Contents   map[string]Contents  // what stored files hold, by WantedContent.Path; of most estimates nobody has read any
	// Prepared is an earlier preparation of the request's receptor; nil when there is none.
	Prepared *PreparedReceptor
	// Database is the sequence database that the request names; nil in an estimate that names none of the deployment's.
	Database *SequenceDatabase
	// Weights are those of the model that the engine runs; nil where the deployment has none.
	Weights *Weights
	// Alignment is the database that chains are aligned to; nil where the deployment has none.
	Alignment *alignments.Database
	// Scene is what the scene file of a molecular job shows; nil in an estimate, which has none.
	Scene *Scene
	// Rendered is what frames of the same scene file have taken before; nil when none have been rendered.
	Rendered *RenderCost
	// RenderShards are into how many shards frames of the same scene file were cut when they were last rendered, by what they have
	// in common (film.Likeness).
	RenderShards map[string]int
}

// Formats of a scene file beside those of plain structures, which are called as MolViewSpec calls them: mmcif, bcif, pdb, pdbqt,
// sdf, mol2, gro, xyz.
const (
	SceneMVSJ = "mvsj" // one JSON document of MolViewSpec
	SceneMVSX = "mvsx" // a zip archive of index.mvsj and what it refers to
)

// Scene is what a molecular job draws. Its document has been found to be valid.
type Scene struct {
	Format string       // SceneMVSJ, SceneMVSX, or that of a plain structure
	States []SceneState // in the order of the document; one for a plain structure
	// References are the files beside the scene that it refers to, each once. Those within an archive are not among them.
	References []SceneReference
}

// SceneState is one state ("snapshot") of a scene.
type SceneState struct {
	Key, Title string
	// Duration is how long it is shown, its own animation included; 0 where the scene does not say.
	Duration time.Duration
	Animated bool // it changes while it is shown
}

// SceneReference is a reference in a scene, letter by letter as it stands there, and the job's own file that it means.
type SceneReference struct {
	URL    string
	Object Object
}

// RenderCost is what frames of a scene were measured to take on one core.
type RenderCost struct {
	LoadCPUSeconds  float64 // to open the scene, once a process
	FrameCPUSeconds float64 // a frame, after that
	Pixels, Samples int64   // of such a frame; 0 where nobody said
	Stated          bool    // size or samples were the request's, and not the scene's own
}

// FrameAt is what a frame of so many pixels and samples is expected to take. What is 0, or was not measured, changes nothing.
func (c RenderCost) FrameAt(pixels, samples int64) float64 {
	seconds := c.FrameCPUSeconds
	if pixels > 0 && c.Pixels > 0 {
		seconds *= float64(pixels) / float64(c.Pixels)
	}
	if samples > 0 && c.Samples > 0 {
		seconds *= float64(samples) / float64(c.Samples)
	}
	return seconds
}

// SequenceDatabase is a BLAST database of the deployment. Checksum is the lower-case hex SHA-256 of the database as a whole.
type SequenceDatabase struct {
	Name       string
	Version    string
	Type       string // prot or nucl
	ReleasedOn string // YYYY-MM-DD
	Checksum   string
	Sequences  int64
	Residues   int64             // bases of a nucleotide database
	Files      map[string]Object // by file name without folder, e.g. "swissprot.phr"; all begin with Name and "."
}

// Weights are the parameters of a model, which an operator has put into the deployment. Digest is the lower-case hex SHA-256 of all
// of them.
type Weights struct {
	Model         string
	Digest        string
	Licence       string
	CommercialUse bool
	Trained       bool              // false for random values, whose results mean nothing
	Bytes         int64             // of all files
	Files         map[string]Object // by file name without folder, e.g. "model.safetensors"
}

// Component is a chemical component as a dictionary defines it.
type Component struct {
	Name   string `json:"name"`
	SMILES string `json:"smiles"`
}

// PreparedReceptor is what an earlier job has made of a receptor. Digests are lower-case hex SHA-256.
type PreparedReceptor struct {
	CacheKey               string
	ReceptorIdentitySHA256 string
	PreparationSHA256      string
	ToolchainSHA256        string
	Files                  map[string]Object // by Artifact.Name of the preparing shard's outputs
}

// Object is a stored file that a request or a shard refers to. SHA256 (hex) and ByteSize are what the file must be found to
// be; SHA256 is empty when nobody has stated it.
type Object struct {
	StorageKey string `json:"storageKey"`
	SHA256     string `json:"sha256,omitempty"`
	ByteSize   int64  `json:"byteSize"`
}

// Shard is the unit of work: one task, one process. A stage starts when every shard of the stage before it has ended.
type Shard struct {
	Stage      string          `json:"stage"`      // e.g. "prepare"
	StageIndex int             `json:"stageIndex"` // 0, 1, 2 …; shards of a plan are ordered by it
	Name       string          `json:"name"`       // unique in the plan, e.g. "dock-00012"; a file-name-safe word
	Params     json.RawMessage `json:"params"`     // the engine's own; at most MaxShardParamsBytes
	// Engine is the id of the engine that runs the shard, where it is not the one that the job was submitted to.
	Engine string    `json:"engine,omitempty"`
	Inputs []Input   `json:"inputs"`
	Needs  Resources `json:"needs"`
	// Essential shards decide the job: when one fails for good, later stages are not started and the job fails.
	Essential bool `json:"essential"`
	// Preparation says that the shard only makes the job's input ready and has nothing of its own to show. The first stages of a
	// plan may consist of such shards: a job that fails for its user's input before it has used anything beyond them is free.
	Preparation bool `json:"preparation,omitempty"`
	// Items counts what the shard works on (ligands, queries, frames), for progress and reports.
	Items int `json:"items"`
	// ExpectedCPUSeconds is the engine's own guess for quotes and for starting the longest shards first.
	ExpectedCPUSeconds float64 `json:"expectedCpuSeconds"`
	// MostCPUSeconds is what a shard may come to that decides by itself how much it does, on the same scale; 0 for all others. What
	// is set aside for a job covers it.
	MostCPUSeconds float64 `json:"mostCpuSeconds,omitempty"`
	// ExpectedGPUSeconds is the same for devices: seconds × devices, as if it had each for itself; 0 where it asks for none.
	ExpectedGPUSeconds float64 `json:"expectedGpuSeconds,omitempty"`
}

// Input is a file the worker puts at in/<Name> before the process starts. Exactly one of Object and From is set.
type Input struct {
	Name   string  `json:"name"`
	Object *Object `json:"object,omitempty"`
	From   *From   `json:"from,omitempty"`
	// Optional says of an Object that the shard can do without it: one that is lost or damaged is left out.
	Optional bool `json:"optional,omitempty"`
}

// From refers to an output of an earlier stage. With Shard empty it means that output of every shard of the stage that
// succeeded and has it: each is then staged at in/<Input.Name>/<shard name>/<output name>. A named shard that did not succeed makes
// the depending shard fail with the same failure class.
type From struct {
	Stage  string `json:"stage"`
	Shard  string `json:"shard,omitempty"`
	Output string `json:"output"` // Artifact.Name
	// Optional says of a named shard that the depending one can do without it: the input is left out when it has no such output.
	Optional bool `json:"optional,omitempty"`
}

// Resources are what a shard may use. The worker enforces them as caps.
type Resources struct {
	CPUs int `json:"cpus"` // slots taken while the process lives, and threads it may keep busy
	// MoreCPUs are slots beside CPUs that it can make use of: the worker gives it those that nobody else wants when it starts, and
	// the engine's Command gets the sum as CPUs. What it finds must not depend on them.
	MoreCPUs    int   `json:"moreCpus,omitempty"`
	MemoryBytes int64 `json:"memoryBytes"` // resident memory of the whole process tree
	// ReservedBytes are what one of its processes sets aside besides and does not use. Where no control group can be had, memory
	// is bounded by what each process has set aside.
	ReservedBytes int64         `json:"reservedBytes,omitempty"`
	FileBytes     int64         `json:"fileBytes"`    // largest single file it may write
	Processes     int           `json:"processes"`    // processes and threads alive at once
	TimeLimit     time.Duration `json:"timeLimit"`    // wall time, then the shard fails with class TIMEOUT
	MaxLogBytes   int64         `json:"maxLogBytes"`  // of standard output and error kept; the rest is counted and dropped
	ScratchBytes  int64         `json:"scratchBytes"` // sum of files below out/ that may be collected
	// GPUs are the devices that it computes on; a shard with any runs on a worker of the class "gpu", whatever its engine's class.
	GPUs int `json:"gpus,omitempty"`
	// GPUMemoryBytes is the most memory it takes on each of them: small shards may share a device where the deployment allows it.
	GPUMemoryBytes int64 `json:"gpuMemoryBytes,omitempty"`
}

// Hardware of a worker.
const (
	HardwareCPU = "cpu"
	HardwareGPU = "gpu"
)

// WorkerClass is which workers run a shard: those that have the hardware and offer the engine. Each class has a queue of its own.
type WorkerClass struct {
	Hardware string // HardwareCPU or HardwareGPU
	Engine   string // Spec.ID
}

// Class is the worker class that runs a shard of the engine that spec describes.
func (s Shard) Class(spec Spec) WorkerClass {
	if s.Needs.GPUs > 0 {
		return WorkerClass{HardwareGPU, spec.ID}
	}
	return WorkerClass{spec.Hardware, spec.ID}
}

// ExpectedWallSeconds is how long the shard is expected to take on the cores and devices that it asks for, without those that a
// worker may add.
func (s Shard) ExpectedWallSeconds() float64 {
	return max(s.ExpectedCPUSeconds/float64(max(s.Needs.CPUs, 1)), s.ExpectedGPUSeconds/float64(max(s.Needs.GPUs, 1)))
}

// Classes are the worker classes that shards of the engine may need, its own first.
func (s Spec) Classes() []WorkerClass {
	classes := []WorkerClass{{s.Hardware, s.ID}}
	if s.GPU && s.Hardware != HardwareGPU {
		classes = append(classes, WorkerClass{HardwareGPU, s.ID})
	}
	return classes
}

// Dir is a task's private directory on the worker: in/ holds the staged inputs, out/ what the process wrote.
type Dir string

// In is the path of a staged input.
func (d Dir) In(name string) string { return filepath.Join(string(d), "in", name) }

// Out is the path of an output.
func (d Dir) Out(name string) string { return filepath.Join(string(d), "out", name) }

// Command is a process to start in a task's directory.
type Command struct {
	// Argv[0] is a program name that the runner resolves: "python" is the deployment's scientific Python, anything else is
	// looked up on the PATH of the sandbox.
	Argv []string
	// Env is the whole environment beside PATH, HOME and TMPDIR.
	Env map[string]string
	// Files are written read-only below the directory before the start: relative path → content. They carry the
	// engine's embedded scripts and request documents.
	Files map[string][]byte
}

// Result is what a shard produced.
type Result struct {
	// Summary is the typed result for people and later stages, as JSON; at most MaxSummaryBytes.
	Summary   json.RawMessage `json:"summary,omitempty"`
	Artifacts []Artifact      `json:"artifacts"`
	// Failures names the items of the shard that failed while the shard went on (broken ligands of a library).
	Failures []ItemFailure `json:"failures,omitempty"`
	// Programs is program → version as the process itself reported them.
	Programs map[string]string `json:"programs,omitempty"`
	Seed     *int64            `json:"seed,omitempty"`
}

// Artifact is one output file below out/.
type Artifact struct {
	Name      string `json:"name"` // path below out/, and the name users see
	Role      Role   `json:"role"`
	MediaType string `json:"mediaType"`
	Format    string `json:"format"`
	Frame     *int64 `json:"frame,omitempty"` // number of the frame that the file shows; nil for what is none
}

// Role says what an artifact is to its user.
type Role string

// Roles of an artifact. All but Intermediate appear in a job's outputs.
const (
	RoleResult       Role = "result"
	RoleFrame        Role = "frame"
	RoleLog          Role = "log"
	RolePreview      Role = "preview"
	RoleProvenance   Role = "provenance"
	RoleCheckpoint   Role = "checkpoint"
	RoleIntermediate Role = "intermediate" // input of a later stage, not shown
)

// ItemFailure names one item of a shard (a ligand, a query) that failed, and at which step.
type ItemFailure struct {
	Item    string `json:"item"`
	Label   string `json:"label,omitempty"`
	Step    string `json:"step"` // for docking: parse, protonate, embed, dock or parse_output
	Message string `json:"message"`
}

// FailureClass decides who is at fault, and with it retry and billing.
type FailureClass string

// Failure classes of doc/contract.md §3. USER_INPUT is never retried; SYSTEM is retried without counting and
// never billed.
const (
	UserInput FailureClass = "USER_INPUT"
	Executor  FailureClass = "EXECUTOR"
	System    FailureClass = "SYSTEM"
	Timeout   FailureClass = "TIMEOUT"
	License   FailureClass = "LICENSE"
	CostLimit FailureClass = "COST_LIMIT"
)

// Failure is a typed failure of one shard. Message is for the job's owner: it names what was wrong and the next step, and
// holds no path or secret of the worker.
type Failure struct {
	Class   FailureClass  `json:"class"`
	Code    string        `json:"code"` // e.g. "RECEPTOR_UNREADABLE"
	Message string        `json:"message"`
	Items   []ItemFailure `json:"items,omitempty"`
	// Unbegun says that the shard found nothing to work on before its work began: what it used until then is free.
	Unbegun bool `json:"unbegun,omitempty"`
}

// PreparationStages is how many stages of a plan, from its first on, consist of preparing shards alone.
func PreparationStages(plan []Shard) int {
	for _, shard := range plan { // in the order of their stages
		if !shard.Preparation {
			return shard.StageIndex
		}
	}
	return 0
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// InvalidError is a request that an engine refuses. Field is the JSON path below simulationParams, or
// that of another member that the engine plans from: "sceneFile", "taskCount", "metadata.samples".
type InvalidError struct {
	Field   string
	Message string // says what is allowed
}

func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Message) }
