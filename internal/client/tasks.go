package client

import (
	"cmp"
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/contract"
)

// Retry runs a job that has ended again: the tasks that did not succeed, or all. It repeats itself safely: idempotencyKey, or one
// that Retry makes when it is empty, goes with every try.
func (c *Client) Retry(ctx context.Context, jobID string, all bool, idempotencyKey string) (Answer[contract.RetryResponse], error) {
	scope := "failed"
	if all {
		scope = "all"
	}
	return ask[contract.RetryResponse](ctx, c, call{
		method: http.MethodPost, path: jobPath(jobID, "/retry"), body: map[string]string{"scope": scope}, idempotent: true,
		header: map[string]string{"Idempotency-Key": cmp.Or(idempotencyKey, uuid.NewString())},
	})
}

// TaskFilter narrows a list of tasks; zero values do not.
type TaskFilter struct {
	Page
	Status []string
	Stage  string
}

// Tasks reads a page of a job's tasks.
func (c *Client) Tasks(ctx context.Context, jobID string, filter TaskFilter) (Answer[contract.TaskList], error) {
	query := filter.query()
	for _, status := range filter.Status {
		query.Add("status", status)
	}
	if filter.Stage != "" {
		query.Set("stage", filter.Stage)
	}
	return ask[contract.TaskList](ctx, c, call{method: http.MethodGet, path: jobPath(jobID, "/tasks"), query: query})
}

// Logs reads a page of a job's logs; task is the index or the id of a task, or "" for all.
func (c *Client) Logs(ctx context.Context, jobID string, page Page, task string) (Answer[contract.LogList], error) {
	query := page.query()
	if task != "" {
		query.Set("task", task)
	}
	return ask[contract.LogList](ctx, c, call{method: http.MethodGet, path: jobPath(jobID, "/logs"), query: query})
}

// Provenance reads how a job's results came to be.
func (c *Client) Provenance(ctx context.Context, jobID string) (Answer[contract.Provenance], error) {
	return ask[contract.Provenance](ctx, c, call{method: http.MethodGet, path: jobPath(jobID, "/provenance")})
}

// Receipt reads the signed receipt of a job that has ended.
func (c *Client) Receipt(ctx context.Context, jobID string) (Answer[contract.Receipt], error) {
	return ask[contract.Receipt](ctx, c, call{method: http.MethodGet, path: jobPath(jobID, "/receipt")})
}
