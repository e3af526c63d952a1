package jobs

import (
	"math"

	"github.com/molfabric/molfabric/api/list"
)

// place is where a list in the order of the plan goes on. Unlike the lists of jobs and files it runs from the first task to the
// last.
type place struct {
	Ordinal *int `json:"o"` // nil is of no list
	// Artifact is the last file of the task that was shown; "" in lists of tasks.
	Artifact string `json:"a,omitempty"`
}

// Good tells whether the database can compare the place.
func (p place) Good() bool {
	return p.Ordinal != nil && *p.Ordinal >= 0 && *p.Ordinal <= math.MaxInt32 && printable(p.Artifact)
}

// The orders of lists.
var (
	newestJobs  = list.Newest("created_at", "id")
	newestFiles = list.Newest("a.created_at", "a.id")
	planned     = list.Order{Columns: []list.Column{{SQL: "ordinal"}}}
	// plannedLogs sorts the logs of one task as they were made.
	plannedLogs = list.Order{Columns: []list.Column{{SQL: "l.ordinal"}, {SQL: `l.sort_key COLLATE "C"`}}}
)
