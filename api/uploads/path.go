package uploads

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// maxPathBytes leaves room for the account's and the project's part of a storage key, which ends at 1,024 bytes.
	maxPathBytes = 800
	// maxSegmentBytes is what file systems take, the embedded store's and the worker's.
	maxSegmentBytes = 255
)

// place is where in a project package a file belongs; the zero place is none.
type place struct{ projectID, logicalPath string }

// placeOf checks the place that a request names. Errors: fault.Validation.
func placeOf(projectID, logicalPath string) (place, error) {
	switch {
	case projectID == "" && logicalPath == "":
		return place{}, nil
	case logicalPath == "":
		return place{}, fault.New(fault.Validation, "logicalPath: is required with projectId")
	case projectID == "":
		return place{}, fault.New(fault.Validation, "projectId: is required with logicalPath")
	}
	if reason := objection(logicalPath); reason != "" {
		return place{}, fault.New(fault.Validation, "logicalPath: %s", reason)
	}
	id, err := uuid.Parse(projectID)
	if err != nil || len(projectID) != len(id.String()) {
		return place{}, fault.New(fault.Validation, "projectId: must be a UUID of 32 hexadecimal digits and four dashes")
	}
	return place{projectID: id.String(), logicalPath: logicalPath}, nil
}

// objection says what speaks against a project-relative POSIX path, or "" (doc/contract.md §2.6).
func objection(logicalPath string) string {
	switch {
	case logicalPath == "":
		return "must not be empty"
	case len(logicalPath) > maxPathBytes:
		return fmt.Sprintf("must have at most %d bytes", maxPathBytes)
	case strings.HasPrefix(logicalPath, "/"):
		return "must be relative to the project: no leading slash"
	case strings.Contains(logicalPath, `\`):
		return "must be a POSIX path: no backslash"
	case strings.Contains(logicalPath, "\x00"):
		return "must hold no NUL"
	case strings.ContainsFunc(logicalPath, isControl):
		return "must hold no control character: object stores cannot list such keys"
	case strings.ToValidUTF8(logicalPath, "") != logicalPath:
		return "must be valid UTF-8"
	}
	for segment := range strings.SplitSeq(logicalPath, "/") {
		switch {
		case segment == "":
			return "must have no empty segment: no double slash and none at the end"
		case segment == "." || segment == "..":
			return "must have no . or .. segment"
		case len(segment) > maxSegmentBytes:
			return fmt.Sprintf("every segment must have at most %d bytes", maxSegmentBytes)
		}
	}
	return ""
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// ancestors lists the directories that a path lies in: of "a/b/c", "a" and "a/b".
func ancestors(logicalPath string) []string {
	found := []string{}
	for i, r := range logicalPath {
		if r == '/' {
			found = append(found, logicalPath[:i])
		}
	}
	return found
}
