package docking

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/rocrate"
)

// Files of every bundle beside those that the job made.
const (
	fileMetadata   = rocrate.MetadataFile
	fileMethods    = "methods.md"
	fileArtifacts  = "artifacts.csv"
	fileProvenance = "provenance.json"
	fileReceipt    = "receipt.json"
	fileRequest    = "request.json"
)

// complexes begins the names of the models of receptor and pose together.
const complexes = "complexes/"

// soundPath is a path that can be unpacked anywhere: names of letters, digits, "_", "-" and ".", none of which begins with a dot.
var soundPath = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

// maxPathBytes bounds a path: some file systems take no longer name.
const maxPathBytes = 200

// laidOut gives the files of a job their places in the bundle. A name that another file has too gets the name of its task in front.
func laidOut(rows []madeRow, poses bool) []madeFile {
	named := map[string]int{fileMetadata: 1, fileMethods: 1, fileArtifacts: 1, fileProvenance: 1, fileReceipt: 1,
		fileRequest: 1}
	for _, row := range rows {
		named[row.Name]++
	}
	taken := map[string]bool{}
	files := make([]madeFile, len(rows))
	for i, row := range rows {
		place := row.Name
		if named[place] > 1 {
			place = path.Join(row.Task, row.Name)
		}
		if taken[place] { // logs of two attempts
			place = path.Join(row.Task, row.ID, row.Name)
		}
		sound := soundPath.MatchString(place) && len(place) <= maxPathBytes && !taken[place]
		taken[place] = true
		files[i] = madeFile{madeRow: row, path: place, included: sound && row.belongs(poses)}
	}
	return files
}

// belongs tells whether a file is part of a bundle, with or without poses.
func (r madeRow) belongs(poses bool) bool {
	kind := vina.KindOf(r.Stage, r.Task)
	switch {
	case r.Role == string(engines.RoleCheckpoint):
		return false
	case kind == vina.KindDock, kind == vina.KindAnalyse:
		return poses && r.Role == string(engines.RoleResult)
	case strings.HasPrefix(r.Name, complexes):
		return poses
	}
	return true
}

func bytesOf(files []madeFile) (sum int64) {
	for _, f := range files {
		if f.included {
			sum += f.ByteSize
		}
	}
	return sum
}

var fileColumns = []column[madeFile]{
	{"artifactId", func(f madeFile) string { return f.ID }},
	{"name", func(f madeFile) string { return list.Foreign(f.Name) }},
	{"task", func(f madeFile) string { return list.Foreign(f.Task) }},
	{"role", func(f madeFile) string { return f.Role }},
	{"mediaType", func(f madeFile) string { return list.Foreign(f.MediaType) }},
	{"sha256", func(f madeFile) string { return f.SHA256 }},
	{"byteSize", func(f madeFile) string { return fmt.Sprint(f.ByteSize) }},
	{"included", func(f madeFile) string {
		if f.included {
			return "yes"
		}
		return "no"
	}},
	{"path", func(f madeFile) string {
		if f.included {
			return f.path
		}
		return ""
	}},
}
