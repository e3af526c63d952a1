package openmm

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

const (
	analysisDocument = "analysis.json"
	// maxAnalysisFiles bounds the files of an analysis: a table, a report and a plot for each quantity in two formats.
	maxAnalysisFiles = 100
)

// analysisName is what a file of the analysis may be called: a word, or a word below plots/.
var analysisName = regexp.MustCompile(`^(plots/)?[A-Za-z0-9][A-Za-z0-9_-]{0,99}\.[a-z]{3,4}$`)

// analysisKinds says what a file of the analysis is, by the ending of its name. Raster plots are the previews of a job.
var analysisKinds = map[string]engines.Artifact{
	".json": {Role: engines.RoleResult, MediaType: mediaJSON, Format: "json"},
	".csv":  {Role: engines.RoleResult, MediaType: "text/csv", Format: "csv"},
	".html": {Role: engines.RoleResult, MediaType: "text/html", Format: "html"},
	".svg":  {Role: engines.RoleResult, MediaType: "image/svg+xml", Format: "svg"},
	".pdb":  {Role: engines.RoleResult, MediaType: mediaPDB, Format: FormatPDB},
	".png":  {Role: engines.RolePreview, MediaType: "image/png", Format: "png"},
}

// collectAnalysis lists what the analysis says it has left, and checks that it is what it says.
func collectAnalysis(dir engines.Dir, files map[string]string) ([]engines.Artifact, error) {
	found, err := analysisArtifacts(files)
	if err != nil {
		return nil, err
	}
	if err := dynamics.CheckStated(dir, files, found); err != nil {
		return nil, err
	}
	var document struct {
		Schema string `json:"schema"`
	}
	if err := dynamics.ReadDocument(dir, analysisDocument, maxDocumentBytes, &document); err != nil {
		return nil, err
	}
	if document.Schema == "" {
		return nil, dynamics.BadOutput("%s names no schema", analysisDocument)
	}
	return found, nil
}

// analysisArtifacts turns names into artifacts, in the order of the names. One that leads elsewhere, is of no known kind or is the
// name of another stage's output is a *engines.Failure.
func analysisArtifacts(files map[string]string) ([]engines.Artifact, error) {
	if files[analysisDocument] == "" {
		return nil, dynamics.BadOutput("%s is missing", analysisDocument)
	}
	if len(files) > maxAnalysisFiles {
		return nil, dynamics.BadOutput("it has left %d files, more than %d", len(files), maxAnalysisFiles)
	}
	found := make([]engines.Artifact, 0, len(files))
	for name := range files {
		artifact, known := analysisKinds[path.Ext(name)]
		taken := slices.ContainsFunc(artifacts, func(a engines.Artifact) bool { return a.Name == name })
		if !known || taken || name == python.ResultFile || !analysisName.MatchString(name) {
			return nil, dynamics.BadOutput("%s names a file %q", python.ResultFile, name)
		}
		artifact.Name = name
		found = append(found, artifact)
	}
	slices.SortFunc(found, func(a, b engines.Artifact) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}
