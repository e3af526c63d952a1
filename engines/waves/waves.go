// Package waves is what the models of waves share: it judges the archive of a case and the names of files in it, bounds a run, and
// lists what a finished task leaves. The Python programs beside it, which it embeds, unpack a case and draw maps and reports. The
// models themselves, and what they can be told, are in the engines' own folders.
package waves

import (
	"embed"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/internal/casefile"
)

//go:embed programs/*.py
var programs embed.FS

// Sources are the programs that engines lay beside their own.
var Sources = python.Source{Files: programs, From: "programs"}

const (
	// SceneFile is the member of a request that names the archive of the case.
	SceneFile = "sceneFile"
	// InputCase is the archive among the inputs of a shard.
	InputCase = "case"
	// RecoveryResumable is the mode of recovery that cuts a run over time into windows.
	RecoveryResumable = "resumable"
	// ResultsFile is left by every run, behind the run's prefix.
	ResultsFile = "results.json"
	// ReportFile is the same for people.
	ReportFile = "report.html"
	// MostRunSeconds bounds the processor time of one run.
	MostRunSeconds = 5 * 24 * 3600.0
	// MostMemoryBytes bounds its memory.
	MostMemoryBytes = 64 << 30
	// WindowSeconds of computation are lost at most when a worker is.
	WindowSeconds = 300.0
	// MaxWindows bounds the parts of a run.
	MaxWindows = 100

	slowdown  = 6 // of a busy or old machine
	leastTime = 30 * time.Minute
	mostTime  = 7 * 24 * time.Hour
	mebibyte  = 1 << 20
)

// Wants is what the archive holds, so that a bad case is known before it costs anything.
func Wants(r engines.Request) (engines.Wants, error) {
	if err := CheckArchive(r.SceneFile); err != nil {
		return engines.Wants{}, err
	}
	return engines.Wants{Contents: []engines.WantedContent{{Path: SceneFile, File: r.SceneFile, As: engines.ReadCase,
		Whose: "the case", IfEmpty: "give the folder of the case as .zip or .tar.gz"}}}, nil
}

// CheckArchive refuses an archive that is missing or too large. Errors: *engines.InvalidError.
func CheckArchive(scene engines.Object) error {
	switch {
	case scene.StorageKey == "":
		return Invalid(SceneFile, "is missing; give the storage key of the case, a .zip or .tar.gz archive")
	case scene.ByteSize > casefile.MaxArchiveBytes:
		return Invalid(SceneFile, "has %d bytes; the archive of a case may have at most %d", scene.ByteSize,
			casefile.MaxArchiveBytes)
	}
	return nil
}

// Invalid is what is wrong with a member of a request.
func Invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// WrongError is the first thing that is wrong with a file of a case.
type WrongError struct {
	File   string
	Line   int // 0 where it is the whole file
	Reason string
}

func (e *WrongError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("%s, line %d: %s", e.File, e.Line, e.Reason)
}

// Wrong is a *WrongError; line 0 means the whole file.
func Wrong(file string, line int, format string, args ...any) error {
	return &WrongError{file, line, fmt.Sprintf(format, args...)}
}

// StaysInside tells whether a name that a case gives leads to no place outside the folder that it starts from.
func StaysInside(name string) bool {
	clean := path.Clean(name)
	return name != "" && !path.IsAbs(name) && clean != ".." && !strings.HasPrefix(clean, "../") && !strings.ContainsAny(name, `\:`)
}

// Nearest names a file of the case that may be meant, or some of what there is.
func Nearest(files *casefile.Case, name string) string {
	var names []string
	for _, file := range files.Files {
		if strings.EqualFold(path.Base(file.Name), path.Base(name)) {
			return fmt.Sprintf("it has %q", file.Name)
		}
		names = append(names, file.Name)
	}
	const few = 8
	if len(names) > few {
		return fmt.Sprintf("it has %s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return "it has " + strings.Join(names, ", ")
}

// CheckSize refuses a run that would take too long (seconds of one core) or too much memory. lessMemory ends the second sentence.
func CheckSize(file string, seconds float64, bytes int64, lessTime, lessMemory string) error {
	switch {
	case seconds > MostRunSeconds:
		return Invalid(SceneFile, "%s would take about %.0f hours of a core; a run may take %.0f: use %s", file, seconds/3600,
			MostRunSeconds/3600, lessTime)
	case bytes > MostMemoryBytes:
		return Invalid(SceneFile, "%s would take about %d GiB of memory; a run may take %d: use %s", file, bytes>>30,
			int64(MostMemoryBytes)>>30, lessMemory)
	}
	return nil
}

// Windows tells into how many parts a run of so many steps and seconds is cut.
func Windows(steps int, seconds float64) int {
	return min(max(int(seconds/WindowSeconds), 2), MaxWindows, steps)
}

// TimeLimit of a run that takes so many seconds at most.
func TimeLimit(seconds float64) time.Duration {
	work := math.Min(slowdown*seconds, mostTime.Seconds())
	return min(leastTime+time.Duration(work*float64(time.Second)), mostTime).Round(time.Second)
}

// WholeMebibytes keeps plans free of digits that mean nothing; so does Round.
func WholeMebibytes(bytes int64) int64 { return (bytes + mebibyte - 1) / mebibyte * mebibyte }

// Round gives tenths of a second.
func Round(seconds float64) float64 { return math.Round(seconds*10) / 10 }

// kinds are what files are by the ends of their names. Whatever else a run writes is a result that only its author knows.
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
	".csv":  {Role: engines.RoleResult, MediaType: "text/csv", Format: "csv"},
	".tbl":  {Role: engines.RoleResult, MediaType: "text/plain", Format: "txt"},
	".spc":  {Role: engines.RoleResult, MediaType: "text/plain", Format: "swan-spectra"},
}

// Collect checks that a task's outputs are there and complete, the needed ones among them, and lists them. other is the format of
// files whose name tells nothing.
func Collect(program python.Program, dir engines.Dir, other string, needed ...string) (engines.Result, error) {
	result, err := program.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	for _, name := range needed {
		if result.Files[name] == "" {
			return engines.Result{}, program.BadOutput("%s is missing", name)
		}
	}
	found := make([]engines.Artifact, 0, len(result.Files))
	for _, name := range slices.Sorted(maps.Keys(result.Files)) {
		if path.Base(name) != name {
			return engines.Result{}, program.BadOutput("%s lies in a folder", name)
		}
		artifact, known := kinds[strings.ToLower(path.Ext(name))]
		if !known {
			artifact = engines.Artifact{Role: engines.RoleResult, MediaType: "application/octet-stream", Format: other}
		}
		artifact.Name = name
		found = append(found, artifact)
	}
	return result.With(found), program.CheckStated(dir, result.Files, found)
}
