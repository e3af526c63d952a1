package vina

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
)

const (
	resultFile     = "result.json"
	resultsSchema  = "molfabric.docking.results/v1"
	ligandsSchema  = "molfabric.docking.ligands/v1"
	posesSchema    = "molfabric.docking.poses/v1"
	receptorSchema = "molfabric.docking.receptor/v1"

	maxResultBytes  = 64 << 20  // 10,000 item failures fit
	maxOutputBytes  = 256 << 20 // any JSON document of a shard
	maxFailureItems = 10_000
)

// Statuses of a ligand in the programs' documents.
const (
	statusPrepared  = "PREPARED"
	statusCompleted = "COMPLETED"
	statusFailed    = "FAILED"
)

// resultDocument is what every program writes last, as out/result.json.
type resultDocument struct {
	Summary  json.RawMessage       `json:"summary"`
	Failures []engines.ItemFailure `json:"failures"`
	Programs map[string]string     `json:"programs"`
}

// ligandRecord is what Collect reads of a ligand in the programs' documents.
type ligandRecord struct {
	Index        int               `json:"index"`
	LigandID     string            `json:"ligandId"`
	Label        string            `json:"label"`
	Status       string            `json:"status"`
	FailureStage string            `json:"failureStage"`
	Error        string            `json:"error"`
	PDBQT        string            `json:"pdbqt"`
	Poses        []json.RawMessage `json:"poses"`
	Files        map[string]string `json:"files"` // null is read as ""
}

type ligandsDocument struct {
	Schema  string         `json:"schema"`
	Counts  *countsRecord  `json:"counts"`
	Ligands []ligandRecord `json:"ligands"`
}

type countsRecord struct{ Total, Completed, Failed int }

// Collect checks that a shard's outputs are there and complete, and lists them.
func (Vina) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	program, err := programOf(shard)
	if err != nil {
		return engines.Result{}, err
	}
	var document resultDocument
	if err := docking.ReadDocument(dir, resultFile, maxResultBytes, &document); err != nil {
		return engines.Result{}, err
	}
	result := engines.Result{Summary: document.Summary, Failures: document.Failures, Programs: document.Programs}
	if len(result.Summary) > engines.MaxSummaryBytes || len(result.Failures) > maxFailureItems {
		return engines.Result{}, docking.BadOutput("%s is larger than it can be", resultFile)
	}
	switch program {
	case programReceptor:
		err = collectReceptor(dir, &result)
	case programLigands:
		err = collectLigands(shard, dir, &result)
	case programDock:
		err = collectDocked(shard, dir, &result)
	case programRank:
		err = collectRanked(shard, dir, &result)
	}
	if err != nil {
		return engines.Result{}, err
	}
	return result, nil
}

func collectReceptor(dir engines.Dir, result *engines.Result) error {
	var report struct {
		Schema         string `json:"schema"`
		AtomCount      int    `json:"atomCount"`
		PreparedSHA256 string `json:"preparedSha256"`
	}
	if err := docking.ReadDocument(dir, outputReceptorReport, maxOutputBytes, &report); err != nil {
		return err
	}
	content, err := program.ReadBounded(dir.Out(outputReceptor), maxOutputBytes)
	if err != nil {
		return docking.BadOutput("%s is missing", outputReceptor)
	}
	if atoms := countAtoms(string(content)); report.Schema != receptorSchema || atoms == 0 || atoms != report.AtomCount {
		return docking.BadOutput("%s has %d atoms, its report says %d", outputReceptor, atoms, report.AtomCount)
	}
	if digest := sha256.Sum256(content); hex.EncodeToString(digest[:]) != report.PreparedSHA256 {
		return docking.BadOutput("%s is not the file of its report", outputReceptor)
	}
	result.Artifacts = []engines.Artifact{
		{Name: outputReceptor, Role: engines.RoleResult, MediaType: "chemical/x-pdbqt", Format: "pdbqt"},
		{Name: outputReceptorReport, Role: engines.RoleResult, MediaType: "application/json", Format: "json"},
	}
	return nil
}

func countAtoms(pdbqt string) int {
	atoms := 0
	for line := range strings.Lines(pdbqt) {
		if strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM") {
			atoms++
		}
	}
	return atoms
}

func collectLigands(shard engines.Shard, dir engines.Dir, result *engines.Result) error {
	var params ligandsParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	var indices []int
	for _, ligand := range params.Ligands {
		indices = append(indices, ligand.Index)
	}
	err := collectRecords(dir, outputLigands, ligandsSchema, indices, result, func(l ligandRecord) bool {
		return l.Status == statusPrepared && countAtoms(l.PDBQT) > 0
	})
	return err
}

func collectDocked(shard engines.Shard, dir engines.Dir, result *engines.Result) error {
	var params dockParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	if err := collectRecords(dir, outputDocked, posesSchema, params.Indices, result, func(l ligandRecord) bool {
		return l.Status == statusCompleted && len(l.Poses) > 0 && strings.Count(l.PDBQT, "ENDMDL") == len(l.Poses)
	}); err != nil {
		return err
	}
	if len(result.Failures) == len(params.Indices) {
		return docking.BadOutput("%s holds no docked ligand", outputDocked)
	}
	seed := params.Search.Seed
	result.Seed = &seed
	return nil
}

// collectRecords reads a document that must hold one record for each index, in order; good says whether the record of a
// ligand that did not fail is complete.
func collectRecords(dir engines.Dir, name, schema string, indices []int, result *engines.Result, good func(ligandRecord) bool) error {
	var document ligandsDocument
	if err := docking.ReadDocument(dir, name, maxOutputBytes, &document); err != nil {
		return err
	}
	if document.Schema != schema || len(document.Ligands) != len(indices) {
		return docking.BadOutput("%s holds %d of %d ligands", name, len(document.Ligands), len(indices))
	}
	for i, ligand := range document.Ligands {
		switch {
		case ligand.Index != indices[i]:
			return docking.BadOutput("%s holds ligand %d where %d was expected", name, ligand.Index+1, indices[i]+1)
		case ligand.Status == statusFailed && ligand.FailureStage != "":
			result.Failures = append(result.Failures, engines.ItemFailure{Item: ligand.LigandID, Label: ligand.Label, Step: ligand.FailureStage, Message: ligand.Error})
		case !good(ligand):
			return docking.BadOutput("%s is incomplete for ligand %d", name, ligand.Index+1)
		}
	}
	result.Artifacts = []engines.Artifact{{Name: name, Role: engines.RoleIntermediate, MediaType: "application/json", Format: "json"}}
	return nil
}

// poseFile is how rank.py names a ligand's poses; no other path is taken from its output.
var poseFile = regexp.MustCompile(`^poses/\d{5}\.(sdf|pdbqt)$`)

func collectRanked(shard engines.Shard, dir engines.Dir, result *engines.Result) error {
	var params rankParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	var document ligandsDocument
	if err := docking.ReadDocument(dir, "results.json", maxOutputBytes, &document); err != nil {
		return err
	}
	c := document.Counts
	if document.Schema != resultsSchema || c == nil || c.Total != params.LigandCount || c.Completed == 0 || c.Completed+c.Failed != c.Total {
		return docking.BadOutput("results.json does not account for %d ligands", params.LigandCount)
	}
	artifacts := []engines.Artifact{
		{Name: "results.json", Role: engines.RoleResult, MediaType: "application/json", Format: "json"},
		{Name: "results.csv", Role: engines.RoleResult, MediaType: "text/csv", Format: "csv"},
		{Name: "best.sdf", Role: engines.RoleResult, MediaType: "chemical/x-mdl-sdfile", Format: "sdf"},
		{Name: "provenance.json", Role: engines.RoleProvenance, MediaType: "application/json", Format: "json"},
		{Name: "timings.json", Role: engines.RoleLog, MediaType: "application/json", Format: "json"},
	}
	completed := 0
	for _, ligand := range document.Ligands {
		if ligand.Status != statusCompleted {
			continue
		}
		completed++
		for _, format := range []string{"sdf", "pdbqt"} {
			name := ligand.Files[format]
			if name == "" && format == "sdf" {
				continue // a ligand given as PDBQT without its SMILES has no SDF
			}
			if !poseFile.MatchString(name) || filepath.Ext(name) != "."+format {
				return docking.BadOutput("results.json names no %s file for ligand %d", format, ligand.Index+1)
			}
			artifacts = append(artifacts, engines.Artifact{Name: name, Role: engines.RoleResult, MediaType: mediaTypes[format], Format: format})
		}
	}
	if completed != c.Completed {
		return docking.BadOutput("results.json holds %d of %d docked ligands", completed, c.Completed)
	}
	if err := checkFiles(dir, artifacts); err != nil {
		return err
	}
	seed := params.Search.Seed
	result.Artifacts, result.Seed = artifacts, &seed
	return nil
}

// checkFiles compares every result file with the digest that provenance.json states for it; what else there is must be whole.
func checkFiles(dir engines.Dir, artifacts []engines.Artifact) error {
	for _, artifact := range artifacts {
		var document json.RawMessage
		if artifact.Role == engines.RoleResult {
			continue
		}
		if err := docking.ReadDocument(dir, artifact.Name, maxOutputBytes, &document); err != nil {
			return err
		}
	}
	return docking.CheckDigests(dir, "provenance.json", maxOutputBytes, artifacts)
}

var mediaTypes = map[string]string{"sdf": "chemical/x-mdl-sdfile", "pdbqt": "chemical/x-pdbqt"}
