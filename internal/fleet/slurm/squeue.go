package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/fleet/keeper"
)

// format of squeue: number, state, cores, start, end, reason, name. The names of a user's other jobs may hold anything, so they
// come last.
const format = "%i|%t|%C|%S|%e|%r|%j"

const columns = 7

// maxShown cuts a line of squeue's in a message.
const maxShown = 200

// parse reads the fleet's jobs out of what squeue prints. A line that it does not understand is an error: a job that is
// overlooked would be started again.
func parse(out, fleetName string) ([]keeper.Allocation, error) {
	var found []keeper.Allocation
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.SplitN(line, "|", columns)
		if len(fields) != columns {
			return nil, fmt.Errorf("squeue: %.*q has %d columns, want %d", maxShown, line, len(fields), columns)
		}
		pool, token, ours := keeper.ReadJobName(fields[6], fleetName)
		if !ours {
			continue
		}
		a, err := allocation(fields)
		if err != nil {
			return nil, fmt.Errorf("squeue: %.*q: %w", maxShown, line, err)
		}
		a.Pool, a.Token, a.Worker = pool, token, workerName(fleetName, a.ID)
		found = append(found, a)
	}
	return found, nil
}

func allocation(fields []string) (keeper.Allocation, error) {
	a := keeper.Allocation{ID: fields[0], State: stateOf(fields[1]), Reason: fields[5]}
	var err error
	if a.Cores, err = strconv.Atoi(fields[2]); err != nil {
		return a, fmt.Errorf("cores: %w", err)
	}
	if a.State == keeper.Pending {
		return a, nil // its start is a guess of the scheduler's
	}
	if a.Since, err = moment(fields[3]); err != nil {
		return a, fmt.Errorf("start: %w", err)
	}
	if a.Until, err = moment(fields[4]); err != nil {
		return a, fmt.Errorf("end: %w", err)
	}
	if a.State == keeper.Failed {
		a.Reason = fields[1] + " " + a.Reason
	}
	return a, nil
}

// stateOf takes a state that it does not know for one of a running job: nothing is started in its place, and nothing is done to it.
func stateOf(code string) keeper.State {
	switch code {
	case "PD", "CF", "RH", "RF", "RQ", "RS", "RD", "SE":
		return keeper.Pending
	case "CD", "CA", "PR", "RV": // by itself, or because somebody wanted it
		return keeper.Ended
	case "F", "NF", "OOM", "BF", "DL", "TO":
		return keeper.Failed
	}
	return keeper.Running
}

// moment reads seconds since 1970, as they were asked for, or the form that Slurm prints otherwise, in UTC, as that was asked for
// too.
func moment(text string) (time.Time, error) {
	switch text {
	case "N/A", "NONE", "Unknown", "", "0":
		return time.Time{}, nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0).UTC(), nil
	}
	return time.Parse("2006-01-02T15:04:05", text)
}
