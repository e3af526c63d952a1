package client

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/job"
)

// RetryReceipt is the answer to a retry; amounts are in Currency's main unit.
type RetryReceipt struct {
	Document
	JobID         string      `json:"jobId"`
	Status        job.Status  `json:"status"`
	Attempt       int         `json:"attempt"` // which run of the job this is; the submission began the first
	Tasks         int         `json:"tasks"`   // that run again
	EstimatedCost json.Number `json:"estimatedCost"`
	Currency      string      `json:"currency"`
	Message       string      `json:"message"`
}

// Retry runs a job that has ended again: the tasks that did not succeed, or all. It repeats itself safely: idempotencyKey, or one
// that Retry makes when it is empty, goes with every try.
func (c *Client) Retry(ctx context.Context, jobID string, all bool, idempotencyKey string) (RetryReceipt, error) {
	scope := "failed"
	if all {
		scope = "all"
	}
	var receipt RetryReceipt
	err := c.do(ctx, call{
		method: http.MethodPost, path: jobPath(jobID, "/retry"), body: map[string]string{"scope": scope}, idempotent: true,
		into: &receipt, header: map[string]string{"Idempotency-Key": cmp.Or(idempotencyKey, uuid.NewString())},
	})
	return receipt, err
}

// Task is one task of a job.
type Task struct {
	TaskID           string         `json:"taskId"`
	Index            int            `json:"index"` // position in the job's plan
	Name             string         `json:"name"`
	Stage            string         `json:"stage"`
	Status           job.TaskStatus `json:"status"`
	Attempt          int            `json:"attempt"`  // how often it was dispatched
	Progress         float64        `json:"progress"` // percent
	Message          string         `json:"message"`
	Error            *JobError      `json:"error"`
	ItemFailures     []ItemFailure  `json:"itemFailures"`     // the first of them
	ItemFailureCount int            `json:"itemFailureCount"` // ligands, queries or frames without a result
	Usage            struct {
		CPUSeconds      float64 `json:"cpuSeconds"`
		WallSeconds     float64 `json:"wallSeconds"`
		PeakMemoryBytes int64   `json:"peakMemoryBytes"`
	} `json:"usage"` // of all ended attempts together
}

// ItemFailure is one thing that a task worked on (a ligand, a query, a frame) and that has no result.
type ItemFailure struct {
	Item    string `json:"item"`
	Label   string `json:"label"`
	Step    string `json:"step"`
	Message string `json:"message"`
}

// Tasks is a page of a job's tasks in the order of the plan.
type Tasks struct {
	Document
	Tasks      []Task  `json:"tasks"`
	NextCursor *string `json:"nextCursor"`
}

// TaskFilter narrows a list of tasks; zero values do not.
type TaskFilter struct {
	Page
	Status []string
	Stage  string
}

// Tasks reads a page of a job's tasks.
func (c *Client) Tasks(ctx context.Context, jobID string, filter TaskFilter) (Tasks, error) {
	query := filter.query()
	for _, status := range filter.Status {
		query.Add("status", status)
	}
	if filter.Stage != "" {
		query.Set("stage", filter.Stage)
	}
	var tasks Tasks
	err := c.do(ctx, call{method: http.MethodGet, path: jobPath(jobID, "/tasks"), query: query, into: &tasks})
	return tasks, err
}

// TaskLog is what the program of one task printed.
type TaskLog struct {
	TaskID    string         `json:"taskId"`
	Index     int            `json:"index"`
	Name      string         `json:"name"`
	Stage     string         `json:"stage"`
	Status    job.TaskStatus `json:"status"`
	Attempt   int            `json:"attempt"` // that printed it
	Message   string         `json:"message"`
	ByteSize  int64          `json:"byteSize"` // of the whole log
	Text      *string        `json:"text"`     // its end; nil while there is no log to read
	Truncated bool           `json:"truncated"`
}

// Logs is a page of a job's logs in the order of the plan.
type Logs struct {
	Document
	Logs       []TaskLog `json:"logs"`
	NextCursor *string   `json:"nextCursor"`
}

// Logs reads a page of a job's logs; task is the index or the id of a task, or "" for all.
func (c *Client) Logs(ctx context.Context, jobID string, page Page, task string) (Logs, error) {
	query := page.query()
	if task != "" {
		query.Set("task", task)
	}
	var logs Logs
	err := c.do(ctx, call{method: http.MethodGet, path: jobPath(jobID, "/logs"), query: query, into: &logs})
	return logs, err
}

// Provenance is how a job's results came to be. Its JSON is the whole document.
type Provenance struct {
	Document
	JobID      string     `json:"jobId"`
	JobName    string     `json:"jobName"`
	Status     job.Status `json:"status"`
	Complete   bool       `json:"complete"` // false while the job may still add to it
	Attempts   int        `json:"attempts"`
	FinishedAt *time.Time `json:"finishedAt"`
	Fabric     struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"fabric"`
	Engine struct {
		ID       string              `json:"id"`
		Title    string              `json:"title"`
		Programs map[string][]string `json:"programs"` // program to the versions that ran
	} `json:"engine"`
	Request struct {
		SHA256 string `json:"sha256"`
	} `json:"request"`
	Seeds  []int64 `json:"seeds"`
	Counts struct {
		Inputs     int `json:"inputs"`
		Executions int `json:"executions"`
		Outputs    int `json:"outputs"`
	} `json:"counts"`
	Citations []struct {
		Text string `json:"text"`
		DOI  string `json:"doi"`
	} `json:"citations"`
}

// Provenance reads how a job's results came to be.
func (c *Client) Provenance(ctx context.Context, jobID string) (Provenance, error) {
	var provenance Provenance
	err := c.do(ctx, call{method: http.MethodGet, path: jobPath(jobID, "/provenance"), into: &provenance})
	return provenance, err
}
