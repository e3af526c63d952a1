package queue_test

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const aclPrefix = "deployment:"

// startRedis starts a Redis for this test.
func startRedis(t *testing.T, opts servers.RedisOptions) *servers.Redis {
	t.Helper()
	opts.Dir, opts.Log = serverstest.Dir(t), slog.New(slog.DiscardHandler)
	started, err := servers.StartRedis(t.Context(), opts)
	serverstest.Check(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := started.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return started
}

// guarded is a Redis with a user for each role, and a client of each.
func guarded(t *testing.T) (control, worker redis.UniversalClient) {
	t.Helper()
	started := startRedis(t, servers.RedisOptions{Users: []servers.RedisUser{
		{Name: "control", ACL: queue.ControlACL(aclPrefix)}, {Name: "worker", ACL: queue.WorkerACL(aclPrefix)}}})
	return connect(t, started.UserURL("control")), connect(t, started.UserURL("worker"))
}

// TestControlACL sends everything that the fabric asks of Redis as the user of the API and the scheduler.
func TestControlACL(t *testing.T) {
	t.Parallel()
	rdb, _ := guarded(t)
	q := queue.New(rdb, aclPrefix)
	t.Run("orders", func(t *testing.T) { tryOrders(t, q) })
	t.Run("reports", func(t *testing.T) { tryReports(t, q) })
	t.Run("workers", func(t *testing.T) { tryWorkers(t, q) })
	t.Run("marks and wakes", func(t *testing.T) { tryMarks(t, q) })
	t.Run("limits", func(t *testing.T) { tryLimits(t, rdb) })
	t.Run("previews", func(t *testing.T) { tryPreviews(t, rdb, rdb) })
	for name, forbidden := range map[string]error{
		"flush":       rdb.FlushAll(t.Context()).Err(),
		"configure":   rdb.ConfigGet(t.Context(), "requirepass").Err(),
		"other users": rdb.ACLList(t.Context()).Err(),
		"other keys":  rdb.Set(t.Context(), "another:deployment", 1, 0).Err(),
	} {
		expectForbidden(t, name, forbidden)
	}
}

// TestWorkerACL lets the scheduler and a worker each do their part as users of their own, and then the worker what is not its part.
func TestWorkerACL(t *testing.T) {
	t.Parallel()
	controlClient, workerClient := guarded(t)
	control, worker := queue.New(controlClient, aclPrefix), queue.New(workerClient, aclPrefix)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	order := newOrder()
	order.Claim, order.Permit = newClaim(t), []byte(permitText)
	enqueue(t, control, order)
	got := receive(t, claimed(t, worker, 1))
	if got.Claim.IsZero() || string(got.Permit) != permitText {
		t.Fatal("the worker could not take the claim and the permit")
	}
	if stopped, err := worker.Stopped(ctx, order.Ref()); err != nil || stopped {
		t.Fatalf("stopped: %v, %v", stopped, err)
	}
	self := newClaim(t)
	held := queue.Held{Ref: order.Ref(), JobID: order.JobID, Phase: queue.Running}.Proven(got.Claim, self)
	hb := queue.Heartbeat{WorkerID: "wrk_1", Held: []queue.Held{held}}.Signed(self)
	beat(t, worker, hb)
	event := newEvent("wrk_1")
	event.Claim = got.Claim
	places := report(t, worker, event)
	expectThere(t, worker, places[0], true)
	if seen, err := control.Workers(ctx); err != nil || len(seen) != 1 || !seen[0].Genuine() {
		t.Fatalf("the scheduler sees %+v, %v", seen, err)
	}
	arrived := deliveries(t, control, 10)
	if len(arrived) != 1 || !arrived[0].ProvenBy(order.Claim.Witness()) {
		t.Fatalf("the scheduler received %+v", arrived)
	}
	must(control.Acknowledge(ctx, arrived))
	must(control.StopAttempts(ctx, order.Ref()))
	must(control.LeavePermit(ctx, "wrk_1", order.Ref(), []byte("sealed")))
	if orders := beat(t, worker, hb); len(orders.Acked) != 1 || !orders.Stop[order.Ref()] ||
		string(orders.Permits[order.Ref()]) != "sealed" {
		t.Errorf("the worker learns %+v, want an acknowledgement and a stop order", orders)
	}
	t.Run("previews", func(t *testing.T) { tryPreviews(t, controlClient, workerClient) })
	scene, picture := aclPrefix+"molfabric:{preview}:scene:one", aclPrefix+"molfabric:{preview}:picture:one"
	other := newOrder()
	other.Claim = newClaim(t)
	enqueue(t, control, other)
	claim := aclPrefix + "molfabric:claim:" + other.Queue + ":" + other.Ref().String()
	if n, err := controlClient.Exists(ctx, claim).Result(); err != nil || n != 1 {
		t.Fatalf("the other claim is not at %s: %v", claim, err)
	}
	for name, forbidden := range map[string]error{
		"stop an attempt":          worker.StopAttempts(ctx, other.Ref()),
		"mark the epoch":           worker.Mark(ctx, "mine"),
		"read heartbeats":          workerClient.Get(ctx, aclPrefix+"molfabric:worker:wrk_1").Err(),
		"wake the scheduler":       worker.Wake(ctx),
		"count against a limit":    workerClient.Set(ctx, "rate:"+aclPrefix+"limit:x", 1, time.Minute).Err(),
		"flush":                    workerClient.FlushAll(ctx).Err(),
		"list keys":                workerClient.Keys(ctx, "*").Err(),
		"list keys in parts":       workerClient.Scan(ctx, 0, aclPrefix+"molfabric:claim:*", 10).Err(),
		"guess keys":               workerClient.RandomKey(ctx).Err(),
		"read a claim":             workerClient.Get(ctx, claim).Err(),
		"find a claim":             workerClient.Exists(ctx, claim).Err(),
		"copy a claim":             workerClient.Dump(ctx, claim).Err(),
		"move a claim":             workerClient.Rename(ctx, claim, "asynq:mine").Err(),
		"put a claim":              workerClient.Set(ctx, claim, "mine", time.Minute).Err(),
		"drop a claim":             workerClient.Del(ctx, claim).Err(),
		"claim in a script":        workerClient.Eval(ctx, `return redis.call("GET", KEYS[1])`, []string{claim}).Err(),
		"claim unseen in a script": workerClient.Eval(ctx, `return redis.call("GET", "`+claim+`")`, nil).Err(),
		"read a scene":             workerClient.Get(ctx, scene).Err(),
		"put a scene":              workerClient.Set(ctx, scene, "mine", time.Minute).Err(),
		"read a picture":           workerClient.Get(ctx, picture).Err(),
		"take a picture":           workerClient.GetDel(ctx, picture).Err(),
		"configure":                workerClient.ConfigSet(ctx, "requirepass", "").Err(),
		"make users":               workerClient.ACLSetUser(ctx, "mine", "on", "nopass", "~*", "+@all").Err(),
		"see what others send":     workerClient.Do(ctx, "MONITOR").Err(),
		"write other keys":         workerClient.Set(ctx, "another:deployment", 1, 0).Err(),
		"write another deployment": workerClient.Set(ctx, "other:molfabric:epoch", 1, 0).Err(),
	} {
		expectForbidden(t, name, forbidden)
	}
	if taken, _, err := worker.TakeClaim(ctx, other.Queue, other.Ref()); err != nil || taken.IsZero() {
		t.Errorf("the other claim: %v, %v; want it taken", taken, err)
	}
	must(worker.Forget(ctx, "wrk_1"))
}

func expectForbidden(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "NOPERM") && !strings.Contains(err.Error(),
		"can't access at least one of the keys") {
		t.Errorf("%s: %v, want it forbidden", what, err)
	}
}

// TestOperatorsAreTold holds the guide to the rules that were tried.
func TestOperatorsAreTold(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../doc/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rules := range []string{queue.ControlACL(""), queue.WorkerACL(""), queue.IssuerACL()} {
		if !strings.Contains(strings.Join(strings.Fields(string(guide)), " "), rules) {
			t.Errorf("doc/operating.md does not show %s", rules)
		}
	}
}

// TestConnectOverTLS talks to a Redis that speaks nothing else, as `molfabric up` starts it.
func TestConnectOverTLS(t *testing.T) {
	t.Parallel()
	started := startRedis(t, servers.RedisOptions{TLS: true})
	address, certificate := started.URL(), started.Certificate()
	rdb, err := queue.Connect(t.Context(), address, certificate)
	if err != nil {
		t.Fatal(err)
	}
	if err := rdb.Close(); err != nil {
		t.Error(err)
	}
	if version, err := started.Version(t.Context()); err != nil || version == "" {
		t.Errorf("its version is %q, %v", version, err)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := parsed.User.Password()
	plain := strings.Replace(address, "rediss://", "redis://", 1)
	other := filepath.Join(t.TempDir(), "other.pem")
	if err := os.WriteFile(other, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]struct{ address, authorities, told string }{
		"a certificate that nobody has signed": {address + "?max_retries=-1", "", "certificate"},
		"plain text":                           {plain + "?max_retries=-1", "", "redis does not answer"},
		"plain text with authorities":          {plain, certificate, "rediss://"},
		"a file without certificates":          {address, other, "other.pem holds none as PEM"},
		"no file":                              {address, "nowhere.pem", "no such file"},
	} {
		if rdb, err := queue.Connect(t.Context(), wrong.address, wrong.authorities); err == nil {
			_ = rdb.Close()
			t.Errorf("%s is taken", name)
		} else if !strings.Contains(err.Error(), wrong.told) || strings.Contains(err.Error(), password) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
