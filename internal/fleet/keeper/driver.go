// Package keeper keeps as many workers as a backlog wants, within the bounds of a pools file: it asks the fabric what waits, asks a
// driver what was started, and has the driver start what is missing. It ends no worker: workers leave by themselves. Drivers lie
// beside it; what they do to machines is not seen here.
package keeper

import (
	"context"
	"crypto/rand"
	"strings"
	"time"
)

// Driver starts and finds allocations: jobs, machines or processes in which one worker each runs. It chooses nothing. Calls may be
// repeated; none is made beside another.
type Driver interface {
	// Check tries what a start would ask for, and starts nothing.
	Check(ctx context.Context, p Pool) error
	// Start starts an allocation. With a token that was started before it does nothing. An error says nothing about what happened.
	Start(ctx context.Context, p Pool, token string) error
	// List finds all allocations of the fleet: those that wait and run, and those that ended lately as far as they are remembered.
	// An error means that nothing is known, and not that there are none.
	List(ctx context.Context) ([]Allocation, error)
	// Cancel takes allocations back that have not started, and leaves those alone that have.
	Cancel(ctx context.Context, ids []string) error
}

// State is how far an allocation is.
type State string

// The states of an allocation.
const (
	Pending State = "pending"
	Running State = "running"
	Ended   State = "ended" // by its worker's leave, or because somebody asked it to end
	Failed  State = "failed"
)

// Allocation is what a driver has started.
type Allocation struct {
	ID     string    `json:"id"` // the driver's name for it, such as the number of a job
	Pool   string    `json:"pool"`
	Token  string    `json:"token"`
	Worker string    `json:"worker"` // what its worker is called in the demand
	State  State     `json:"state"`
	Reason string    `json:"reason,omitempty"` // why it waits, or how it ended
	Cores  int       `json:"cores"`
	Since  time.Time `json:"since,omitzero"` // its start
	Until  time.Time `json:"until,omitzero"` // its end; of a running one the latest
}

func (a Allocation) live() bool { return a.State == Pending || a.State == Running }

// JobName is what an allocation is called, so that it is found again by its name alone.
func JobName(fleetName, pool, token string) string {
	return strings.Join([]string{"mf", fleetName, pool, token}, ".")
}

// ReadJobName is JobName read backwards; ok is false for what is not of the fleet.
func ReadJobName(name, fleetName string) (pool, token string, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 || parts[0] != "mf" || parts[1] != fleetName || parts[2] == "" || parts[3] == "" {
		return "", "", false
	}
	return parts[2], parts[3], true
}

// newToken names an allocation before it is asked for, so that one whose start was not answered is recognised.
func newToken() string { return strings.ToLower(rand.Text()[:12]) }
