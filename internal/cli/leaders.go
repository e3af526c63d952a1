package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// leadersShown is how many of the best ligands stand below a running job's bar.
	leadersShown = 10
	// leadersEvery is how often they are read at most, and only when something has happened to the job.
	leadersEvery = 2 * time.Second
	// leaderColumns is the width of a ligand's name; the row fits into barColumns.
	leaderColumns = 36
)

// leaders are the best ligands of a docking so far, or how many queries a search has done.
type leaders struct {
	counts  contract.DockingCounts
	best    []contract.DockingResult // best first
	queries string                   // of a search
}

// line is the best one in a line of a log; "" before there is one.
func (l leaders) line() string {
	if len(l.best) == 0 {
		return l.queries
	}
	return fmt.Sprintf("best so far: %s %.1f kcal/mol (%s)", labelOf(l.best[0].Label), *l.best[0].BestScoreKcalMol, l.docked())
}

func (l leaders) docked() string {
	said := fmt.Sprintf("%d of %d docked", l.counts.Completed, l.counts.Total)
	if l.counts.Failed > 0 {
		said += fmt.Sprintf(", %d failed", l.counts.Failed)
	}
	return said
}

// rows are all of them below a head, each of at most barColumns columns; none before there is one.
func (l leaders) rows() []string {
	if l.queries != "" {
		return []string{"  " + l.queries}
	}
	if len(l.best) == 0 {
		return nil
	}
	rows := []string{fmt.Sprintf("  best so far in kcal/mol, %s", l.docked())}
	for i, result := range l.best {
		name := text.Pad(text.Trim(labelOf(result.Label), leaderColumns), leaderColumns, ' ')
		rows = append(rows, fmt.Sprintf("  %2d  %s %8.2f", i+1, name, *result.BestScoreKcalMol))
	}
	return rows
}

// leaderboard reads the best ligands of a running docking in a goroutine of its own, so that a slow answer holds no event up.
type leaderboard struct {
	inv   *invocation
	jobID string
	shown display
	news  chan struct{} // holds at most one
	end   context.CancelFunc
	done  sync.WaitGroup

	search  bool // the job searches sequences
	runID   string
	docked  int  // ligands at the last look
	refused bool // the server has no such lists
}

// followLeaders begins to show the best ligands of a docking; for any other job, and where nobody looks, it does nothing. stop
// must be called.
func (inv *invocation) followLeaders(ctx context.Context, j contract.Job, shown display) *leaderboard {
	ctx, end := context.WithCancel(ctx)
	board := &leaderboard{inv: inv, jobID: j.JobID, shown: shown, news: make(chan struct{}, 1), end: end}
	board.search = isSearch(j)
	if inv.json || !board.search && (j.Simulator == nil || *j.Simulator != simulator) {
		return board
	}
	board.done.Go(func() { board.run(ctx) })
	return board
}

// changed says that something has happened to the job.
func (b *leaderboard) changed() {
	select {
	case b.news <- struct{}{}:
	default: // it is known already
	}
}

// stop ends the looking and waits for it; it may be called again.
func (b *leaderboard) stop() {
	b.end()
	b.done.Wait()
}

func (b *leaderboard) run(ctx context.Context) {
	for !b.refused {
		select {
		case <-ctx.Done():
			return
		case <-b.news:
		}
		if found, err := b.look(ctx); err == nil && found.line() != "" {
			b.shown.leaders(found)
		}
		rest := time.NewTimer(leadersEvery)
		select {
		case <-ctx.Done():
			rest.Stop()
			return
		case <-rest.C:
		}
	}
}

// look reads the leaders, where there are more docked ligands than at the last look. What a server refuses it is not asked for
// again; every other error is the next look's to overcome.
func (b *leaderboard) look(ctx context.Context) (leaders, error) {
	found, err := b.read(ctx)
	var answer *client.Error
	b.refused = errors.As(err, &answer) && answer.Status >= 400 && answer.Status < 500 && answer.Status != 429
	return found, err
}

func (b *leaderboard) read(ctx context.Context) (leaders, error) {
	if b.search {
		search, err := b.inv.api.BlastSearch(ctx, b.jobID)
		return leaders{queries: queriesDone(search.Body)}, err
	}
	run, err := b.state(ctx)
	if err != nil || run.Counts.Completed == b.docked {
		return leaders{}, err
	}
	page := client.Page{Limit: leadersShown}
	results, err := b.inv.api.DockingResults(ctx, run.RunID, client.ResultFilter{Page: page, Status: []string{ligandCompleted},
		Sort: "score"})
	if err != nil {
		return leaders{}, err
	}
	b.docked = run.Counts.Completed
	found := leaders{counts: run.Counts}
	for _, result := range results.Body.Results {
		if result.BestScoreKcalMol != nil {
			found.best = append(found.best, result)
		}
	}
	return found, nil
}

// state reads the job's run; one that is not there yet has docked nothing.
func (b *leaderboard) state(ctx context.Context) (contract.DockingRun, error) {
	if b.runID != "" {
		run, err := b.inv.api.DockingRun(ctx, b.runID)
		return run.Body, err
	}
	run, _, err := b.inv.api.RunOfJob(ctx, b.jobID)
	b.runID = run.RunID
	return run, err
}
