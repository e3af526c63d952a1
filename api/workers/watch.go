package workers

import (
	"context"
	"slices"
	"time"
)

const (
	// revokedInterval is how soon a revoked worker's user ends.
	revokedInterval = 500 * time.Millisecond
	// allInterval is how often all users are held against the rows, or as often as a quarter of their time where that is shorter.
	allInterval = 15 * time.Second
	// lookLimit bounds a look.
	lookLimit = 30 * time.Second
	// atOnce bounds what one look ends or removes.
	atOnce = 1000
	// remembered is how long workers that have ended are listed.
	remembered = 90 * 24 * time.Hour
)

// Run ends the users of workers that were revoked, within a second, and of those that did not renew theirs, until the context ends.
// Every instance of the API may run it beside the others. It waits before its first look at all users: workers that could not renew
// theirs while no API ran are to do it first.
func (s *Service) Run(ctx context.Context) {
	if s.Users == nil {
		return
	}
	tick := time.NewTicker(revokedInterval)
	defer tick.Stop()
	failing, every := false, int(min(allInterval, s.Good/4)/revokedInterval)
	for look := 1; ; look++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.look(ctx, look%max(every, 1) == 0)
		if err != nil && ctx.Err() == nil && !failing {
			s.Log.Error("credentials of workers were not ended; trying again", "error", err)
		}
		failing = err != nil
	}
}

func (s *Service) look(ctx context.Context, all bool) error {
	ctx, cancel := context.WithTimeout(everyone(ctx), lookLimit)
	defer cancel()
	if err := s.EndRevoked(ctx); err != nil || !all {
		return err
	}
	return s.EndSilent(ctx)
}

// EndRevoked ends the users of workers that were revoked, or have left.
func (s *Service) EndRevoked(ctx context.Context) error {
	workerIDs, err := s.store.toEnd(ctx)
	if err != nil || len(workerIDs) == 0 {
		return err
	}
	names, err := s.Users.Names(ctx)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(workerIDs, s.Users.WorkerOf(name)) })
	if err := s.Users.End(ctx, names...); err != nil {
		return err
	}
	by, err := s.store.ended(ctx, workerIDs, s.Now().UTC()) // no user is made for a worker that is revoked, so none came meanwhile
	for _, who := range by {
		if who != byItself {
			s.Metrics.credentials.WithLabelValues(revoked).Inc()
			s.Log.Info("a worker's access was ended", "by", who)
		}
	}
	return err
}

// EndSilent ends the users that have not been renewed in time, and those that no row tells of. It forgets workers that ended long
// ago.
func (s *Service) EndSilent(ctx context.Context) error {
	now := s.Now().UTC()
	names, err := s.Users.Names(ctx) // before the rows: a user is made after its row
	if err != nil {
		return err
	}
	good, err := s.store.good(ctx, now)
	if err != nil {
		return err
	}
	over := map[string]bool{}
	for _, name := range names {
		over[name] = true
	}
	for workerID, serials := range good {
		for _, serial := range serials {
			delete(over, s.Users.Name(workerID, serial))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !over[name] })
	if err := s.Users.End(ctx, names...); err != nil {
		return err
	}
	silent, err := s.store.endSilent(ctx, now)
	if err != nil {
		return err
	}
	s.Metrics.credentials.WithLabelValues(expired).Add(float64(silent))
	return s.store.forget(ctx, now.Add(-remembered))
}
