package vina

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/internal/mol"
)

const (
	resultsSchema  = "molfabric.docking.results/v1"
	ligandsSchema  = "molfabric.docking.ligands/v1"
	posesSchema    = "molfabric.docking.poses/v1"
	receptorSchema = "molfabric.docking.receptor/v1"
	redockSchema   = "molfabric.docking.redock/v1"
	analysisSchema = "molfabric.docking.analysis/v1"

	maxOutputBytes = 256 << 20 // any JSON document of a shard
)

// Statuses of a ligand in the programs' documents.
const (
	statusPrepared  = "PREPARED"
	statusCompleted = "COMPLETED"
	statusFailed    = "FAILED"
)

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
	Convergence  map[string]any    `json:"convergence"`
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
	name, err := docking.Main(shard)
	if err != nil {
		return engines.Result{}, err
	}
	document, err := docking.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	result := document.With(nil)
	switch name {
	case programReceptor:
		err = collectReceptor(shard, dir, &result)
	case programLigands:
		err = collectLigands(shard, dir, &result)
	case programRedock:
		err = collectRedocked(dir, &result)
	case programDock:
		err = collectDocked(shard, dir, &result)
	case programAnalyse:
		err = collectAnalysed(shard, dir, &result)
	case programPicture:
		err = collectPicture(shard, dir, &result)
	case programRank:
		err = collectRanked(shard, dir, &result)
	}
	if err == nil && name != programRank { // whose provenance states more than one program's digests
		err = docking.CheckStated(dir, document.Files, result.Artifacts)
	}
	if err != nil {
		return engines.Result{}, err
	}
	return result, nil
}

func collectReceptor(shard engines.Shard, dir engines.Dir, result *engines.Result) error {
	var params receptorParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	var report struct {
		Schema         string `json:"schema"`
		AtomCount      int    `json:"atomCount"`
		PreparedSHA256 string `json:"preparedSha256"`
	}
	if err := docking.ReadDocument(dir, outputReceptorReport, maxOutputBytes, &report); err != nil {
		return err
	}
	content, err := python.ReadBounded(dir.Out(outputReceptor), maxOutputBytes)
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
		{Name: outputReceptor, Role: engines.RoleResult, MediaType: mediaTypes["pdbqt"], Format: "pdbqt"},
		{Name: outputReceptorPDB, Role: engines.RoleResult, MediaType: mediaTypes["pdb"], Format: "pdb"},
		{Name: outputReceptorReport, Role: engines.RoleResult, MediaType: mediaTypes["json"], Format: "json"},
		{Name: outputBox, Role: engines.RoleResult, MediaType: mediaTypes["json"], Format: "json"},
		{Name: outputSerials, Role: engines.RoleIntermediate, MediaType: mediaTypes["json"], Format: "json"},
	}
	if params.NativeReference != nil {
		result.Artifacts = append(result.Artifacts, engines.Artifact{Name: outputNative, Role: engines.RoleIntermediate,
			MediaType: mediaTypes["json"], Format: "json"})
	}
	return readAll(dir, result.Artifacts[3:])
}

// readAll checks that JSON outputs are whole.
func readAll(dir engines.Dir, artifacts []engines.Artifact) error {
	for _, artifact := range artifacts {
		var document json.RawMessage
		if err := docking.ReadDocument(dir, artifact.Name, maxOutputBytes, &document); err != nil {
			return err
		}
	}
	return nil
}

func collectRedocked(dir engines.Dir, result *engines.Result) error {
	var document struct {
		Schema       string   `json:"schema"`
		RMSDAngstrom *float64 `json:"rmsdAngstrom"`
		Passed       *bool    `json:"passed"`
	}
	if err := docking.ReadDocument(dir, outputRedocked, maxOutputBytes, &document); err != nil {
		return err
	}
	if document.Schema != redockSchema || document.RMSDAngstrom == nil || document.Passed == nil {
		return docking.BadOutput("%s says no deviation", outputRedocked)
	}
	result.Artifacts = []engines.Artifact{
		{Name: outputRedocked, Role: engines.RoleResult, MediaType: mediaTypes["json"], Format: "json"},
		{Name: "native/crystal.sdf", Role: engines.RoleResult, MediaType: mediaTypes["sdf"], Format: "sdf"},
		{Name: outputRedockedSDF, Role: engines.RoleResult, MediaType: mediaTypes["sdf"], Format: "sdf"},
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
	judged := params.Search.Exhaustiveness == mol.AutoExhaustiveness
	if err := collectRecords(dir, outputDocked, posesSchema, params.Indices, result, func(l ligandRecord) bool {
		whole := len(l.Poses) > 0 && strings.Count(l.PDBQT, "ENDMDL") == len(l.Poses)
		return l.Status == statusCompleted && whole && (l.Convergence != nil) == judged
	}); err != nil {
		return err
	}
	if len(result.Failures) == len(params.Indices) {
		return docking.BadOutput("%s holds no docked ligand", outputDocked)
	}
	failed := map[string]bool{}
	for _, failure := range result.Failures {
		failed[failure.Item] = true
	}
	var document ligandsDocument
	if err := docking.ReadDocument(dir, outputDocked, maxOutputBytes, &document); err != nil {
		return err
	}
	for _, ligand := range document.Ligands {
		if !failed[ligand.LigandID] {
			result.Artifacts = append(result.Artifacts, posesArtifact(ligand.Index, "pdbqt"))
		}
	}
	seed := params.Search.Seed
	result.Seed = &seed
	return nil
}

// posesArtifact is the file that holds every pose of a ligand.
func posesArtifact(index int, format string) engines.Artifact {
	return engines.Artifact{Name: fmt.Sprintf("poses/%05d.%s", index+1, format), Role: engines.RoleResult,
		MediaType: mediaTypes[format], Format: format}
}

// collectAnalysed takes an analysis, which has a record for each ligand that was docked: a docking shard that failed leaves a gap.
func collectAnalysed(shard engines.Shard, dir engines.Dir, result *engines.Result) error {
	var params analyseParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	var document ligandsDocument
	if err := docking.ReadDocument(dir, outputAnalysis, maxOutputBytes, &document); err != nil {
		return err
	}
	if document.Schema != analysisSchema || len(document.Ligands) > len(params.Indices) {
		return docking.BadOutput("%s holds %d ligands for %d", outputAnalysis, len(document.Ligands), len(params.Indices))
	}
	asked := map[int]bool{}
	for _, index := range params.Indices {
		asked[index] = true
	}
	result.Artifacts = []engines.Artifact{{Name: outputAnalysis, Role: engines.RoleResult, MediaType: mediaTypes["json"],
		Format: "json"}}
	for _, ligand := range document.Ligands {
		if !asked[ligand.Index] {
			return docking.BadOutput("%s holds ligand %d, which was not asked for or is there twice", outputAnalysis,
				ligand.Index+1)
		}
		asked[ligand.Index] = false
		switch sdf := posesArtifact(ligand.Index, "sdf"); {
		case ligand.Status == statusFailed && ligand.FailureStage != "":
			result.Failures = appendFailure(result.Failures, ligand)
		case ligand.Status != statusCompleted || len(ligand.Poses) == 0:
			return docking.BadOutput("%s is incomplete for ligand %d", outputAnalysis, ligand.Index+1)
		case ligand.Files["sdf"] == sdf.Name:
			result.Artifacts = append(result.Artifacts, sdf)
		case ligand.Files["sdf"] != "": // a ligand given as PDBQT without its SMILES has none
			return docking.BadOutput("%s names another file for ligand %d", outputAnalysis, ligand.Index+1)
		}
	}
	return nil
}

// appendFailure adds a ligand that failed, unless the program has listed it already.
func appendFailure(failures []engines.ItemFailure, ligand ligandRecord) []engines.ItemFailure {
	if slices.ContainsFunc(failures, func(f engines.ItemFailure) bool { return f.Item == ligand.LigandID }) {
		return failures
	}
	return append(failures, engines.ItemFailure{Item: ligand.LigandID, Label: ligand.Label, Step: ligand.FailureStage,
		Message: ligand.Error})
}

// collectRecords reads a document that must hold one record for each index, in order; good says whether the record of a
// ligand that did not fail is complete.
func collectRecords(
	dir engines.Dir, name, schema string, indices []int, result *engines.Result, good func(ligandRecord) bool,
) error {
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
			result.Failures = appendFailure(result.Failures, ligand)
		case !good(ligand):
			return docking.BadOutput("%s is incomplete for ligand %d", name, ligand.Index+1)
		}
	}
	result.Artifacts = []engines.Artifact{{Name: name, Role: engines.RoleIntermediate, MediaType: "application/json",
		Format: "json"}}
	return nil
}

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
	if document.Schema != resultsSchema || c == nil || c.Total != params.LigandCount || c.Completed == 0 ||
		c.Completed+c.Failed != c.Total {
		return docking.BadOutput("results.json does not account for %d ligands", params.LigandCount)
	}
	artifacts := []engines.Artifact{
		{Name: "results.json", Role: engines.RoleResult, MediaType: mediaTypes["json"], Format: "json"},
		{Name: "results.csv", Role: engines.RoleResult, MediaType: "text/csv", Format: "csv"},
		{Name: "best.sdf", Role: engines.RoleResult, MediaType: mediaTypes["sdf"], Format: "sdf"},
		{Name: "report.html", Role: engines.RoleResult, MediaType: "text/html; charset=utf-8", Format: "html"},
		{Name: "provenance.json", Role: engines.RoleProvenance, MediaType: mediaTypes["json"], Format: "json"},
		{Name: "timings.json", Role: engines.RoleLog, MediaType: mediaTypes["json"], Format: "json"},
	}
	completed, undepicted := 0, len(artifacts)
	for _, ligand := range document.Ligands {
		if ligand.Status != statusCompleted {
			continue
		}
		completed++
		if ligand.Files["complex"] == "" {
			continue
		}
		model := engines.Artifact{Name: ComplexName(ligand.Index), Role: engines.RoleResult, MediaType: mediaTypes["pdb"],
			Format: "pdb"}
		if ligand.Files["complex"] != model.Name {
			return docking.BadOutput("results.json names another complex for ligand %d", ligand.Index+1)
		}
		artifacts = append(artifacts, model)
		if params.Depicted && len(artifacts) == undepicted+1 {
			artifacts = append(artifacts, engines.Artifact{Name: outputBest, Role: engines.RoleResult, MediaType: mediaTypes["pdb"],
				Format: "pdb"})
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

var mediaTypes = map[string]string{
	"json": "application/json", "pdb": "chemical/x-pdb", "pdbqt": "chemical/x-pdbqt", "sdf": "chemical/x-mdl-sdfile",
}
