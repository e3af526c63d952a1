package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const day = 24 * time.Hour

// maxUsageBytes is far beyond a day's allocations.
const maxUsageBytes = 64 << 20

// used is what one allocation has used, or may.
type used struct {
	Cores int       `json:"cores"`
	Since time.Time `json:"since"`
	// Latest is when its time is over.
	Latest time.Time `json:"latest"`
	Until  time.Time `json:"until,omitzero"` // its end; zero while it runs
}

// seconds are its core-seconds within a time.
func (u used) seconds(from, to time.Time) float64 {
	begin, end := u.Since, u.Until
	if end.IsZero() {
		end = u.Latest
	}
	if begin.Before(from) {
		begin = from
	}
	if end.After(to) {
		end = to
	}
	return float64(u.Cores) * max(end.Sub(begin).Seconds(), 0)
}

// usage remembers what the allocations of the last day have used, by token. It is the only thing that a keeper remembers, and only
// where its use of a day is bounded: batch systems forget a job minutes after its end.
type usage struct {
	path    string
	records map[string]used
}

func openUsage(path string) (*usage, error) {
	u := &usage{path: path, records: map[string]used{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	if info.Size() > maxUsageBytes {
		return nil, fmt.Errorf("usage: %s has %d bytes; at most %d are read", path, info.Size(), maxUsageBytes)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &u.records)
	}
	if err != nil {
		return nil, fmt.Errorf("usage: %s cannot be read, so what was used today is not known; mend it, or remove it to "+
			"count from now on: %w", path, err)
	}
	return u, nil
}

// observe takes in what runs and has ended. What ran and is not found any more counts as used until now, or to the end of its time.
func (u *usage) observe(now time.Time, found []Allocation, walltime func(pool string) time.Duration) {
	listed := map[string]bool{}
	for _, a := range found {
		listed[a.Token] = true
		if a.State == Pending || a.Since.IsZero() {
			continue
		}
		r := used{Cores: a.Cores, Since: a.Since, Latest: a.Since.Add(walltime(a.Pool))}
		if a.Until.After(r.Latest) {
			r.Latest = a.Until // somebody has given it more time
		}
		if !a.live() {
			r.Until = a.Until
			if r.Until.IsZero() {
				r.Until = now
			}
		}
		u.records[a.Token] = r
	}
	for token, r := range u.records {
		if r.Until.IsZero() && !listed[token] {
			r.Until = r.Latest
			if r.Until.After(now) {
				r.Until = now
			}
			u.records[token] = r
		}
		if !r.Until.IsZero() && now.Sub(r.Until) > day {
			delete(u.records, token)
		}
	}
}

// spent are the core-seconds of the last day; reserved are what the running ones may still use.
func (u *usage) spent(now time.Time) (spent, reserved float64) {
	for _, r := range u.records {
		spent += r.seconds(now.Add(-day), now)
		if r.Until.IsZero() {
			reserved += r.seconds(now, r.Latest)
		}
	}
	return spent, reserved
}

// save writes the file whole or not at all.
func (u *usage) save() error {
	text, err := json.Marshal(u.records)
	if err == nil {
		err = os.WriteFile(u.path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(u.path+".new", u.path)
	}
	if err != nil {
		return fmt.Errorf("usage: remember what was used: %w", err)
	}
	return nil
}
