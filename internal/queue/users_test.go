package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/preview"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/servers"
)

// turns gives a worker one user after the other.
type turns struct {
	t        *testing.T
	users    *queue.Users
	workerID string
	serial   atomic.Int64
	refused  atomic.Int64
}

func (u *turns) next() {
	u.t.Helper()
	serial := u.serial.Load() + 1
	name, password := u.users.Name(u.workerID, serial), fmt.Sprint("password", serial)
	if err := u.users.Make(u.t.Context(), name, password, u.workerID); err != nil {
		u.t.Fatal(err)
	}
	u.serial.Store(serial)
}

func (u *turns) login(life time.Duration) queue.Login {
	return queue.Login{ConnectionLife: life, Refused: func() { u.refused.Add(1) },
		Credentials: func(context.Context) (string, string, error) {
			serial := u.serial.Load()
			return u.users.Name(u.workerID, serial), fmt.Sprint("password", serial), nil
		}}
}

// TestAWorkerGoesOverToItsNextUser lets a worker do its part while it gets one user after the other, and the ones before end: it
// loses nothing, and its subscription and its waiting calls go on.
func TestAWorkerGoesOverToItsNextUser(t *testing.T) {
	t.Parallel()
	started := startRedis(t, servers.RedisOptions{Users: []servers.RedisUser{
		{Name: "control", ACL: queue.ControlACL(aclPrefix)}, {Name: "issuer", ACL: queue.IssuerACL()}}})
	control := queue.New(connect(t, started.UserURL("control")), aclPrefix)
	turn := &turns{t: t, users: queue.NewUsers(connect(t, started.UserURL("issuer")), aclPrefix), workerID: id.New("wrk_")}
	turn.next()
	bare, err := queue.Bare(started.URL())
	if err != nil {
		t.Fatal(err)
	}
	const life = 50 * time.Millisecond
	const bellPatience = time.Second // of a call that waits for previews
	rdb, err := queue.ConnectAs(t.Context(), bare, "", turn.login(life))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	worker, desk := queue.New(rdb, aclPrefix), preview.NewDesk(rdb, aclPrefix)
	waited, stop := make(chan error, 1), make(chan struct{})
	go func() {
		var failures error
		for {
			select {
			case <-stop:
				waited <- failures
				return
			default:
				failures = errors.Join(failures, desk.Await(t.Context()))
			}
		}
	}()
	orders := claimed(t, worker, 100)
	for range 3 {
		order := newOrder()
		order.Claim = newClaim(t)
		enqueue(t, control, order)
		if got := receive(t, orders); got.Claim.IsZero() {
			t.Error("the worker could not take a claim")
		}
		beat(t, worker, queue.Heartbeat{WorkerID: turn.workerID})
		before := turn.users.Name(turn.workerID, turn.serial.Load())
		turn.next()
		<-time.After(bellPatience + 2*life) // the overlap, in which calls end and connections are given up
		if err := turn.users.End(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-waited; err != nil {
		t.Errorf("a call that waits was broken off: %v", err)
	}
	if n := turn.refused.Load(); n != 0 {
		t.Errorf("Redis refused the worker %d times", n)
	}
	names, err := turn.users.Names(t.Context())
	if err != nil || !slices.Equal(names, []string{turn.users.Name(turn.workerID, 4)}) ||
		turn.users.WorkerOf(names[0]) != turn.workerID {
		t.Errorf("users of workers are %v, %v", names, err)
	}
	if err := turn.users.End(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the worker notices that it is refused", func() bool {
		_ = rdb.Ping(t.Context()).Err()
		return turn.refused.Load() > 0
	})
	expectForbidden(t, "an issuer that reads", connect(t, started.UserURL("issuer")).Get(t.Context(), "any").Err())
}

// TestEveryNodeOfAClusterKnowsAUser makes a user, has it work on all nodes, and ends it everywhere.
func TestEveryNodeOfAClusterKnowsAUser(t *testing.T) {
	t.Parallel()
	_, address := redistest.Cluster(t)
	admin := connect(t, address)
	turn := &turns{t: t, users: queue.NewUsers(admin, ""), workerID: id.New("wrk_")}
	turn.next()
	bare, err := queue.Bare(address)
	if err != nil {
		t.Fatal(err)
	}
	rdb, err := queue.ConnectAs(t.Context(), bare, "", turn.login(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	tryAll := func() (failed int) {
		err := rdb.(*redis.ClusterClient).ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
			return node.Ping(ctx).Err()
		})
		if err != nil {
			failed++
		}
		return failed
	}
	if tryAll() > 0 {
		t.Error("a node does not know the user")
	}
	names, err := turn.users.Names(t.Context())
	if err != nil || len(names) != 1 {
		t.Fatalf("users of workers are %v, %v", names, err)
	}
	if err := turn.users.End(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
	if names, err = turn.users.Names(t.Context()); err != nil || len(names) != 0 || tryAll() == 0 {
		t.Errorf("users of workers that have ended are %v, %v, and may still work", names, err)
	}
}
