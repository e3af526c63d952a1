package blast

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

const (
	resultsFile    = "results.json"
	tableFile      = "hits.tsv"
	provenanceFile = "provenance.json"
	resultsSchema  = "molfabric.search.results/v1"
)

// splitSummary is what the split says of the parts that it has written.
type splitSummary struct {
	Stage    string       `json:"stage"`
	Queries  int          `json:"queries"`
	Searched int          `json:"searched"` // the others are failures
	Residues int64        `json:"residues"`
	Parts    []partRecord `json:"parts"`
}

type partRecord struct {
	Name     string `json:"name"`
	Queries  int    `json:"queries"`
	Residues int64  `json:"residues"`
}

// mergeSummary is what the merge says of all queries.
type mergeSummary struct {
	Stage      string       `json:"stage"`
	Program    string       `json:"program"`
	Versions   []string     `json:"versions"`
	Counts     countsRecord `json:"counts"`
	HitsMerged bool         `json:"hitsMerged"`
}

type countsRecord struct {
	Total     int   `json:"total"`
	Completed int   `json:"completed"`
	Failed    int   `json:"failed"`
	WithHits  int   `json:"withHits"`
	Hits      int64 `json:"hits"`
}

// Collect checks that a shard's outputs are there and complete, and lists them.
func (Blast) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	name, err := searching.Main(shard)
	if err != nil {
		return engines.Result{}, err
	}
	document, err := searching.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	var found []engines.Artifact
	switch name {
	case programSplit:
		found, err = collectSplit(shard, document)
	case programSearch:
		found, err = collectSearch(dir, document)
	case programMerge:
		found, err = collectMerge(dir, document)
	}
	if err == nil {
		err = searching.CheckStated(dir, document.Files, found)
	}
	if err != nil {
		return engines.Result{}, err
	}
	return document.With(found), nil
}

func collectSplit(shard engines.Shard, document python.Result) ([]engines.Artifact, error) {
	var params splitParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return nil, fmt.Errorf("blast: reading the parameters of shard %s: %w", shard.Name, err)
	}
	summary, err := readSplit(document.Summary, params.Parts)
	if err != nil {
		return nil, err
	}
	if summary.Queries-summary.Searched != len(document.Failures) {
		return nil, searching.BadOutput("%s names %d failures of %d queries", python.ResultFile, len(document.Failures),
			summary.Queries-summary.Searched)
	}
	artifacts := []engines.Artifact{intermediate(queriesFile, "application/x-ndjson", "jsonl")}
	for _, part := range summary.Parts {
		artifacts = append(artifacts, intermediate(part.Name, "text/x-fasta", "fasta"))
	}
	return artifacts, nil
}

// readSplit reads the summary of a split into at most `most` parts, which hold all queries that are searched. A wrong one is a
// *engines.Failure.
func readSplit(content []byte, most int) (splitSummary, error) {
	var summary splitSummary
	if err := json.Unmarshal(content, &summary); err != nil || summary.Stage != stageSplit {
		return splitSummary{}, searching.BadOutput("the summary of the split cannot be read")
	}
	known := make(map[string]bool, most)
	for part := 1; part <= most; part++ {
		known[partName(part)] = true
	}
	queries, residues := 0, int64(0)
	for _, part := range summary.Parts {
		if !known[part.Name] || part.Queries < 1 || part.Queries > maxShardQueries || part.Residues < int64(part.Queries) {
			return splitSummary{}, searching.BadOutput("the split names part %q with %d queries and %d residues", part.Name,
				part.Queries, part.Residues)
		}
		delete(known, part.Name)
		queries, residues = queries+part.Queries, residues+part.Residues
	}
	if queries < 1 || queries != summary.Searched || residues != summary.Residues || summary.Searched > summary.Queries ||
		summary.Queries > maxQueries {
		return splitSummary{}, searching.BadOutput("the parts of the split hold %d of %d queries", queries, summary.Searched)
	}
	return summary, nil
}

func collectSearch(dir engines.Dir, document python.Result) ([]engines.Artifact, error) {
	summary, err := ReadSearch(document.Summary)
	if err != nil {
		return nil, searching.BadOutput("the summary of the search is wrong (%v)", err)
	}
	var found SearchFound
	if err := searching.ReadDocument(dir, foundFile, 2*engines.MaxSummaryBytes+maxShardQueries<<10, &found); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(found, summary) {
		return nil, searching.BadOutput("%s is not the summary of the search", foundFile)
	}
	var size int64
	for _, query := range summary.Queries {
		size += query.Bytes
	}
	if info, err := os.Lstat(dir.Out(HitsFile)); err != nil || info.Size() != size {
		return nil, searching.BadOutput("%s is missing or has not the %d bytes of its queries", HitsFile, size)
	}
	return []engines.Artifact{
		intermediate(foundFile, "application/json", "json"),
		intermediate(HitsFile, "application/x-ndjson", "jsonl"),
		intermediate(reportFile, "text/tab-separated-values", "tsv"),
	}, nil
}

func collectMerge(dir engines.Dir, document python.Result) ([]engines.Artifact, error) {
	var summary mergeSummary
	if err := json.Unmarshal(document.Summary, &summary); err != nil || summary.Stage != stageMerge {
		return nil, searching.BadOutput("the summary of the merge cannot be read")
	}
	var results struct {
		Schema  string            `json:"schema"`
		Counts  countsRecord      `json:"counts"`
		Queries []json.RawMessage `json:"queries"`
	}
	if err := searching.ReadDocument(dir, resultsFile, maxResultsBytes, &results); err != nil {
		return nil, err
	}
	counts := results.Counts
	if results.Schema != resultsSchema || counts != summary.Counts || counts.Total != len(results.Queries) ||
		counts.Completed+counts.Failed != counts.Total {
		return nil, searching.BadOutput("%s holds %d queries of %d", resultsFile, len(results.Queries), counts.Total)
	}
	artifacts := []engines.Artifact{
		{Name: resultsFile, Role: engines.RoleResult, MediaType: "application/json", Format: "json"},
		{Name: tableFile, Role: engines.RoleResult, MediaType: "text/tab-separated-values", Format: "tsv"},
		{Name: provenanceFile, Role: engines.RoleProvenance, MediaType: "application/json", Format: "json"},
	}
	if summary.HitsMerged {
		artifacts = append(artifacts, engines.Artifact{Name: HitsFile, Role: engines.RoleResult, MediaType: "application/x-ndjson",
			Format: "jsonl"})
	}
	return artifacts, nil
}

func intermediate(name, mediaType, format string) engines.Artifact {
	return engines.Artifact{Name: name, Role: engines.RoleIntermediate, MediaType: mediaType, Format: format}
}
