package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	jobPrefix    = "job_"
	runPrefix    = "run_"
	resultPrefix = "result_"
	posePrefix   = "pose_"
	// newest is the name of the job, or of the docking, that was submitted last.
	newest = "last"
	// maxLookedThrough bounds the jobs among which a shortened id is looked for, newest first.
	maxLookedThrough = 1000
	// maxChoices bounds the choices that an ambiguous name lists.
	maxChoices = 10
)

var (
	// shortID is the beginning or the end of an id, perhaps behind its prefix; the end tells jobs of one day apart.
	shortID = regexp.MustCompile(`^((?:job|run)_)?([0-9a-f]{4,31})$`)
)

// choice is one of the things that a name may mean.
type choice struct{ id, text string }

// jobID finds the job that a user means: by its id, by the beginning or the end of it, or as the last one. What looks like none of
// these is the server's to know.
func (inv *invocation) jobID(ctx context.Context, named string) (string, error) {
	if named == newest {
		jobs, err := inv.api.Jobs(ctx, client.JobFilter{Page: client.Page{Limit: 1}})
		if err != nil {
			return "", err
		}
		if len(jobs.Body.Jobs) == 0 {
			return "", nothing("you have no jobs", "`molfabric dock` or `molfabric submit` makes one")
		}
		return jobs.Body.Jobs[0].JobID, nil
	}
	short := shortID.FindStringSubmatch(named)
	if len(short) == 0 || short[1] == runPrefix {
		return named, nil
	}
	var found []choice
	err := eachPage(func(page client.Page) (int, *string, error) {
		jobs, err := inv.api.Jobs(ctx, client.JobFilter{Page: page})
		for _, j := range jobs.Body.Jobs {
			if means(j.JobID, jobPrefix, short[2]) {
				found = append(found, choice{j.JobID, strings.ToLower(string(j.Status)) + "  " +
					labelOf(cmp.Or(j.JobName, j.JobType))})
			}
		}
		return len(jobs.Body.Jobs), jobs.Body.NextCursor, err
	})
	if err != nil {
		return "", err
	}
	return theOnly("job", named, found)
}

// runID finds the run that a user means: by its id or its job's, by the beginning or the end of either, by its own name, or as the
// last one.
func (inv *invocation) runID(ctx context.Context, named string) (string, error) {
	short := shortID.FindStringSubmatch(named)
	switch {
	case named == newest:
		return inv.newestRun(ctx)
	case short != nil:
		return inv.shortenedRun(ctx, named, short[1], short[2])
	case !strings.HasPrefix(named, jobPrefix):
		return named, nil
	}
	run, found, err := inv.api.RunOfJob(ctx, named)
	if err == nil && !found {
		err = nothing(fmt.Sprintf("job %s has no docking run", named), runsHint)
	}
	return run.RunID, err
}

func (inv *invocation) newestRun(ctx context.Context) (string, error) {
	runs, err := inv.api.DockingRuns(ctx, client.RunFilter{Page: client.Page{Limit: 1}})
	if err != nil {
		return "", err
	}
	if len(runs.Body.Runs) == 0 {
		return "", nothing("you have no docking runs", "`molfabric dock` makes one")
	}
	return runs.Body.Runs[0].RunID, nil
}

// shortenedRun finds a run by a part of its id or its job's; prefix says which of both, or is "".
func (inv *invocation) shortenedRun(ctx context.Context, named, prefix, digits string) (string, error) {
	var found []choice
	err := eachPage(func(page client.Page) (int, *string, error) {
		runs, err := inv.api.DockingRuns(ctx, client.RunFilter{Page: page})
		for _, run := range runs.Body.Runs {
			if prefix != jobPrefix && means(run.RunID, runPrefix, digits) || prefix != runPrefix &&
				means(run.JobID, jobPrefix, digits) {
				found = append(found, choice{run.RunID, strings.ToLower(string(run.Status)) + "  " + labelOf(run.JobName)})
			}
		}
		return len(runs.Body.Runs), runs.Body.NextCursor, err
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 && prefix == "" {
		return named, nil // its own name may look like that
	}
	return theOnly("docking run", named, found)
}

// runsHint is the next step after a docking that is not there.
const runsHint = "`molfabric runs` lists your docking runs"

// nothing is the failure to find what a name means, with the next step.
func nothing(message, next string) error {
	return &advisedError{&client.Error{Status: http.StatusNotFound, Code: fault.NotFound, Message: message}, next}
}

// means tells whether the digits begin or end an id.
func means(id, prefix, digits string) bool {
	hex := strings.TrimPrefix(id, prefix)
	return strings.HasPrefix(hex, digits) || strings.HasSuffix(hex, digits)
}

// eachPage reads a list page by page, up to maxLookedThrough entries. read says how many a page has held, and what comes next.
func eachPage(read func(client.Page) (int, *string, error)) error {
	page := client.Page{Limit: contract.MaxPage}
	for seen := 0; seen < maxLookedThrough; {
		count, next, err := read(page)
		if err != nil || next == nil {
			return err
		}
		seen += count
		page.Cursor = *next
	}
	return nil
}

// theOnly is the only choice.
func theOnly(what, named string, found []choice) (string, error) {
	switch len(found) {
	case 0:
		return "", nothing(fmt.Sprintf("none of your newest %d %ss has an id that begins or ends with %s", maxLookedThrough, what,
			named),
			"`molfabric jobs` lists your jobs")
	case 1:
		return found[0].id, nil
	}
	return "", usage("%q may be %d %ss; write more of the id:%s", named, len(found), what, listed(found))
}

// listed writes choices one a line, below the message that leads to them.
func listed(found []choice) string {
	var lines strings.Builder
	for _, one := range found[:min(len(found), maxChoices)] {
		lines.WriteString(strings.TrimRight("\n    "+one.id+"  "+one.text, " "))
	}
	if rest := len(found) - maxChoices; rest > 0 {
		fmt.Fprintf(&lines, "\n    and %d more", rest)
	}
	return lines.String()
}
