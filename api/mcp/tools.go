package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const outputsOperation = "get-job-outputs"

// tool is how one operation is offered to a model.
type tool struct {
	name, title, description string
	operation                string
	hints                    sdk.ToolAnnotations
	renamed                  map[string]string // parameters of the operation that are called otherwise here
	shortened                map[string]string // members of the body that are described in words, to spare the model's memory
	// summary says the answer in a line or two, before the whole of it.
	summary func(arguments json.RawMessage, a answer) string
}

var byJob = map[string]string{"id": "jobId"}

// tools are offered in this order. What reads is marked so that clients need not ask before every call.
var tools = []tool{
	{
		name: "create_upload_url", title: "Get an address to upload a file to", operation: "create-upload-url", hints: adds(),
		summary: uploadSummary, description: "Reserves a place for an input file (receptor, dataset, case directory) and returns " +
			"s3Key and a short-lived address with the curl command that uploads the file. Pass s3Key as sceneFile, or as " +
			"storageKey of an artifact reference, when the upload is done. Needs the scope jobs:write.",
	}, {
		name: "estimate_job", title: "Price a job", operation: "estimate-job", hints: reads(), summary: estimateSummary,
		shortened: map[string]string{"simulationParams": "Parameters of the simulation, with the members that submit_job " +
			"describes for simulationParams."},
		description: "Prices a job without storing or billing anything. Call it before submit_job. Any valid key may ask.",
	}, {
		name: "submit_job", title: "Submit a job", operation: submitOperation, hints: adds(), summary: submitSummary,
		description: "Submits a job and SPENDS CREDIT: the estimated price is held at once and the use is charged when the job " +
			"ends, never more than the hold. Call estimate_job first and have the price agreed. sceneFile is required for every " +
			"job type. Give an idempotencyKey (8 to 255 characters): repeating the same request with the same key returns the " +
			"first job instead of a second one. Needs a live key with the scope jobs:write; a test key is refused.",
	}, {
		name: "get_job_status", title: "Read a job's status", operation: "get-job-status", hints: reads(), renamed: byJob,
		summary: statusSummary, description: "Reads the whole state of a job: status, progress, cost, error. Ask again until " +
			"terminal is true, not more often than the answer says. Needs the scope jobs:read.",
	}, {
		name: "get_job_outputs", title: "List a job's files", operation: outputsOperation, hints: reads(), renamed: byJob,
		summary: outputsSummary, description: "Lists the files that a job has made so far, newest first, each with a short-lived " +
			"download address. Pass nextCursor as cursor for the next page. " +
			"For a docking's ranking use get_docking_results. Needs the scope jobs:read.",
	}, {
		name: "cancel_job", title: "Cancel a job", operation: "cancel-job", hints: destroys(), renamed: byJob,
		summary: cancelSummary, description: "Asks a job to end. What it has used until then is charged, and its unfinished work " +
			"is lost. Asking again is harmless. Needs the scope jobs:write.",
	}, {
		name: "open_studio", title: "Open a scene of a molecule", operation: "open-studio-session", hints: adds(),
		summary: sessionSummary,
		description: "Opens a session of Molecular Studio about a structure: source is pdb:ID, pose:ID or run:ID of a docking, " +
			"frame:JOB/N of a simulation, artifact:ID, or upload:KEY. Costs nothing. Needs the scope molecular:chat.",
	}, {
		name: "change_scene", title: "Say what the scene should show", operation: "send-studio-message", hints: adds(),
		summary: turnSummary, description: "Carries a message in English out on a session's scene, or operations in its place, " +
			"whole or not at all. The reply counts what was selected, asks back what is not clear, and quotes what was not " +
			"understood. A reply that names a price waits for a yes, which SPENDS CREDIT and needs the scope jobs:write. Needs " +
			"the scope molecular:chat.",
	}, {
		name: "export_scene", title: "Write a scene as a file", operation: "export-studio-scene", hints: adds(),
		summary: exportSummary,
		description: "Writes a scene as MolViewSpec and returns a short-lived address: source is session:ID, project:ID, or " +
			"what a session opens. mvsx holds its structures. Needs the scope convert.",
	}, {
		name: "render_scene", title: "Order a picture of a scene", operation: "render-studio-scene", hints: adds(),
		summary: submitSummary,
		description: "Makes a job that draws a session's scene, a saved one, or a docked pose in its pocket, and SPENDS CREDIT: " +
			"have the price agreed before (estimate_job with jobType molecular). Follow it with get_job_status. Needs a live key " +
			"with the scope jobs:write.",
	}, {
		name: "get_balance", title: "Read the credit balance", operation: "get-balance", hints: reads(), summary: balanceSummary,
		description: "Reads the credit balance, in GBP pence. available_display is the amount that a new job can use. Needs the " +
			"scope credits:read.",
	},
}

func reads() sdk.ToolAnnotations {
	return sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}
}

func adds() sdk.ToolAnnotations {
	return sdk.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)}
}

func destroys() sdk.ToolAnnotations {
	destructive := true
	return sdk.ToolAnnotations{DestructiveHint: &destructive, IdempotentHint: true, OpenWorldHint: new(bool)}
}

// described is the tool as clients list it. It has no output schema: a model reads the whole list, and the answers are
// described in the OpenAPI document.
func (t tool) described(input map[string]any) *sdk.Tool {
	hints := t.hints
	hints.Title = t.title
	return &sdk.Tool{Name: t.name, Title: t.title, Description: t.description, Annotations: &hints, InputSchema: input}
}

func (t tool) handler(door *door, o operation) sdk.ToolHandler {
	return func(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		arguments := call.Params.Arguments
		got, err := door.call(ctx, o, arguments, t.renamed)
		if err != nil {
			return door.refusal(ctx, err), nil
		}
		if !got.good() {
			return got.failure(), nil
		}
		return got.success(t.summary(arguments, got)), nil
	}
}

// The summaries read what they need of an answer; a member that is not there reads as nothing.

func submitSummary(_ json.RawMessage, a answer) string {
	var receipt struct {
		JobID            string
		EstimatedCost    float64
		Currency         string
		IdempotentReplay bool
	}
	a.read(&receipt)
	if receipt.IdempotentReplay {
		return fmt.Sprintf("This request was submitted before, as job %s; nothing new was started.", receipt.JobID)
	}
	return fmt.Sprintf("Job %s is submitted; it is expected to cost %.2f %s. Follow it with get_job_status.", receipt.JobID,
		receipt.EstimatedCost, receipt.Currency)
}

func sessionSummary(_ json.RawMessage, a answer) string {
	var session struct{ SessionID, Title string }
	a.read(&session)
	return fmt.Sprintf("Session %s shows %s. Change it with change_scene.", session.SessionID, session.Title)
}

func turnSummary(_ json.RawMessage, a answer) string {
	var turn struct{ Reply string }
	a.read(&turn)
	return turn.Reply
}

func exportSummary(_ json.RawMessage, a answer) string {
	var export struct {
		Format   string
		Artifact struct{ StorageKey, URL string }
	}
	a.read(&export)
	return fmt.Sprintf("The scene is written as .%s: %s (storage key %s).", export.Format, export.Artifact.URL,
		export.Artifact.StorageKey)
}

func estimateSummary(_ json.RawMessage, a answer) string {
	var price struct {
		EstimatedCost float64
		Currency      string
	}
	a.read(&price)
	return fmt.Sprintf("The job is expected to cost %.2f %s.", price.EstimatedCost, price.Currency)
}

func statusSummary(_ json.RawMessage, a answer) string {
	var job struct {
		JobID, Status string
		Terminal      bool
		Progress      struct {
			Percent float64
			Message string
		}
		Error *struct{ Code, Message string }
	}
	a.read(&job)
	said := fmt.Sprintf("Job %s is %s, %.0f %% done.", job.JobID, job.Status, job.Progress.Percent)
	if job.Progress.Message != "" && !job.Terminal {
		said += " " + job.Progress.Message + "."
	}
	if job.Error != nil {
		said += fmt.Sprintf(" %s: %s", job.Error.Code, job.Error.Message)
	}
	if wait := a.header.Get("Retry-After"); wait != "" && !job.Terminal {
		said += " Ask again in " + wait + " s."
	}
	return said
}

func outputsSummary(_ json.RawMessage, a answer) string {
	var list struct {
		JobID, Status string
		Complete      bool
		Outputs       []struct{}
		NextCursor    *string
	}
	a.read(&list)
	said := fmt.Sprintf("%d files of job %s (%s).", len(list.Outputs), list.JobID, list.Status)
	if list.NextCursor != nil {
		said += " There are more: pass nextCursor as cursor."
	}
	if !list.Complete {
		said += " The job has not ended and may make more."
	}
	return said
}

func cancelSummary(_ json.RawMessage, a answer) string {
	var cancelled struct{ JobID, Status, Message string }
	a.read(&cancelled)
	return fmt.Sprintf("Job %s is %s. %s", cancelled.JobID, cancelled.Status, cancelled.Message)
}

func balanceSummary(_ json.RawMessage, a answer) string {
	var balance struct {
		Available string `json:"available_display"`
	}
	a.read(&balance)
	return balance.Available + " of credit is available."
}

// uploadSummary is the command that uploads the file, with exactly the headers that the address is signed for.
func uploadSummary(arguments json.RawMessage, a answer) string {
	var asked struct{ Filename string }
	_ = json.Unmarshal(arguments, &asked) // the operation has taken them
	var ticket struct {
		UploadURL, S3Key, Method string
		Headers                  map[string]string
		ExpiresIn                int
	}
	a.read(&ticket)
	var command strings.Builder
	fmt.Fprintf(&command, "curl --fail --request %s --upload-file %s", ticket.Method, quoted(asked.Filename))
	for _, name := range sortedNames(ticket.Headers) {
		fmt.Fprintf(&command, " --header %s", quoted(name+": "+ticket.Headers[name]))
	}
	return fmt.Sprintf("Upload the file within %d s:\n%s %s\nThen pass its key as sceneFile: %s", ticket.ExpiresIn,
		command.String(), quoted(ticket.UploadURL), ticket.S3Key)
}

// quoted is text as one word of a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
