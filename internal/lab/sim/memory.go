package sim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// memory is a scheduler.Store with Postgres' behaviour at its isolation level "read committed": a statement sees what has been
// committed when it begins, a changed row is locked until the transaction ends, and a transaction is committed as a whole or not
// at all.
type memory struct {
	tables
	h     *history
	locks map[string]*transaction
}

var _ scheduler.Store = (*memory)(nil)

func newMemory(h *history) *memory {
	return &memory{h: h, locks: map[string]*transaction{}, tables: tables{jobs: table[jobState]{}, tasks: table[taskState]{},
		accounts: table[accountState]{}, holds: table[[]billing.HoldRow]{}, servers: table[seating]{}, answers: table[answer]{}}}
}

// InTx implements scheduler.Store. A crash after "commit" leaves the change, and its caller unaware of it; so does a connection
// that is lost there.
func (m *memory) InTx(ctx context.Context, do func(scheduler.Tx) error) error {
	for {
		if err := m.h.call(ctx, "begin"); err != nil {
			return err
		}
		again, err := m.inTxOnce(ctx, do)
		if err != nil {
			return err
		}
		if !again {
			return m.h.call(context.Background(), "committed")
		}
	}
}

// inTxOnce is one attempt at a transaction; again tells that it was undone for another's sake, as a server does where two would
// wait for each other.
func (m *memory) inTxOnce(ctx context.Context, do func(scheduler.Tx) error) (again bool, err error) {
	tx := m.begin()
	defer tx.unlock() // also of one that is killed: its changes are nowhere but in its views
	if err := do(tx); err != nil {
		return false, err
	}
	if err := m.h.call(ctx, "commit"); err != nil {
		return false, err
	}
	if p := tx.process; p != nil && p.fate == givenUp {
		m.h.note("given up", p.name)
		p.fate = untroubled
		return true, nil
	}
	tx.commit()
	return false, nil
}

func (m *memory) begin() *transaction {
	return &transaction{m: m, process: m.h.current, jobs: viewOf(m.tables.jobs), tasks: viewOf(m.tables.tasks),
		accounts: viewOf(m.tables.accounts),
		holds:    viewOf(m.tables.holds), answers: viewOf(m.tables.answers)}
}

// commit makes a transaction's changes everybody's, and has them looked at.
func (tx *transaction) commit() {
	tx.m.h.observe(tx)
	tx.jobs.commit()
	tx.tasks.commit()
	tx.accounts.commit()
	tx.holds.commit()
	tx.answers.commit()
	tx.unlock()
}

// QueuesWaiting implements scheduler.Store, as the methods that follow.
func (m *memory) QueuesWaiting(ctx context.Context, queueNames []string) ([]string, error) {
	if err := m.h.call(ctx, "queues waiting"); err != nil {
		return nil, err
	}
	waits := map[string]bool{}
	for _, t := range m.tasks {
		waits[t.Queue] = waits[t.Queue] || t.Status == job.TaskPending && t.Ready
	}
	return slices.DeleteFunc(slices.Clone(queueNames), func(name string) bool { return !waits[name] }), nil
}

// CountInFlight implements scheduler.Store.
func (m *memory) CountInFlight(ctx context.Context, queueName string) (int, error) {
	if err := m.h.call(ctx, "count in flight"); err != nil {
		return 0, err
	}
	n := 0
	for _, t := range m.tasks {
		if t.Queue == queueName && t.inFlight() {
			n++
		}
	}
	return n, nil
}

// TasksInFlight implements scheduler.Store.
func (m *memory) TasksInFlight(ctx context.Context) ([]scheduler.TaskRow, error) {
	if err := m.h.call(ctx, "tasks in flight"); err != nil {
		return nil, err
	}
	return m.rowsWhere(taskState.inFlight), nil
}

// TasksToStop implements scheduler.Store.
func (m *memory) TasksToStop(ctx context.Context) ([]scheduler.TaskRow, error) {
	if err := m.h.call(ctx, "tasks to stop"); err != nil {
		return nil, err
	}
	return m.rowsWhere(func(t taskState) bool {
		owner := m.jobs[t.JobID]
		return t.inFlight() && owner.Stopping && !owner.FinishedAt.Valid
	}), nil
}

// Spenders implements scheduler.Store.
func (m *memory) Spenders(ctx context.Context, jobIDs []string) ([]scheduler.JobRow, error) {
	if err := m.h.call(ctx, "spenders"); err != nil {
		return nil, err
	}
	var rows []scheduler.JobRow
	for _, id := range slices.Sorted(slices.Values(jobIDs)) {
		if owner, known := m.jobs[id]; known && !owner.FinishedAt.Valid && !owner.Stopping {
			rows = append(rows, owner.JobRow)
		}
	}
	return rows, nil
}

// Running implements scheduler.Store.
func (m *memory) Running(ctx context.Context, tasks []scheduler.TaskRow) (map[queue.Ref]scheduler.Running, error) {
	if err := m.h.call(ctx, "running"); err != nil {
		return nil, err
	}
	out := map[queue.Ref]scheduler.Running{}
	for _, task := range tasks {
		if t := m.tasks[task.ID]; t.Status == job.TaskRunning {
			out[t.ref()] = scheduler.Running{Since: t.StartedAt, CPUs: max(t.shard.Needs.CPUs, 1) + t.shard.Needs.MoreCPUs,
				GPUs: t.shard.Needs.GPUs}
		}
	}
	return out, nil
}

func (m *memory) rowsWhere(holds func(taskState) bool) []scheduler.TaskRow {
	var rows []scheduler.TaskRow
	for _, t := range m.tasks {
		if holds(t) {
			row := t.TaskRow
			row.Shard = nil
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b scheduler.TaskRow) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

// StaleRefs implements scheduler.Store.
func (m *memory) StaleRefs(ctx context.Context, refs []queue.Ref) ([]queue.Ref, error) {
	if err := m.h.call(ctx, "stale refs"); err != nil {
		return nil, err
	}
	var stale []queue.Ref
	for _, ref := range refs {
		if t, known := m.tasks[ref.TaskID]; !known || t.Attempt != ref.Attempt || !t.inFlight() {
			stale = append(stale, ref)
		}
	}
	return stale, nil
}

// CountOpenTasks implements scheduler.Store. Only metrics ask.
func (m *memory) CountOpenTasks(context.Context) ([]scheduler.OpenTasks, error) { return nil, nil }

// Backlogs implements scheduler.Store. Only fleets ask.
func (m *memory) Backlogs(context.Context, []string, []float64) ([]scheduler.Backlog, error) {
	return nil, nil
}

// SaveProgress implements scheduler.Store.
func (m *memory) SaveProgress(ctx context.Context, news []queue.Held) ([]queue.Ref, error) {
	if err := m.h.call(ctx, "save progress"); err != nil {
		return nil, err
	}
	var saved []queue.Ref
	for _, held := range news {
		t := m.tasks[held.TaskID]
		if t.Attempt != held.Attempt || t.Status != job.TaskRunning || m.locks["task/"+held.TaskID] != nil {
			continue
		}
		t.Progress, t.Message = float32(held.Progress), held.Message
		m.tasks[held.TaskID] = t
		saved = append(saved, held.Ref)
	}
	return saved, nil
}

// Percent implements scheduler.Store.
func (m *memory) Percent(ctx context.Context, jobID string) (float64, error) {
	if err := m.h.call(ctx, "percent"); err != nil {
		return 0, err
	}
	done, all := float32(0), float32(0) // sums of real are real
	for _, id := range m.jobs[jobID].TaskIDs {
		t := m.tasks[id]
		all += t.Weight
		if t.Status == job.TaskSucceeded || t.Status == job.TaskFailed {
			done += t.Weight
		} else {
			done += t.Weight * t.Progress
		}
	}
	return 100 * float64(done) / max(float64(all), 1e-9), nil
}

// TellProgress implements scheduler.Store.
func (m *memory) TellProgress(ctx context.Context, jobID string, body []byte, at time.Time) error {
	if err := m.h.call(ctx, "tell progress"); err != nil {
		return err
	}
	tx := m.begin()
	defer tx.unlock()
	if err := tx.lock("job", jobID); err != nil {
		return err
	}
	owner := tx.jobs.get(jobID)
	if owner.FinishedAt.Valid {
		return nil
	}
	owner.Events = append(slices.DeleteFunc(slices.Clone(owner.Events), func(e eventLine) bool { return e.Kind == "progress" }),
		eventLine{JobID: jobID, Kind: "progress", Body: string(body), At: at})
	tx.jobs.put(jobID, owner)
	tx.commit()
	return nil
}

// Outcomes implements scheduler.Store. Only estimates ask.
func (m *memory) Outcomes(context.Context, string, int) ([]scheduler.Outcome, error) { return nil, nil }

// MadeBefore implements scheduler.Store. The engine of histories never repeats itself, so nobody asks.
func (m *memory) MadeBefore(context.Context, string, []engines.Identity) ([]scheduler.Work, error) {
	return nil, nil
}

// HasLicenseServer implements scheduler.Store.
func (m *memory) HasLicenseServer(ctx context.Context, accountID, licenseKey string) (bool, error) {
	if err := m.h.call(ctx, "look for a licence"); err != nil {
		return false, err
	}
	server, has := m.servers[accountID]
	return has && server.Key == licenseKey && server.serves(), nil
}

// FindAnswer implements scheduler.Store.
func (m *memory) FindAnswer(ctx context.Context, claim idempotency.Claim, now time.Time) ([]byte, error) {
	if err := m.h.call(ctx, "find answer"); err != nil {
		return nil, err
	}
	stored, known := m.answers[answerKey(claim)]
	if !known || !stored.expires.After(now) {
		return nil, nil
	}
	if stored.request != string(claim.Request) {
		return nil, errReused()
	}
	return []byte(stored.response), nil
}

// ForgetAnswers implements scheduler.Store.
func (m *memory) ForgetAnswers(_ context.Context, now time.Time) error {
	for key, stored := range m.answers {
		if stored.expires.Before(now) {
			delete(m.answers, key)
		}
	}
	return nil
}

func answerKey(c idempotency.Claim) string { return c.AccountID + " " + c.Operation + " " + c.Key }

func errReused() error {
	return fault.New(fault.IdempotencyKeyReused, "idempotencyKey: used for another request")
}

// NextReady implements scheduler.Store.
func (m *memory) NextReady(
	ctx context.Context, queueName string, limit int, now time.Time, except []string,
) (scheduler.Candidates, error) {
	if err := m.h.call(ctx, "next ready"); err != nil {
		return nil, err
	}
	type group struct{ account, key string }
	waiting, inFlight, backlog := map[group][]taskState{}, map[string]int{}, map[string]int{}
	for _, t := range m.tasks {
		if t.Queue != queueName {
			continue
		}
		if t.inFlight() {
			inFlight[t.AccountID]++
		}
		if t.Status == job.TaskPending && t.Ready && t.LicenseKey == "" {
			backlog[t.AccountID]++
		}
		if t.Status == job.TaskPending && t.Ready && !t.NotBefore.After(now) && !slices.Contains(except, t.JobID) {
			g := group{t.AccountID, t.LicenseKey}
			waiting[g] = append(waiting[g], t)
		}
	}
	startable := map[string][]taskState{} // by account
	for g, tasks := range waiting {
		slices.SortFunc(tasks, byPriority)
		most := limit
		if g.key != "" {
			if use := m.licenseUse(scheduler.LicenseRef{AccountID: g.account, Key: g.key}, m.servers, m.tasks); use.Free.Valid {
				most = min(limit, int(use.Free.Int64))
			}
		}
		startable[g.account] = append(startable[g.account], tasks[:min(most, len(tasks))]...)
	}
	return inTurn(startable, inFlight, backlog, limit), nil
}

func byPriority(a, b taskState) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
}

// inTurn mixes the accounts' tasks: what an account has in flight counts as turns that it has had, and small ones have more turns.
func inTurn(startable map[string][]taskState, inFlight, backlog map[string]int, limit int) scheduler.Candidates {
	type offer struct {
		taskState
		turn int
	}
	var offers []offer
	for account, tasks := range startable {
		slices.SortFunc(tasks, byPriority)
		each := 1
		if n := backlog[account]; n == 0 || n > scheduler.SmallBacklog { // one that waits for licences alone is like the others
			each = scheduler.SmallTurns
		}
		for i, t := range tasks {
			offers = append(offers, offer{t, each * (inFlight[account] + i + 1)})
		}
	}
	slices.SortFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.turn, b.turn), cmp.Compare(a.ID, b.ID))
	})
	var out scheduler.Candidates
	for _, o := range offers[:min(limit, len(offers))] {
		c := scheduler.Candidate{TaskID: o.ID, JobID: o.JobID, AccountID: o.AccountID, GivenBack: o.GivenBack}
		c.Key.String, c.Key.Valid = o.LicenseKey, o.LicenseKey != ""
		out = append(out, c)
	}
	return out
}

// licenseUse is how the seats of a licence stand.
func (m *memory) licenseUse(ref scheduler.LicenseRef, servers table[seating], tasks table[taskState]) scheduler.LicenseUse {
	use := scheduler.LicenseUse{LicenseRef: ref}
	server := servers[ref.AccountID]
	if server.Key == ref.Key && server.serves() {
		use.Seats = int64(server.Seats)
	}
	for _, t := range tasks {
		if t.AccountID == ref.AccountID && t.LicenseKey == ref.Key && t.inFlight() {
			use.InUse++
		}
	}
	if server.Key != ref.Key || !server.serves() || server.Enforcement != "ADVISORY" {
		use.Free.Int64, use.Free.Valid = max(use.Seats-use.InUse, 0), true
	}
	return use
}

var errConstraint = errors.New("the value breaks a constraint")
