package roles

import (
	"fmt"
	"strconv"
	"time"
)

// Stay is how long a worker stays. The zero value stays until it is asked to leave.
type Stay struct {
	IdleExit time.Duration // leaves when nothing was to do for so long; 0 for never
	Until    time.Time     // has left by then; zero for never
}

// EndOfStay is when a worker that started at a moment has to have left; zero for never.
func EndOfStay(started time.Time, until string, walltime time.Duration) (time.Time, error) {
	switch {
	case walltime < 0:
		return time.Time{}, fmt.Errorf("walltime: %s; give how long the worker may stay, such as 2h", walltime)
	case walltime > 0:
		return started.Add(walltime), nil
	case until == "":
		return time.Time{}, nil
	}
	if seconds, err := strconv.ParseInt(until, 10, 64); err == nil {
		return time.Unix(seconds, 0), nil
	}
	at, err := time.Parse(time.RFC3339, until)
	if err != nil {
		return time.Time{}, fmt.Errorf("until: %q; give a moment such as 2026-05-03T18:00:00Z, or seconds since 1970", until)
	}
	return at, nil
}
