package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/job"
)

// pageSize is the largest page that the API serves; lists that are read whole are read in such pages.
const pageSize = 100

// Receipt is the answer to a submission.
type Receipt struct {
	Document
	JobID            string      `json:"jobId"`
	JobType          string      `json:"jobType"`
	EstimatedCost    json.Number `json:"estimatedCost"` // in Currency's main unit
	Currency         string      `json:"currency"`
	Status           job.Status  `json:"status"`
	Provider         string      `json:"provider"`
	Message          string      `json:"message"`
	IdempotentReplay bool        `json:"idempotentReplay"`
	Receptor         *Forecast   `json:"receptor"` // of a docking
}

// Forecast is what a docking would be done into, as far as the receptor's file tells.
type Forecast struct {
	Box struct {
		Source         string    `json:"source"`
		CenterAngstrom []float64 `json:"centerAngstrom"` // nil while it is not known
		SizeAngstrom   []float64 `json:"sizeAngstrom"`
		Ligand         *struct {
			ComponentID   string `json:"componentId"`
			Chain         string `json:"chain"`
			Residue       int    `json:"residue"`
			InsertionCode string `json:"insertionCode"`
			HeavyAtoms    int    `json:"heavyAtoms"`
		} `json:"ligand"`
	} `json:"box"`
	Components []ComponentFate `json:"components"`
	Notes      []string        `json:"notes"`
}

// ComponentFate is what becomes of the molecules of one component of a receptor.
type ComponentFate struct {
	Component string   `json:"component"`
	Name      string   `json:"name"`
	Class     string   `json:"class"`
	Status    string   `json:"status"` // kept or removed
	Why       string   `json:"why"`
	Option    string   `json:"option"` // of receptorPreparation; "" where none changes it
	Count     int      `json:"count"`
	Residues  []string `json:"residues"`
}

// Estimate is a price; amounts are in Currency's main unit.
type Estimate struct {
	Document
	EstimatedCost json.Number `json:"estimatedCost"`
	Currency      string      `json:"currency"`
	Breakdown     struct {
		Compute  json.Number `json:"compute"`
		Software json.Number `json:"software"`
		Storage  json.Number `json:"storage"`
		Egress   json.Number `json:"egress"`
		StartFee json.Number `json:"startFee"`
	} `json:"breakdown"`
	VariableRates struct {
		HardwareRate json.Number `json:"hardwareRate"` // a core-hour
		EgressRate   json.Number `json:"egressRate"`   // a GB
	} `json:"variableRates"`
	Range struct {
		Low    json.Number `json:"low"`
		Likely json.Number `json:"likely"`
		High   json.Number `json:"high"` // what a submission holds, and the most it can cost
	} `json:"range"`
	Receptor *Forecast `json:"receptor"` // of a docking whose receptor the server knows
}

// Job is the whole state of a job.
type Job struct {
	Document
	JobID        string     `json:"jobId"`
	JobType      string     `json:"jobType"`
	JobName      string     `json:"jobName"`
	Simulator    *string    `json:"simulator"`
	Status       job.Status `json:"status"`
	Terminal     bool       `json:"terminal"`
	StatusReason *string    `json:"statusReason"`
	Progress     Progress   `json:"progress"`
	Queue        *struct {
		Position int `json:"position"`
	} `json:"queue"`
	Cost          Cost           `json:"cost"`
	Attempts      int            `json:"attempts"`
	Error         *JobError      `json:"error"`
	StatusHistory []StatusChange `json:"statusHistory"`
	CreatedAt     time.Time      `json:"createdAt"`
	UpdatedAt     time.Time      `json:"updatedAt"`
	StartedAt     *time.Time     `json:"startedAt"`
	FinishedAt    *time.Time     `json:"finishedAt"`
	Preview       *Preview       `json:"preview"`
}

// Progress is how far a job is.
type Progress struct {
	Percent float64 `json:"percent"` // 0 to 100
	Stage   string  `json:"stage"`
	Message string  `json:"message"`
	Tasks   struct {
		Total     int `json:"total"`
		Pending   int `json:"pending"`
		Queued    int `json:"queued"`
		Running   int `json:"running"`
		Succeeded int `json:"succeeded"`
		Failed    int `json:"failed"`
		Cancelled int `json:"cancelled"`
	} `json:"tasks"`
	FramesDone  *int `json:"framesDone"`  // of a rendering; nil where nobody counts frames
	FramesTotal *int `json:"framesTotal"` // the same
}

// Cost is a job's money, in Currency's main unit. Final is nil until the job has ended.
type Cost struct {
	Estimated json.Number  `json:"estimated"`
	Held      json.Number  `json:"held"`
	Accrued   json.Number  `json:"accrued"`
	Final     *json.Number `json:"final"`
	Currency  string       `json:"currency"`
}

// JobError is why a job failed.
type JobError struct {
	Code         string `json:"code"`
	Message      string `json:"message"`
	FailureClass string `json:"failureClass"`
	Retryable    bool   `json:"retryable"`
}

// StatusChange is one entry of a job's history.
type StatusChange struct {
	Status job.Status `json:"status"`
	At     time.Time  `json:"at"`
	Reason string     `json:"reason"`
}

// Jobs is a page of jobs, newest first.
type Jobs struct {
	Document
	Jobs       []Job   `json:"jobs"`
	NextCursor *string `json:"nextCursor"`
}

// JobFilter narrows a list of jobs; zero values do not.
type JobFilter struct {
	Page
	Status    []string
	Simulator string
	Text      string // part of a name, or an id
}

// Output is one file that a job has made.
type Output struct {
	ArtifactID string `json:"artifactId"`
	Name       string `json:"name"` // unique within its task; may hold slashes
	Role       string `json:"role"`
	TaskIndex  int    `json:"taskIndex"`
	StorageKey string `json:"storageKey"`
	SHA256     string `json:"sha256"`
	ByteSize   int64  `json:"byteSize"`
	MediaType  string `json:"mediaType"`
	Format     string `json:"format"`
	Frame      *int64 `json:"frame"` // number of the frame that the file shows; nil for what is none
	URL        string `json:"url"`   // short-lived
}

// Outputs are files of a job, newest first.
type Outputs struct {
	Document
	JobID      string     `json:"jobId"`
	Status     job.Status `json:"status"`
	Complete   bool       `json:"complete"`
	Outputs    []Output   `json:"outputs"`
	NextCursor *string    `json:"nextCursor"`
}

// Cancellation is the answer to Cancel.
type Cancellation struct {
	Document
	JobID   string     `json:"jobId"`
	Status  job.Status `json:"status"`
	Message string     `json:"message"`
}

// Submit sends a job and repeats it safely: idempotencyKey, or one that Submit makes when it is empty, goes with every try.
// request is anything that encodes to the submission's JSON; a json.RawMessage goes as it is.
func (c *Client) Submit(ctx context.Context, request any, idempotencyKey string) (Receipt, error) {
	if idempotencyKey == "" {
		idempotencyKey = uuid.NewString()
	}
	var receipt Receipt
	err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/jobs/submit", body: request, idempotent: true, into: &receipt,
		header: map[string]string{"Idempotency-Key": idempotencyKey},
	})
	return receipt, err
}

// Estimate prices a job. request is as in Submit, in the shape of an estimate.
func (c *Client) Estimate(ctx context.Context, request any) (Estimate, error) {
	var estimate Estimate
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/jobs/estimate", body: request, idempotent: true, into: &estimate})
	return estimate, err
}

// Jobs reads a page of the account's jobs.
func (c *Client) Jobs(ctx context.Context, filter JobFilter) (Jobs, error) {
	query := filter.query()
	for _, status := range filter.Status {
		query.Add("status", status)
	}
	if filter.Simulator != "" {
		query.Set("simulator", filter.Simulator)
	}
	if filter.Text != "" {
		query.Set("q", filter.Text)
	}
	var jobs Jobs
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/jobs", query: query, into: &jobs})
	return jobs, err
}

// Job reads a job.
func (c *Client) Job(ctx context.Context, jobID string) (Job, error) {
	var j Job
	err := c.do(ctx, call{method: http.MethodGet, path: jobPath(jobID, "/status"), into: &j})
	return j, err
}

// Cancel asks a job to end; reason may be empty.
func (c *Client) Cancel(ctx context.Context, jobID, reason string) (Cancellation, error) {
	body := map[string]string{}
	if reason != "" {
		body["reason"] = reason
	}
	var cancellation Cancellation
	err := c.do(ctx, call{method: http.MethodPost, path: jobPath(jobID, "/cancel"), body: body, idempotent: true, into: &cancellation})
	return cancellation, err
}

// Outputs reads a page of a job's files.
func (c *Client) Outputs(ctx context.Context, jobID string, page Page) (Outputs, error) {
	var outputs Outputs
	err := c.do(ctx, call{method: http.MethodGet, path: jobPath(jobID, "/outputs"), query: page.query(), into: &outputs})
	return outputs, err
}

// AllOutputs reads every page of a job's files as one. Its JSON is the first page's with the files of all.
func (c *Client) AllOutputs(ctx context.Context, jobID string) (Outputs, error) {
	all, err := c.Outputs(ctx, jobID, Page{Limit: pageSize})
	if err != nil || all.NextCursor == nil {
		return all, err
	}
	texts := []json.RawMessage{all.JSON()}
	for all.NextCursor != nil {
		next, err := c.Outputs(ctx, jobID, Page{Limit: pageSize, Cursor: *all.NextCursor})
		if err != nil {
			return Outputs{}, err
		}
		texts = append(texts, next.JSON())
		all.Outputs, all.NextCursor = append(all.Outputs, next.Outputs...), next.NextCursor
	}
	text, err := joinPages(texts, "outputs")
	all.keep(text)
	return all, err
}

// joinPages puts the member called list of every page into the first page, and says that no page follows.
func joinPages(pages []json.RawMessage, list string) (json.RawMessage, error) {
	var joined map[string]json.RawMessage
	var entries []json.RawMessage
	for i, text := range pages {
		var page map[string]json.RawMessage
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, fmt.Errorf("reading a page: %w", err)
		}
		var part []json.RawMessage
		if err := json.Unmarshal(page[list], &part); err != nil {
			return nil, fmt.Errorf("reading a page's %s: %w", list, err)
		}
		if entries = append(entries, part...); i == 0 {
			joined = page
		}
	}
	whole, err := json.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("joining pages: %w", err)
	}
	joined[list], joined["nextCursor"] = whole, json.RawMessage("null")
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(joined); err != nil {
		return nil, fmt.Errorf("joining pages: %w", err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

func jobPath(jobID, rest string) string { return "/v1/jobs/" + url.PathEscape(jobID) + rest }
