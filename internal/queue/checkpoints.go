package queue

import (
	"path"
	"regexp"
	"strings"
)

const (
	// MaxCheckpoints bounds the checkpoints of one task: all of them travel in the work order of its next attempt, and a shard of
	// a few hundred items saves each of them.
	MaxCheckpoints = 1000
	// maxCheckpointNameBytes bounds a name: it is part of a storage key, of which S3 allows 1,024 bytes.
	maxCheckpointNameBytes = 200
	// checkpointDir and resumeDir are where a program leaves a checkpoint below out/, and where the next attempt finds it below
	// in/.
	checkpointDir = "checkpoint/"
	resumeDir     = "resume/"
)

// checkpointName allows plain words between slashes: the name becomes a part of a storage key and of a path.
var checkpointName = regexp.MustCompile(`^checkpoint(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)

// ValidCheckpointName reports whether a checkpoint may have this name, which programs choose: a path "checkpoint/<name>" of at
// most 200 letters, digits, "_", "-" and ".", no part of which begins with "." or "-".
func ValidCheckpointName(name string) bool {
	return len(name) <= maxCheckpointNameBytes && checkpointName.MatchString(name)
}

// previewName is the file in which a program shows how far it is: it replaces itself and is no finished work.
const previewName = "preview.jpg"

// KeepsWork reports whether a checkpoint of this name is finished work that a later attempt can go on from.
func KeepsWork(name string) bool { return path.Base(name) != previewName }

// BareCheckpointName is a checkpoint's name without the directory that all of them share.
func BareCheckpointName(name string) string { return strings.TrimPrefix(name, checkpointDir) }

// ResumeName is the Name of the input as which the next attempt gets a checkpoint.
func ResumeName(checkpoint string) string { return resumeDir + BareCheckpointName(checkpoint) }

// ResumedCheckpoint is the checkpoint of which an input was made by ResumeName.
func ResumedCheckpoint(inputName string) string {
	return checkpointDir + strings.TrimPrefix(inputName, resumeDir)
}
