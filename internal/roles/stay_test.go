package roles

import (
	"strings"
	"testing"
	"time"
)

func TestEndOfStay(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		until    string
		walltime time.Duration
		want     time.Time
		problem  string
	}{
		{want: time.Time{}},
		{walltime: 2 * time.Hour, want: started.Add(2 * time.Hour)},
		{until: "2026-05-03T18:00:00Z", want: started.Add(6 * time.Hour)},
		{until: "2026-05-03T18:00:00+02:00", want: started.Add(4 * time.Hour)},
		{until: "1777831200", want: started.Add(6 * time.Hour)},
		{until: "18:00", problem: `until: "18:00"`},
		{walltime: -time.Hour, problem: "walltime: -1h"},
	} {
		got, err := EndOfStay(started, c.until, c.walltime)
		if !got.Equal(c.want) || (err == nil) != (c.problem == "") || err != nil && !strings.HasPrefix(err.Error(), c.problem) {
			t.Errorf("%q, %s: %s, %v; want %s, %q", c.until, c.walltime, got, err, c.want, c.problem)
		}
	}
}
