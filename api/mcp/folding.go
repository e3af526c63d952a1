package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/molfabric/molfabric/internal/fault"
)

const submitOperation = "submit-job"

// foldingTool submits a prediction of structures with the few things that it can be told; submit_job takes the rest.
func foldingTool() *sdk.Tool {
	t := tool{
		name: "fold_proteins", title: "Predict structures from sequences", hints: adds(),
		description: "Submits a prediction of protein structures with ESMFold or AlphaFold 2 and SPENDS CREDIT, as submit_job " +
			"does: call estimate_job first (jobType simulation, simulator esmfold or alphafold) and have the price agreed. " +
			"sceneFile is the s3Key of a FASTA with one or many records; \":\" joins the chains of a complex. Records that " +
			"cannot be folded are named in structures.csv, and where none can be, nothing is submitted. get_job_outputs lists " +
			"the structures (.pdb, .cif), " +
			"their confidences (.scores.json: pLDDT 0 to 100, PAE in Å, pTM) and report.html. Below a pLDDT of 50 a stretch has " +
			"hardly a structure; results marked untrained mean nothing. Needs a live key with the scope jobs:write.",
	}
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	device := text("What computes: cpu for up to 400 residues, cuda for up to 1,024, where the deployment has devices.")
	device["enum"], device["default"] = []string{"cpu", "cuda"}, "cpu"
	model := text("The model: esmfold, which is fast, or alphafold, which is AlphaFold 2 by ColabFold with five ranked models. " +
		"Which the deployment has, GET /v1/public/simulators says.")
	model["enum"], model["default"] = []string{"esmfold", "alphafold"}, "esmfold"
	return t.described(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"sceneFile"},
		"properties": map[string]any{
			"sceneFile":      text("The s3Key of the FASTA, from create_upload_url."),
			"device":         device,
			"model":          model,
			"jobName":        text("Name of the job, for people."),
			"idempotencyKey": text("8 to 255 characters: the same call with the same key makes no second job."),
		},
	})
}

// submitting handles a tool that submits a job; made makes the arguments of submit-job of its own.
func submitting(d *door, submit operation, made func(json.RawMessage) (json.RawMessage, error)) sdk.ToolHandler {
	return func(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		arguments, err := made(call.Params.Arguments)
		if err != nil {
			return d.refusal(ctx, err), nil
		}
		got, err := d.call(ctx, submit, arguments, nil)
		if err != nil {
			return d.refusal(ctx, err), nil
		}
		if !got.good() {
			return got.failure(), nil
		}
		return got.success(submitSummary(nil, got)), nil
	}
}

// foldingArguments are those of submit-job that a prediction makes of its own.
func foldingArguments(arguments json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, fault.New(fault.Validation, "arguments: must be an object with the member sceneFile")
	}
	request := map[string]any{"jobType": "simulation", "simulator": "esmfold"}
	for _, name := range sortedNames(members) {
		switch name {
		case "sceneFile", "jobName", "idempotencyKey":
			request[name] = members[name]
		case "model":
			request["simulator"] = members[name]
		case "device":
			request["parameters"] = map[string]any{"foldDevice": members[name]}
		default:
			return nil, fault.New(fault.Validation, "%s: is no argument of this tool", name)
		}
	}
	return json.Marshal(request)
}
