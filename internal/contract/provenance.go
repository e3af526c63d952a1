package contract

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/internal/job"
)

// Provenance is everything that is known of how a job's results came to be.
type Provenance struct {
	Schema     string                 `json:"schema" enum:"molfabric.provenance/v1" doc:"Form of this document."`
	JobID      string                 `json:"jobId" doc:"Id of the job."`
	JobType    string                 `json:"jobType" doc:"Kind of job."`
	JobName    string                 `json:"jobName" doc:"Empty when none was given."`
	Status     job.Status             `json:"status" doc:"State of the job."`
	Complete   bool                   `json:"complete" doc:"False while the job may still add to this document."`
	Attempts   int                    `json:"attempts" doc:"How often the job was started; a retry starts it again."`
	CreatedAt  time.Time              `json:"createdAt" doc:"When the job was submitted."`
	StartedAt  *time.Time             `json:"startedAt" doc:"When its first task started; null before."`
	FinishedAt *time.Time             `json:"finishedAt" doc:"When it ended; null before."`
	Fabric     ProvenanceFabric       `json:"fabric" doc:"The service that ran the job, as it is now."`
	Engine     ProvenanceEngine       `json:"engine" doc:"The engine that did the science."`
	Request    ProvenanceRequest      `json:"request" doc:"What was asked for, with every default filled in."`
	Seeds      []int64                `json:"seeds" doc:"Seeds of random choices in the tasks' parameters, each once, ascending."`
	Inputs     []ProvenanceInput      `json:"inputs" doc:"Stored files that the tasks started from, by storage key."`
	Executions []ProvenanceExecution  `json:"executions" doc:"Every attempt of every task that has ended, in the order of the plan."`
	Outputs    []ProvenanceOutput     `json:"outputs" doc:"Files that the job made, in the order of the plan, then by name."`
	Counts     ProvenanceCounts       `json:"counts" doc:"How many inputs, executions and outputs there are; a list shows the first 10,000."`
	Cost       Cost                   `json:"cost" doc:"Money, in pounds."`
	Citations  []ProvenanceCitation   `json:"citations" doc:"Papers to cite for a result of the engine."`
	Documents  []ProvenanceAttachment `json:"documents" doc:"Provenance files that the engine itself wrote, in the order of the plan; the first 100."`
}

// ProvenanceFabric is the program that ran a job.
type ProvenanceFabric struct {
	Name    string `json:"name" example:"molfabric" doc:"The service."`
	Version string `json:"version" doc:"Empty when the build does not know it."`
}

// ProvenanceEngine is an engine and what its tasks reported of themselves.
type ProvenanceEngine struct {
	ID       string              `json:"id" example:"autodock-vina" doc:"Canonical simulator id."`
	Title    string              `json:"title" example:"AutoDock Vina" doc:"Name for people; empty when the engine is no longer served here."`
	Programs map[string][]string `json:"programs" doc:"Program to the versions that its tasks reported; more than one when workers differed."`
}

// ProvenanceRequest is a submission as it is kept.
type ProvenanceRequest struct {
	SHA256   string                `json:"sha256" doc:"Fingerprint of the request as it is kept: two jobs with the same request have the same."`
	ByteSize int64                 `json:"byteSize" minimum:"0" doc:"Size of the request as it is kept."`
	Content  *ProvenanceSubmission `json:"content" doc:"The request itself, without its idempotency key; null when it is larger than 256 KiB."`
}

// ProvenanceSubmission is the submission, with every member as it is kept.
type ProvenanceSubmission json.RawMessage

// Schema describes an object with the members of a submission; it is shown and never read.
func (ProvenanceSubmission) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Nullable: true}
}

// MarshalJSON writes the text.
func (p ProvenanceSubmission) MarshalJSON() ([]byte, error) { return p, nil }

// UnmarshalJSON keeps the text.
func (p *ProvenanceSubmission) UnmarshalJSON(text []byte) error {
	*p = append((*p)[:0], text...)
	return nil
}

// ProvenanceInput is a stored file that tasks started from.
type ProvenanceInput struct {
	StorageKey string  `json:"storageKey" doc:"Where the file lies."`
	SceneFile  bool    `json:"sceneFile" doc:"Whether it is the job's sceneFile."`
	SHA256     *string `json:"sha256" doc:"Digest that the worker checked; null when nobody had stated one."`
	ByteSize   *int64  `json:"byteSize" doc:"Size in bytes; null when no task has read it."`
}

// ProvenanceExecution is one attempt of one task.
type ProvenanceExecution struct {
	TaskID    string `json:"taskId" doc:"Id of the task."`
	TaskIndex int    `json:"taskIndex" doc:"Position of the task in the job's plan."`
	Name      string `json:"name" doc:"Name of the task."`
	Stage     string `json:"stage" doc:"Stage of the task."`
	TaskAttempt
}

// ProvenanceOutput is a file that a job made.
type ProvenanceOutput struct {
	ArtifactID string    `json:"artifactId" doc:"Id of the file."`
	TaskIndex  int       `json:"taskIndex" doc:"Position of the task that made it."`
	Name       string    `json:"name" doc:"File name."`
	Role       string    `json:"role" enum:"result,frame,log,preview,provenance,checkpoint" doc:"What the file is."`
	StorageKey string    `json:"storageKey" doc:"Where the file lies."`
	SHA256     string    `json:"sha256" doc:"64 lower-case hexadecimal digits."`
	ByteSize   int64     `json:"byteSize" doc:"Size in bytes."`
	MediaType  string    `json:"mediaType" doc:"Media type."`
	Format     string    `json:"format" doc:"Format of the content."`
	CreatedAt  time.Time `json:"createdAt" doc:"When it was stored."`
}

// ProvenanceCounts are the whole lengths of a provenance's lists.
type ProvenanceCounts struct {
	Inputs     int `json:"inputs" doc:"Files that the job read."`
	Executions int `json:"executions" doc:"Attempts of tasks."`
	Outputs    int `json:"outputs" doc:"Files that the job made."`
}

// ProvenanceCitation is a paper to cite.
type ProvenanceCitation struct {
	Text string `json:"text" doc:"The reference."`
	DOI  string `json:"doi" example:"10.1002/jcc.21334" doc:"DOI of the paper, where there is one."`
}

// ProvenanceAttachment is a provenance file that an engine wrote.
type ProvenanceAttachment struct {
	ArtifactID   string    `json:"artifactId" doc:"Id of the file."`
	TaskIndex    int       `json:"taskIndex" doc:"Position of the task that made it."`
	Name         string    `json:"name" doc:"File name."`
	SHA256       string    `json:"sha256" doc:"64 lower-case hexadecimal digits."`
	URL          string    `json:"url" doc:"Short-lived address of the file; never store it."`
	URLExpiresAt time.Time `json:"urlExpiresAt" doc:"Until when the address is good."`
}
