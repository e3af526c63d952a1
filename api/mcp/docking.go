package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/fault"
)

// defaultLigands and maxLigands bound the ligands of one answer, which a model has to read.
const defaultLigands, maxLigands = 25, 500

// Rankings reads the ranking of one of an account's docking jobs so far, with at most limit ligands of a kind. Its JSON is the
// tool's answer, its String the same for people; nil for a job that docks nothing.
type Rankings func(ctx context.Context, accountID, jobID string, limit int) (fmt.Stringer, error)

func dockingTool() *sdk.Tool {
	t := tool{
		name: "get_docking_results", title: "Read a docking's ranking", hints: reads(),
		description: "Reads the ranking of a docking job: the best ligands first, each with its best score in kcal/mol (lower is " +
			"better), and the ligands that failed, with the step and the reason. While the job runs, complete is false and the " +
			"ranking is that of the ligands that are done. The poses are among the job's files (get_job_outputs), under the " +
			"names in files. Needs the scope jobs:read.",
	}
	return t.described(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"jobId"},
		"properties": map[string]any{
			"jobId": map[string]any{"type": "string", "description": "Id of the job."},
			"limit": map[string]any{
				"type": "integer", "minimum": 1, "maximum": maxLigands, "default": defaultLigands,
				"description": "How many ranked and how many failed ligands to return; counts tells how many there are.",
			},
		},
	})
}

func dockingHandler(d *door, outputs operation, rankings Rankings) sdk.ToolHandler {
	return func(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		jobID, limit, err := dockingArguments(call.Params.Arguments)
		if err != nil {
			return d.refusal(ctx, err), nil
		}
		found, refused, err := d.ranking(ctx, outputs, rankings, jobID, limit)
		if err != nil {
			return d.refusal(ctx, err), nil
		}
		if refused != nil {
			return refused.failure(), nil
		}
		body, err := json.Marshal(found)
		if err != nil {
			return d.refusal(ctx, err), nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: found.String()}},
			StructuredContent: json.RawMessage(body)}, nil
	}
}

func dockingArguments(arguments json.RawMessage) (jobID json.RawMessage, limit int, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, 0, fault.New(fault.Validation, "arguments: must be an object with the member jobId")
	}
	limit = defaultLigands
	for _, name := range sortedNames(members) {
		switch name {
		case "jobId":
			jobID = members[name]
		case "limit":
			if err := json.Unmarshal(members[name], &limit); err != nil || limit < 1 || limit > maxLigands {
				return nil, 0, fault.New(fault.Validation, "limit: must be a whole number from 1 to %d", maxLigands)
			}
		default:
			return nil, 0, fault.New(fault.Validation, "%s: is no argument of this tool", name)
		}
	}
	return jobID, limit, nil
}

// ranking asks for a job's ranking. The front door judges the caller first, by a request for the job's files; refused is what it
// has said no with.
func (d *door) ranking(
	ctx context.Context, outputs operation, rankings Rankings, jobID json.RawMessage, limit int,
) (found fmt.Stringer, refused *answer, err error) {
	text, err := json.Marshal(map[string]any{"id": jobID, "limit": 1})
	if err != nil {
		return nil, nil, err
	}
	got, err := d.call(ctx, outputs, text, nil)
	if err != nil {
		return nil, nil, err
	}
	if !got.good() {
		return nil, &got, nil
	}
	none := noRanking{Ligands: []struct{}{}, Failures: []struct{}{}}
	got.read(&none)
	found, err = rankings(ctx, access.From(ctx).AccountID, none.JobID, limit)
	switch {
	case err != nil || found != nil:
		return found, nil, err
	case none.Complete:
		return nil, nil, fault.New(fault.NotFound, "jobId: job %s is %s and has no docking results; get_job_status tells why",
			none.JobID, none.Status)
	}
	return none, nil, nil
}

// noRanking is the answer for a job without docking results that has not ended.
type noRanking struct {
	JobID    string     `json:"jobId"`
	Status   string     `json:"status"`
	Complete bool       `json:"complete"`
	Ligands  []struct{} `json:"ligands"`
	Failures []struct{} `json:"failures"`
}

func (n noRanking) String() string {
	return fmt.Sprintf("Job %s is %s and has no docking results yet.", n.JobID, n.Status)
}
