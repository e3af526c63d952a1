package swan

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

// Outputs of every deck, behind its prefix.
const (
	resultsFile = "results.json"
	reportFile  = "report.html"
	printFile   = "PRINT.txt"
)

// kinds are what files are by the ends of their names. Whatever else a deck writes is a result that only its author knows.
var kinds = map[string]engines.Artifact{
	".png":  {Role: engines.RoleResult, MediaType: "image/png", Format: "png"},
	".svg":  {Role: engines.RoleResult, MediaType: "image/svg+xml", Format: "svg"},
	".gif":  {Role: engines.RoleResult, MediaType: "image/gif", Format: "gif"},
	".nc":   {Role: engines.RoleResult, MediaType: "application/x-netcdf", Format: "netcdf"},
	".json": {Role: engines.RoleResult, MediaType: "application/json", Format: "json"},
	".html": {Role: engines.RoleResult, MediaType: "text/html", Format: "html"},
	".mat":  {Role: engines.RoleResult, MediaType: "application/x-matlab-data", Format: "mat"},
	".txt":  {Role: engines.RoleLog, MediaType: "text/plain", Format: "txt"},
	".tab":  {Role: engines.RoleResult, MediaType: "text/plain", Format: "txt"},
	".tbl":  {Role: engines.RoleResult, MediaType: "text/plain", Format: "txt"},
	".spc":  {Role: engines.RoleResult, MediaType: "text/plain", Format: "swan-spectra"},
}

// Collect checks that the shard's outputs are there and complete, and lists them.
func (SWAN) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	var params runParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return engines.Result{}, err
	}
	result, err := running.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	for _, name := range []string{resultsFile, reportFile, printFile} {
		if result.Files[params.Prefix+name] == "" {
			return engines.Result{}, running.BadOutput("%s is missing", name)
		}
	}
	found := make([]engines.Artifact, 0, len(result.Files))
	for _, name := range slices.Sorted(maps.Keys(result.Files)) {
		if path.Base(name) != name {
			return engines.Result{}, running.BadOutput("%s lies in a folder", name)
		}
		artifact, known := kinds[strings.ToLower(path.Ext(name))]
		if !known {
			artifact = engines.Artifact{Role: engines.RoleResult, MediaType: "application/octet-stream", Format: "swan"}
		}
		artifact.Name = name
		found = append(found, artifact)
	}
	return result.With(found), running.CheckStated(dir, result.Files, found)
}
