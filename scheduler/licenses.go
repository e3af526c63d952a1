package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/molfabric/molfabric/billing"
)

// software is what the licensed software that a job names means for it. It is decided once, at submit, and kept with the job,
// so that the bill agrees with the estimate whatever happens to the price book or to the account's licence servers meanwhile.
type software struct {
	Name string // in the price book; "" when the job names none that is licensed
	// LicenseKey says that the account's own servers provide the licence: then nothing is paid, and seats are counted.
	LicenseKey string
	// Paid is what the deployment's licence costs; nil when nothing is paid.
	Paid *billing.SoftwarePrice
}

// pencePerCoreHour is the fee.
func (s software) pencePerCoreHour() billing.Micropence {
	if s.Paid == nil {
		return 0
	}
	return s.Paid.PencePerCoreHour
}

// softwareOf finds out whose licence a job of the account would use. Without an account nobody brings one.
func (s *Scheduler) softwareOf(ctx context.Context, accountID string, metadata json.RawMessage) (software, error) {
	named, err := namedSoftware(metadata)
	if err != nil || named == "" {
		return software{}, err
	}
	name, price, licensed := s.Prices.SoftwareNamed(named)
	if !licensed {
		return software{}, nil
	}
	own, err := s.store.HasLicenseServer(ctx, accountID, price.LicenseKey())
	if err != nil {
		return software{}, err
	}
	if own {
		return software{Name: name, LicenseKey: price.LicenseKey()}, nil
	}
	return software{Name: name, Paid: &price}, nil
}

// namedSoftware is the program that a job's metadata names: software, or renderer where that is unset (doc/contract.md §2.3). A
// member that is no text names nothing.
func namedSoftware(metadata json.RawMessage) (string, error) {
	if len(metadata) == 0 {
		return "", nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(metadata, &members); err != nil {
		return "", fmt.Errorf("read metadata: %w", err)
	}
	for _, member := range []string{"software", "renderer"} {
		var name string
		if json.Unmarshal(members[member], &name) == nil && name != "" {
			return name, nil
		}
	}
	return "", nil
}

// licenses are the account's own licences that the candidates need, each once.
func (c Candidates) licenses() []LicenseRef {
	var refs []LicenseRef
	for i := range c {
		if c[i].Key.Valid {
			refs = append(refs, c[i].license())
		}
	}
	slices.SortFunc(refs, func(a, b LicenseRef) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Key, b.Key))
	})
	return slices.Compact(refs)
}

// withinSeats leaves out the candidates for which no seat is free. It locks the licence servers until the transaction ends, so
// that no other leader and no change of the seats comes in between. Jobs are locked before licence servers and licence servers
// before tasks, everywhere.
func (s *Scheduler) withinSeats(ctx context.Context, c *change, picked Candidates) (Candidates, error) {
	refs := picked.licenses()
	if len(refs) == 0 {
		return picked, nil
	}
	if err := c.tx.LockLicenseServers(ctx, refs); err != nil {
		return nil, err
	}
	uses, err := c.tx.LicenseUses(ctx, refs)
	if err != nil {
		return nil, err
	}
	granted, started := picked.seated(uses)
	for ref, n := range started {
		if use := uses[ref]; !use.Free.Valid && use.InUse+n > use.Seats {
			c.then(func(context.Context) {
				s.Metrics.overSeats.Add(float64(min(n, use.InUse+n-use.Seats)))
				s.Log.Warn("more tasks run than an advisory licence has seats", "account", ref.AccountID, "license", ref.Key,
					"seats", use.Seats, "in_use", use.InUse+n)
			})
		}
	}
	return granted, nil
}

// seated gives the free seats to the candidates in their order. started counts those that got one, by licence.
func (c Candidates) seated(uses map[LicenseRef]LicenseUse) (granted Candidates, started map[LicenseRef]int64) {
	started = map[LicenseRef]int64{}
	for i := range c {
		if !c[i].Key.Valid {
			granted = append(granted, c[i])
			continue
		}
		ref := c[i].license()
		use, known := uses[ref]
		if !known || use.Free.Valid && started[ref] >= use.Free.Int64 {
			continue
		}
		started[ref]++
		granted = append(granted, c[i])
	}
	return granted, started
}

// LicenseNote tells a job's owner what the account's own licence means for the job just now; "" when there is nothing to tell.
// software is the job's, seats and inUse are what license_use says, and advisory that it has no limit. waiting says that tasks
// of the job are ready and none of them runs.
func LicenseNote(software string, seats, inUse int64, advisory, waiting bool) string {
	switch {
	case advisory && inUse > seats:
		return fmt.Sprintf("more tasks run than the licence of %s has seats: %d of %d", software, inUse, seats)
	case advisory || !waiting:
		return ""
	case seats == 0:
		return fmt.Sprintf("waits for a licence of %s: the account has no enabled licence server for it any more", software)
	case inUse >= seats:
		return fmt.Sprintf("waits for a licence of %s: %d of %d seats are in use", software, inUse, seats)
	}
	return ""
}
