package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// resultsFile is what a docking job leaves its ranking in, and resultsSchema how that document calls itself.
	resultsFile, resultsSchema = "results.json", "molfabric.docking.results/v1"
	// maxResultsBytes bounds that document: 10,000 ligands with 100 poses each.
	maxResultsBytes = 512 << 20
	// maxPages bounds the search for it: two files of each of 10,000 ligands, a hundred on a page, and some more.
	maxPages = 210
	// defaultLigands and maxLigands bound the ligands of one answer, which a model has to read.
	defaultLigands, maxLigands = 25, 500
)

func dockingTool() *sdk.Tool {
	t := tool{
		name: "get_docking_results", title: "Read a docking's ranking", hints: reads(),
		description: "Reads the ranking of a docking job that has ended: the best ligands first, each with its best score in kcal/mol (lower is better), and the " +
			"ligands that failed, with the step and the reason. While the job runs, complete is false and ligands is empty. The poses are among the job's files " +
			"(get_job_outputs), under the names in files. Needs the scope jobs:read.",
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

// ranking is the answer: what of results.json a model can use.
type ranking struct {
	JobID    string          `json:"jobId"`
	Status   string          `json:"status"`
	Complete bool            `json:"complete"`
	Engine   json.RawMessage `json:"engine,omitempty"`
	Box      json.RawMessage `json:"box,omitempty"`
	Seed     json.RawMessage `json:"seed,omitempty"`
	Counts   *counts         `json:"counts,omitempty"`
	Ligands  []ranked        `json:"ligands"`
	Failures []failed        `json:"failures"`
}

type counts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

type ranked struct {
	Rank             int               `json:"rank"`
	LigandID         string            `json:"ligandId"`
	Label            string            `json:"label"`
	BestScoreKcalMol float64           `json:"bestScoreKcalMol"`
	LigandEfficiency *float64          `json:"ligandEfficiency"`
	PoseCount        int               `json:"poseCount"`
	Files            map[string]string `json:"files"` // names of the job's files, by format
}

type failed struct {
	LigandID     string `json:"ligandId"`
	Label        string `json:"label"`
	FailureStage string `json:"failureStage"`
	Error        string `json:"error"`
}

func dockingHandler(d *door, outputs operation) sdk.ToolHandler {
	return func(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		jobID, limit, err := dockingArguments(call.Params.Arguments)
		if err != nil {
			return d.refusal(ctx, err), nil
		}
		table, refused, err := d.ranking(ctx, outputs, jobID, limit)
		if err != nil {
			return d.refusal(ctx, err), nil
		}
		if refused != nil {
			return refused.failure(), nil
		}
		body, err := json.Marshal(table)
		if err != nil {
			return d.refusal(ctx, err), nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: table.text()}}, StructuredContent: json.RawMessage(body)}, nil
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

// output is a file of a job as the operation lists it.
type output struct{ Name, URL, SHA256 string }

// ranking finds the results among the job's files and reads them. refused is what the API has said no with.
func (d *door) ranking(ctx context.Context, outputs operation, jobID json.RawMessage, limit int) (table ranking, refused *answer, err error) {
	cursor := ""
	for range maxPages {
		arguments := map[string]any{"id": jobID, "limit": 100, "role": "result"}
		if cursor != "" {
			arguments["cursor"] = cursor
		}
		text, err := json.Marshal(arguments)
		if err != nil {
			return table, nil, err
		}
		var page struct {
			JobID, Status string
			Complete      bool
			Outputs       []output
			NextCursor    *string
		}
		got, err := d.call(ctx, outputs, text, nil)
		if err != nil {
			return table, nil, err
		}
		if !got.good() {
			return table, &got, nil
		}
		got.read(&page)
		table = ranking{JobID: page.JobID, Status: page.Status, Complete: page.Complete, Ligands: []ranked{}, Failures: []failed{}}
		for _, file := range page.Outputs {
			if path.Clean(file.Name) == resultsFile {
				err := d.readResults(ctx, file, limit, &table)
				return table, nil, err
			}
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	if table.Complete {
		return table, nil, fault.New(fault.NotFound, "jobId: job %s is %s and has no docking results; get_job_status tells why", table.JobID, table.Status)
	}
	return table, nil, nil
}

// readResults reads the document once, without holding more of it than the answer needs, and checks its digest.
func (d *door) readResults(ctx context.Context, file output, limit int, into *ranking) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, file.URL, nil)
	if err != nil {
		return fmt.Errorf("the address of %s: %w", file.Name, err)
	}
	response, err := d.store.Do(request)
	if err != nil {
		return away(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return away(fmt.Errorf("the object store answered %s", response.Status))
	}
	digest := sha256.New()
	content := io.TeeReader(io.LimitReader(response.Body, maxResultsBytes), digest)
	if err := decodeResults(content, limit, into); err != nil {
		return away(fmt.Errorf("read %s of job %s: %w", file.Name, into.JobID, err))
	}
	if hex.EncodeToString(digest.Sum(nil)) != file.SHA256 {
		return away(fmt.Errorf("%s of job %s has another SHA-256 than when it was made", file.Name, into.JobID))
	}
	return nil
}

// ligandResult is one ligand of results.json.
type ligandResult struct {
	Rank             *int               `json:"rank"` // nil for a failed one
	LigandID         string             `json:"ligandId"`
	Label            string             `json:"label"`
	FailureStage     string             `json:"failureStage"`
	Error            string             `json:"error"`
	BestScoreKcalMol float64            `json:"bestScoreKcalMol"`
	LigandEfficiency *float64           `json:"ligandEfficiency"`
	PoseCount        int                `json:"poseCount"`
	Files            map[string]*string `json:"files"` // nil where a file could not be written
}

// decodeResults reads the document to its end and keeps the first limit ranked and the first limit failed ligands: the
// document has the best first.
func decodeResults(content io.Reader, limit int, into *ranking) error {
	decoder := json.NewDecoder(content)
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return errors.Join(errors.New("is not a JSON object"), err)
	}
	var schema string
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		if name == "ligands" {
			err = decodeLigands(decoder, limit, into)
		} else {
			var unused json.RawMessage
			member, known := map[any]any{
				"schema": &schema, "engine": &into.Engine, "box": &into.Box, "seed": &into.Seed, "counts": &into.Counts,
			}[name]
			if !known {
				member = &unused
			}
			err = decoder.Decode(member)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
	}
	if schema != resultsSchema || into.Counts == nil {
		return fmt.Errorf("schema %q, want %q with counts", schema, resultsSchema)
	}
	if _, err := decoder.Token(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, io.MultiReader(decoder.Buffered(), content))
	return err
}

func decodeLigands(decoder *json.Decoder, limit int, into *ranking) error {
	if start, err := decoder.Token(); err != nil || start != json.Delim('[') {
		return errors.Join(errors.New("is not an array"), err)
	}
	for decoder.More() {
		var ligand ligandResult
		if err := decoder.Decode(&ligand); err != nil {
			return err
		}
		switch {
		case ligand.Rank != nil && len(into.Ligands) < limit:
			into.Ligands = append(into.Ligands, ligand.asRanked())
		case ligand.Rank == nil && len(into.Failures) < limit:
			into.Failures = append(into.Failures, failed{ligand.LigandID, ligand.Label, ligand.FailureStage, ligand.Error})
		}
	}
	_, err := decoder.Token()
	return err
}

func (l ligandResult) asRanked() ranked {
	found := ranked{
		Rank: *l.Rank, LigandID: l.LigandID, Label: l.Label, BestScoreKcalMol: l.BestScoreKcalMol,
		LigandEfficiency: l.LigandEfficiency, PoseCount: l.PoseCount, Files: map[string]string{},
	}
	for format, name := range l.Files {
		if name != nil {
			found.Files[format] = *name
		}
	}
	return found
}

// text is the ranking as people read it.
func (r ranking) text() string {
	if r.Counts == nil {
		return fmt.Sprintf("Job %s is %s and has no docking results yet.", r.JobID, r.Status)
	}
	var said strings.Builder
	fmt.Fprintf(&said, "Job %s is %s: %d of %d ligands docked.\n\nrank | ligand | best score (kcal/mol) | poses\n", r.JobID, r.Status, r.Counts.Completed, r.Counts.Total)
	for _, ligand := range r.Ligands {
		fmt.Fprintf(&said, "%d | %s (%s) | %.2f | %d\n", ligand.Rank, ligand.Label, ligand.LigandID, ligand.BestScoreKcalMol, ligand.PoseCount)
	}
	if more := r.Counts.Completed - len(r.Ligands); more > 0 {
		fmt.Fprintf(&said, "… and %d more\n", more)
	}
	for _, ligand := range r.Failures {
		fmt.Fprintf(&said, "failed: %s (%s) at %s: %s\n", ligand.Label, ligand.LigandID, ligand.FailureStage, ligand.Error)
	}
	if more := r.Counts.Failed - len(r.Failures); more > 0 {
		fmt.Fprintf(&said, "… and %d more failed\n", more)
	}
	return said.String()
}
