package fold

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// Outputs beside those of single proteins.
const (
	rowsFile       = "rows.json" // of a shard that folds, for the report
	tableFile      = "structures.csv"
	resultsFile    = "results.json"
	reportFile     = "report.html"
	provenanceFile = "provenance.json"
)

// What follows a sequence's file name in the names of its outputs.
const (
	PDBSuffix    = ".pdb"
	CIFSuffix    = ".cif"
	ScoresSuffix = ".scores.json"
)

// kinds are the outputs by what their names end in, the longest first.
var kinds = []struct {
	suffix string
	kind   engines.Artifact
}{
	{rowsFile, engines.Artifact{Role: engines.RoleIntermediate, MediaType: "application/json", Format: "json"}},
	{provenanceFile, engines.Artifact{Role: engines.RoleProvenance, MediaType: "application/json", Format: "json"}},
	{".mvsx", engines.Artifact{Role: engines.RoleResult, MediaType: "application/zip", Format: "mvsx"}},
	{".json", engines.Artifact{Role: engines.RoleResult, MediaType: "application/json", Format: "json"}},
	{".html", engines.Artifact{Role: engines.RoleResult, MediaType: "text/html", Format: "html"}},
	{".csv", engines.Artifact{Role: engines.RoleResult, MediaType: "text/csv", Format: "csv"}},
	{".pdb", engines.Artifact{Role: engines.RoleResult, MediaType: "chemical/x-pdb", Format: "pdb"}},
	{".cif", engines.Artifact{Role: engines.RoleResult, MediaType: "chemical/x-mmcif", Format: "mmcif"}},
	{".svg", engines.Artifact{Role: engines.RoleResult, MediaType: "image/svg+xml", Format: "svg"}},
	{".a3m", engines.Artifact{Role: engines.RoleResult, MediaType: "text/plain", Format: "a3m"}},
	{".png", engines.Artifact{Role: engines.RoleResult, MediaType: "image/png", Format: "png"}},
}

// collect checks that the outputs of a shard, which this program has run, are there and complete, and lists them.
func collect(program python.Program, shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	result, err := program.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	wanted, err := wantedOf(shard, program, result)
	if err != nil {
		return engines.Result{}, err
	}
	for _, name := range wanted {
		if result.Files[name] == "" {
			return engines.Result{}, program.BadOutput("%s is missing", name)
		}
	}
	found := make([]engines.Artifact, 0, len(result.Files))
	for _, name := range slices.Sorted(maps.Keys(result.Files)) {
		artifact, ok := artifactOf(name)
		if !ok {
			return engines.Result{}, program.BadOutput("%s is none of its files", name)
		}
		found = append(found, artifact)
	}
	return result.With(found), program.CheckStated(dir, result.Files, found)
}

func artifactOf(name string) (engines.Artifact, bool) {
	for _, one := range kinds {
		if strings.HasSuffix(name, one.suffix) && path.Base(name) == name {
			artifact := one.kind
			artifact.Name = name
			return artifact, true
		}
	}
	return engines.Artifact{}, false
}

// summary is what both stages say of their proteins.
type summary struct {
	Sequences []struct {
		File      string  `json:"file"`
		MeanPLDDT float64 `json:"meanPlddt"`
		PTM       float64 `json:"ptm"`
	} `json:"sequences"`
}

// wantedOf are the files that a shard must have left: of a shard that folds those of every protein that it says it has folded. It
// refuses confidences that cannot be.
func wantedOf(shard engines.Shard, program python.Program, result python.Result) ([]string, error) {
	if shard.Stage == StageReport {
		return []string{tableFile, resultsFile, reportFile, provenanceFile}, nil
	}
	var said summary
	if err := json.Unmarshal(result.Summary, &said); err != nil || len(said.Sequences) == 0 {
		return nil, program.BadOutput("it says of no protein that it was folded")
	}
	if len(said.Sequences)+len(result.Failures) != shard.Items {
		return nil, program.BadOutput("it speaks of %d proteins and %d failures, and had %d", len(said.Sequences),
			len(result.Failures), shard.Items)
	}
	wanted := []string{rowsFile}
	for _, one := range said.Sequences {
		if !(one.MeanPLDDT >= 0 && one.MeanPLDDT <= 100 && one.PTM >= 0 && one.PTM <= 1) {
			return nil, program.BadOutput("%s has a mean pLDDT of %g and a pTM of %g", one.File, one.MeanPLDDT, one.PTM)
		}
		for _, suffix := range []string{PDBSuffix, CIFSuffix, ScoresSuffix} {
			wanted = append(wanted, fmt.Sprint(one.File, suffix))
		}
	}
	return wanted, nil
}
