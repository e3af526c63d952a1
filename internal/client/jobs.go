package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/contract"
)

// JobFilter narrows a list of jobs; zero values do not.
type JobFilter struct {
	Page
	Status    []string
	Simulator string
	Text      string // part of a name, or an id
}

// Submit sends a job and repeats it safely: idempotencyKey, or one that Submit makes when it is empty, goes with every try.
// request is anything that encodes to the submission's JSON; a json.RawMessage goes as it is.
func (c *Client) Submit(ctx context.Context, request any, idempotencyKey string) (Answer[contract.SubmitResponse], error) {
	if idempotencyKey == "" {
		idempotencyKey = uuid.NewString()
	}
	if c.fresh {
		var err error
		if request, err = withNoReuse(request); err != nil {
			return Answer[contract.SubmitResponse]{}, err
		}
	}
	return ask[contract.SubmitResponse](ctx, c, call{
		method: http.MethodPost, path: "/v1/jobs/submit", body: request, idempotent: true,
		header: map[string]string{"Idempotency-Key": idempotencyKey},
	})
}

// withNoReuse asks for a submission that everything be run.
func withNoReuse(request any) (json.RawMessage, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("writing the submission: %w", err)
	}
	members, object := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{"))
	if !object {
		return text, nil // the server says what is wrong with it
	}
	asked := []byte(`{"noReuse":true`)
	if rest := bytes.TrimSpace(members); !bytes.HasPrefix(rest, []byte("}")) {
		asked = append(asked, ',')
	}
	return append(asked, members...), nil
}

// Estimate prices a job. request is as in Submit; of its members beyond those of an estimate, sceneFile and noReuse are sent beside
// the body, and so is Options.NoReuse.
func (c *Client) Estimate(ctx context.Context, request any) (Answer[contract.EstimateResponse], error) {
	body, query, err := estimateOf(request)
	if err != nil {
		return Answer[contract.EstimateResponse]{}, err
	}
	if c.fresh {
		query.Set("noReuse", "true")
	}
	return ask[contract.EstimateResponse](ctx, c, call{
		method: http.MethodPost, path: "/v1/jobs/estimate", query: query, body: body, idempotent: true,
	})
}

// estimateOf is a submission as the body and the query of an estimate.
func estimateOf(request any) (body any, query url.Values, err error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, nil, fmt.Errorf("writing the request to price: %w", err)
	}
	var members map[string]json.RawMessage
	query = url.Values{}
	if !bytes.HasPrefix(text, []byte("{")) {
		return json.RawMessage(text), query, nil // the server says what is wrong with it
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, nil, fmt.Errorf("reading the request to price: %w", err)
	}
	var scene string
	if json.Unmarshal(members["sceneFile"], &scene) == nil && scene != "" {
		query.Set("sceneFile", scene)
	}
	if string(members["noReuse"]) == "true" {
		query.Set("noReuse", "true")
	}
	for _, member := range []string{"sceneFile", "noReuse", "jobName", "attachments"} {
		delete(members, member)
	}
	return members, query, nil
}

// Jobs reads a page of the account's jobs.
func (c *Client) Jobs(ctx context.Context, filter JobFilter) (Answer[contract.JobList], error) {
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
	return ask[contract.JobList](ctx, c, call{method: http.MethodGet, path: "/v1/jobs", query: query})
}

// Job reads a job.
func (c *Client) Job(ctx context.Context, jobID string) (Answer[contract.Job], error) {
	return ask[contract.Job](ctx, c, call{method: http.MethodGet, path: jobPath(jobID, "/status")})
}

// Cancel asks a job to end; reason may be empty.
func (c *Client) Cancel(ctx context.Context, jobID, reason string) (Answer[contract.CancelResponse], error) {
	body := map[string]string{}
	if reason != "" {
		body["reason"] = reason
	}
	return ask[contract.CancelResponse](ctx, c, call{
		method: http.MethodPost, path: jobPath(jobID, "/cancel"), body: body, idempotent: true,
	})
}

// DeleteFiles deletes what a job that has ended has made and found, for good. It may be repeated.
func (c *Client) DeleteFiles(ctx context.Context, jobID string) (Answer[contract.FilesDeletion], error) {
	return ask[contract.FilesDeletion](ctx, c, call{method: http.MethodDelete, path: jobPath(jobID, "/files"), idempotent: true})
}

// Outputs reads a page of a job's files.
func (c *Client) Outputs(ctx context.Context, jobID string, page Page) (Answer[contract.Outputs], error) {
	return c.outputs(ctx, jobID, page.query())
}

func (c *Client) outputs(ctx context.Context, jobID string, query url.Values) (Answer[contract.Outputs], error) {
	return ask[contract.Outputs](ctx, c, call{method: http.MethodGet, path: jobPath(jobID, "/outputs"), query: query})
}

// AllOutputs reads every page of a job's files as one. Its JSON is the first page's with the files of all.
func (c *Client) AllOutputs(ctx context.Context, jobID string) (Answer[contract.Outputs], error) {
	all, err := c.Outputs(ctx, jobID, Page{Limit: contract.MaxPage})
	if err != nil || all.Body.NextCursor == nil {
		return all, err
	}
	texts := []json.RawMessage{all.JSON()}
	for all.Body.NextCursor != nil {
		next, err := c.Outputs(ctx, jobID, Page{Limit: contract.MaxPage, Cursor: *all.Body.NextCursor})
		if err != nil {
			return Answer[contract.Outputs]{}, err
		}
		texts = append(texts, next.JSON())
		all.Body.Outputs, all.Body.NextCursor = append(all.Body.Outputs, next.Body.Outputs...), next.Body.NextCursor
	}
	all.text, err = joinPages(texts, "outputs")
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
