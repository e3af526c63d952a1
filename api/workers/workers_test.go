package workers_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/workers"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/identity"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	prefix = "yard:"
	good   = 10 * time.Minute
)

// yard is a front door that hands out credentials for a Redis of its own, with a clock that the test moves.
type yard struct {
	*apitest.Door
	t        *testing.T
	service  *workers.Service
	operator workers.Operator
	redis    *servers.Redis

	mu  sync.Mutex
	now time.Time
}

func open(t *testing.T) *yard {
	t.Helper()
	y := &yard{t: t, now: time.Now().UTC().Truncate(time.Microsecond)}
	var err error
	y.redis, err = servers.StartRedis(t.Context(), servers.RedisOptions{Dir: serverstest.Dir(t), Log: slog.New(slog.DiscardHandler),
		Users: []servers.RedisUser{{Name: "issuer", ACL: queue.IssuerACL()}}})
	serverstest.Check(t, err)
	t.Cleanup(func() {
		if err := y.redis.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	bare, err := queue.Bare(y.redis.URL())
	if err != nil {
		t.Fatal(err)
	}
	y.Door = apitest.Open(t, func(deps *api.Deps) {
		users := queue.NewUsers(y.client(y.redis.UserURL("issuer")), prefix)
		y.service = workers.New(workers.Deps{DB: deps.DB, Users: users, Redis: bare, Prefix: prefix, Good: good,
			Metrics: workers.NewMetrics(deps.Metrics), Log: deps.Log, Now: y.clock})
		y.operator = workers.Operator{DB: deps.DB, User: "ada", Now: y.clock}
		deps.Pages = append(deps.Pages, y.service.Mount)
	}, apitest.Unhurried)
	return y
}

func (y *yard) clock() time.Time {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.now
}

func (y *yard) later(by time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.now = y.now.Add(by)
}

func (y *yard) everyone() context.Context { return tenant.Everyone(y.t.Context(), "a test") }

func (y *yard) client(address string) *redis.Client {
	y.t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		y.t.Fatal(err)
	}
	options.MaxRetries = -1
	client := redis.NewClient(options)
	y.t.Cleanup(func() { _ = client.Close() })
	return client
}

// as is a client of Redis for who has a worker's credentials, and nothing that renews them.
func (y *yard) as(grant identity.Grant) *redis.Client {
	y.t.Helper()
	return y.client(strings.Replace(grant.Redis, "://", "://"+strings.ReplaceAll(grant.User, ":", "%3A")+":"+grant.Password+"@", 1))
}

func (y *yard) enrol(name string, most int) (token string) {
	y.t.Helper()
	token, _, err := y.operator.Enrol(y.everyone(), name, time.Hour, most)
	if err != nil {
		y.t.Fatal(err)
	}
	return token
}

// worker has a key and a token.
func (y *yard) worker(workerID, token string, change ...func(*identity.Config)) *identity.Holder {
	y.t.Helper()
	cfg := identity.Config{API: y.Base, Token: token, WorkerID: workerID, Host: "node7", Log: slog.New(slog.DiscardHandler)}
	for _, one := range change {
		one(&cfg)
	}
	holder, err := identity.New(cfg)
	if err != nil {
		y.t.Fatal(err)
	}
	return holder
}

func (y *yard) renew(holder *identity.Holder) identity.Grant {
	y.t.Helper()
	grant, err := holder.Renew(y.t.Context())
	if err != nil {
		y.t.Fatal(err)
	}
	return grant
}

func (y *yard) refused(what string, holder *identity.Holder, word string) {
	y.t.Helper()
	if grant, err := holder.Renew(y.t.Context()); !errors.Is(err, identity.ErrEnded) || !strings.Contains(err.Error(), word) {
		y.t.Errorf("%s: got the user %q, %v; want a refusal that speaks of %q", what, grant.User, err, word)
	}
}

func (y *yard) lets(client *redis.Client, want bool) {
	y.t.Helper()
	if err := client.Ping(y.t.Context()).Err(); (err == nil) != want {
		y.t.Errorf("Redis answers %v; want the user to be good: %v", err, want)
	}
}

func (y *yard) tidy() {
	y.t.Helper()
	if err := errors.Join(y.service.EndRevoked(y.everyone()), y.service.EndSilent(y.everyone())); err != nil {
		y.t.Fatal(err)
	}
}

// revoke ends a worker by a name while the service runs.
func (y *yard) revoke(name string, worker *identity.Holder) {
	y.t.Helper()
	running, stop := context.WithCancel(y.t.Context())
	var runs sync.WaitGroup
	runs.Go(func() { y.service.Run(running) })
	revoked, ended, err := y.operator.Revoke(y.everyone(), name)
	if err != nil || !ended || !slices.Equal(revoked, []string{worker.WorkerID}) {
		y.t.Errorf("%s: revoked %v, ended: %v, %v", name, revoked, ended, err)
	}
	stop()
	runs.Wait()
}

// keeping is what a client has sent.
type keeping struct {
	body  []byte
	proof string
}

func (k *keeping) RoundTrip(request *http.Request) (*http.Response, error) {
	k.body, _ = io.ReadAll(request.Body)
	k.proof = request.Header.Get(identity.ProofHeader)
	request.Body = io.NopCloser(bytes.NewReader(k.body))
	return http.DefaultTransport.RoundTrip(request)
}

func TestAWorkerHasAUserOfItsOwn(t *testing.T) {
	t.Parallel()
	y := open(t)
	workerID, token, sent := id.New("wrk_"), y.enrol("slurm", 5), &keeping{}
	holder := y.worker(workerID, token, func(c *identity.Config) { c.Client = &http.Client{Transport: sent} })
	first := y.renew(holder)
	client, ctx := y.as(first), t.Context()
	if first.Prefix != prefix || first.Good() != good || !strings.HasPrefix(first.User, prefix+"molfabric:"+workerID+"-") {
		t.Errorf("got %+v", first)
	}
	if err := client.Set(ctx, prefix+"molfabric:worker:"+workerID, "alive", time.Minute).Err(); err != nil {
		t.Errorf("its heartbeat: %v", err)
	}
	for name, err := range map[string]error{
		"the heartbeat of another":    client.Set(ctx, prefix+"molfabric:worker:wrk_other", "alive", time.Minute).Err(),
		"what another is told":        client.LPop(ctx, prefix+"molfabric:acks:wrk_other").Err(),
		"users":                       client.Do(ctx, "ACL", "SETUSER", "mine", "on", "nopass", "+@all", "~*").Err(),
		"another deployment's events": client.XLen(ctx, "other:molfabric:events").Err(),
	} {
		if err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("a worker's user reaches %s: %v", name, err)
		}
	}
	y.refused("another key under its name", y.worker(workerID, token), "another key")
	if !bytes.Contains(sent.body, []byte(token)) {
		t.Error("the first request has no token")
	}
	second := y.renew(holder)
	if second.User == first.User || bytes.Contains(sent.body, []byte(token)) {
		t.Errorf("the second request got the same user (%v), or repeated the token", second.User == first.User)
	}
	if answer := y.post(sent.body, sent.proof); answer != http.StatusUnauthorized {
		t.Errorf("a request that was overheard is answered %d when it is sent again", answer)
	}
	y.tidy()
	y.lets(client, true) // until it has gone over
	third := y.renew(holder)
	y.tidy()
	y.lets(y.as(first), false)
	y.lets(y.as(second), true)
	y.lets(y.as(third), true)
	if err := holder.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	y.tidy()
	y.lets(y.as(third), false)
	y.refused("a worker that has left", holder, "ended")
}

// post sends a request as it is, and returns the status of the answer.
func (y *yard) post(body []byte, proof string) int {
	y.t.Helper()
	request, err := http.NewRequestWithContext(y.t.Context(), http.MethodPost, y.Base+identity.Path, bytes.NewReader(body))
	if err != nil {
		y.t.Fatal(err)
	}
	request.Header.Set(identity.ProofHeader, proof)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		y.t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// TestStolenCredentialsEnd: by time, and by command, and with them the thief's connections.
func TestStolenCredentialsEnd(t *testing.T) {
	t.Parallel()
	y := open(t)
	holder := y.worker(id.New("wrk_"), y.enrol("slurm", 5))
	thief := y.as(y.renew(holder))
	caught := make(chan error, 1)
	waits := func() {
		y.lets(thief, true)
		go func() { caught <- thief.BLPop(t.Context(), time.Minute, prefix+"molfabric:{preview}:desk:bell").Err() }()
	}
	ends := func(why string) {
		t.Helper()
		select {
		case err := <-caught:
			if errors.Is(err, redis.Nil) {
				t.Errorf("%s: the thief's call ended as it should have for the worker", why)
			}
		case <-time.After(apitest.Patience):
			t.Fatalf("%s: the thief's connection is still there", why)
		}
		y.lets(thief, false)
	}
	waits()
	y.later(good)
	y.tidy()
	ends("by time")
	if living, err := y.operator.Workers(y.everyone(), false); err != nil || len(living) != 0 {
		t.Errorf("listed as living: %+v, %v", living, err)
	}

	thief = y.as(y.renew(holder)) // a worker that was away for long comes back
	waits()
	y.revoke(holder.WorkerID, holder)
	ends("by command")
	y.refused("a revoked worker", holder, "ended")
	if _, _, err := y.operator.Revoke(y.everyone(), holder.WorkerID); !errors.Is(err, workers.ErrUnknown) {
		t.Errorf("revoked again: %v", err)
	}
	lines, err := auditlog.Read(y.everyone(), y.DB, auditlog.Filter{Event: "fleet.", Limit: 10})
	if err != nil || len(lines) != 2 || lines[1].Event != auditlog.WorkerRevoked || lines[1].Actor != "operator ada" {
		t.Errorf("the audit log has %+v, %v", lines, err)
	}
	all, err := y.operator.Workers(y.everyone(), true)
	if err != nil || len(all) != 1 || all[0].RevokedBy != "ada" || all[0].EndedAt == nil || all[0].Host != "node7" ||
		all[0].Address != "127.0.0.1" {
		t.Errorf("listed: %+v, %v", all, err)
	}
}

func TestEnrolmentsAreBounded(t *testing.T) {
	t.Parallel()
	y := open(t)
	token := y.enrol("slurm", 1)
	one := y.worker(id.New("wrk_"), token)
	client := y.as(y.renew(one))
	other := y.worker(id.New("wrk_"), token)
	y.refused("one more than the enrolment is for", other, "1 workers")
	if err := one.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	y.tidy()
	y.lets(client, false)
	client = y.as(y.renew(other))
	y.refused("no token", y.worker(id.New("wrk_"), ""), "no token")
	y.refused("a token of nobody", y.worker(id.New("wrk_"), "mfw_guess"), "no enrolment")
	if _, _, err := y.operator.Enrol(y.everyone(), "slurm", time.Hour, 1); err == nil || !strings.Contains(err.Error(), "NAME") {
		t.Errorf("a second enrolment of the name: %v", err)
	}
	y.later(time.Hour)
	y.refused("an enrolment that has expired", y.worker(id.New("wrk_"), token), "expired")
	y.renew(other) // who works goes on
	token = y.enrol("bench", 2)
	another := y.worker(id.New("wrk_"), token)
	y.renew(another)
	y.revoke("slurm", other)
	y.lets(client, false)
	y.refused("a worker of a revoked enrolment", other, "ended")
	y.renew(another)
	listed, err := y.operator.Enrolments(y.everyone())
	if err != nil || len(listed) != 2 || listed[0].Living != 1 || listed[1].RevokedAt == nil {
		t.Errorf("listed: %+v, %v", listed, err)
	}
	for _, hidden := range []string{"worker_enrolments", "worker_identities"} {
		if _, err := y.Deps.DB.ExecContext(tenant.With(t.Context(), "acct_a"), `SELECT FROM `+hidden); err == nil {
			t.Errorf("an account reads %s", hidden)
		}
	}
}

// TestARedisThatForgetsIsToldAgain takes a worker's user away, as a Redis that was started again has none: the worker notices.
func TestARedisThatForgetsIsToldAgain(t *testing.T) {
	t.Parallel()
	y := open(t)
	holder := y.worker(id.New("wrk_"), y.enrol("slurm", 5))
	grant := y.renew(holder)
	client, err := queue.ConnectAs(t.Context(), grant.Redis, grant.Authorities, queue.Login{Credentials: holder.Credentials,
		Refused: holder.Refused, ConnectionLife: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	keeping, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- holder.Keep(keeping) }()
	if n, err := y.client(y.redis.URL()).Do(t.Context(), "ACL", "DELUSER", grant.User).Int(); n != 1 || err != nil {
		t.Fatalf("%d users ended, %v", n, err)
	}
	until := time.Now().Add(apitest.Patience)
	for err = client.Ping(t.Context()).Err(); err != nil && time.Now().Before(until); err = client.Ping(t.Context()).Err() {
		<-time.After(10 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("the worker does not come back: %v", err)
	}
	stop()
	if err := <-kept; err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	t.Parallel()
	y := open(t)
	sent := &keeping{}
	heard := func(c *identity.Config) { c.Client = &http.Client{Transport: sent} }
	y.refused("no token", y.worker(id.New("wrk_"), "", heard), "token")
	tooLong := strings.Repeat(" ", identity.MaxBodyBytes) + string(sent.body)
	for name, c := range map[string]struct {
		body, proof string
		want        int
	}{
		"no JSON":            {"x", sent.proof, http.StatusBadRequest},
		"no signature":       {string(sent.body), "", http.StatusBadRequest},
		"a changed body":     {strings.Replace(string(sent.body), "node7", "node8", 1), sent.proof, http.StatusBadRequest},
		"rules in an id":     {strings.Replace(string(sent.body), "wrk_", "wrk_* ~*", 1), sent.proof, http.StatusBadRequest},
		"more than a worker": {tooLong, sent.proof, http.StatusRequestEntityTooLarge},
	} {
		if got := y.post([]byte(c.body), c.proof); got != c.want {
			t.Errorf("%s: answered %d, want %d", name, got, c.want)
		}
	}
	none := workers.New(workers.Deps{DB: y.Deps.DB, Metrics: workers.NewMetrics(nil), Log: y.Deps.Log, Now: y.clock})
	if _, err := none.Issue(t.Context(), sent.body, sent.proof, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("a deployment that hands out nothing answers %v", err)
	}
}
