package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/identity"
)

const (
	// credentialsLast is how long credentials are good here: the shortest that a deployment may choose.
	credentialsLast = 10 * time.Second
	// endedWithin is what a stolen credential may work for after that, and revokedWithin after an operator has given a command,
	// whose start is a part of it.
	endedWithin, revokedWithin = 10 * time.Second, 2 * time.Second
)

// maliciousWorker is R21: first somebody with the user that workers share, then with one that was a worker's own.
func maliciousWorker(ctx context.Context, w *World, rng *mathrand.Rand) error {
	if err := impostor(ctx, w, rng); err != nil {
		return err
	}
	api, err := w.StartAPI(ctx, "MOLFABRIC_ISSUER_REDIS_URL="+w.issuerRedisURL,
		"MOLFABRIC_WORKER_CREDENTIALS="+credentialsLast.String())
	if err != nil {
		return err
	}
	token, err := w.fleet(ctx, "enrol", "chaos")
	if err != nil {
		return err
	}
	forgotten, err := w.rob(ctx, api, token)
	if err != nil {
		return err
	}
	defer forgotten.rdb.Close()
	if err := w.endByCommand(ctx, api, token); err != nil {
		return err
	}
	if err := w.loseRevoked(ctx, api, token); err != nil {
		return err
	}
	return w.endByTime(ctx, forgotten)
}

// robbed is a worker whose key and credentials somebody has.
type robbed struct {
	*identity.Holder
	rdb *redis.Client
}

func (w *World) holder(api *Process, token, workerID string) (*identity.Holder, error) {
	return identity.New(identity.Config{API: api.URL, Token: token, WorkerID: workerID, Host: "chaos",
		Log: slog.New(slog.DiscardHandler)})
}

// rob has a worker begin, and takes its credentials over. Another key gets none under its name.
func (w *World) rob(ctx context.Context, api *Process, token string) (robbed, error) {
	holder, err := w.holder(api, token, id.New("wrk_"))
	if err != nil {
		return robbed{}, err
	}
	grant, err := holder.Renew(ctx)
	if err != nil {
		return robbed{}, err
	}
	options, err := redis.ParseURL(grant.Redis)
	if err != nil {
		return robbed{}, err
	}
	options.Username, options.Password, options.MaxRetries = grant.User, grant.Password, -1
	thief := robbed{holder, redis.NewClient(options)}
	other, err := w.holder(api, token, holder.WorkerID)
	if err != nil {
		return robbed{}, err
	}
	if _, err := other.Renew(ctx); !errors.Is(err, identity.ErrEnded) {
		return robbed{}, fmt.Errorf("another key gets credentials under the name of %s: %w", holder.WorkerID, err)
	}
	own, others := "molfabric:worker:"+holder.WorkerID, "molfabric:worker:"+w.Workers()[0].WorkerID()
	if err := thief.rdb.Set(ctx, own, "x", time.Second).Err(); err != nil {
		return robbed{}, fmt.Errorf("the stolen credential does not work yet: %w", err)
	}
	if err := thief.rdb.Set(ctx, others, "x", time.Second).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		return robbed{}, fmt.Errorf("a worker's own user writes the heartbeat of another: %w", err)
	}
	return thief, nil
}

// endByCommand revokes a worker whose credentials were stolen, while the thief waits at an open connection.
func (w *World) endByCommand(ctx context.Context, api *Process, token string) error {
	thief, err := w.rob(ctx, api, token)
	if err != nil {
		return err
	}
	defer thief.rdb.Close()
	began, waiting := time.Now(), make(chan error, 1)
	var ended time.Duration
	go func() {
		err := thief.rdb.BLPop(ctx, patience, "molfabric:{preview}:desk:bell").Err()
		ended = time.Since(began)
		waiting <- err
	}()
	if _, err := w.fleet(ctx, "revoke", thief.WorkerID); err != nil {
		return err
	}
	if err := <-waiting; err == nil || errors.Is(err, redis.Nil) {
		return errors.New("a revoked worker's call was answered")
	}
	w.Figure("revoked_seconds", ended.Seconds())
	if ended > w.Bound(revokedWithin) {
		return fmt.Errorf("the connection of a revoked worker ended after %s", ended)
	}
	if err := thief.rdb.Ping(ctx).Err(); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		return fmt.Errorf("a revoked worker's credential still works: %w", err)
	}
	if _, err := thief.Renew(ctx); !errors.Is(err, identity.ErrEnded) {
		return fmt.Errorf("a revoked worker gets credentials: %w", err)
	}
	return nil
}

// loseRevoked revokes a real worker in the midst of its tasks, after it has gone over to its second user.
func (w *World) loseRevoked(ctx context.Context, api *Process, token string) error {
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	revoked, err := w.StartWorker(ctx, WorkerOptions{Env: []string{"REDIS_URL=", "MOLFABRIC_WORKER_TOKEN=" + token,
		"MOLFABRIC_WORKER_API=" + api.URL}})
	if err != nil {
		return err
	}
	jobID, err := account.Submit(ctx, Probe{Tasks: 4, Seconds: 8, OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	lost, err := w.awaitRunning(ctx, revoked, 2)
	if err != nil {
		return err
	}
	next := "molfabric:" + revoked.WorkerID() + "-2"
	err = w.Eventually(ctx, "the worker gets its next user", w.Bound(credentialsLast), func(ctx context.Context) (bool, error) {
		users, err := w.rdb.Do(ctx, "ACL", "USERS").StringSlice()
		return slices.Contains(users, next), err
	})
	if err != nil {
		return err
	}
	revoked.LetEnd()
	if _, err := w.fleet(ctx, "revoke", revoked.WorkerID()); err != nil {
		return err
	}
	if err := w.AwaitCompleted(ctx, jobID); err != nil {
		return err
	}
	select {
	case <-revoked.Exited():
	case <-time.After(w.Bound(stopGrace)):
		return errors.New("a revoked worker does not end")
	}
	return w.expectOneCharge(ctx, jobID, lost)
}

// endByTime waits until a credential that nobody renews has ended.
func (w *World) endByTime(ctx context.Context, thief robbed) error {
	bound := w.Bound(credentialsLast + endedWithin)
	return w.Eventually(ctx, "a stolen credential ends by time", bound, func(ctx context.Context) (bool, error) {
		err := thief.rdb.Ping(ctx).Err()
		return err != nil && strings.Contains(err.Error(), "WRONGPASS"), nil
	})
}

// fleet runs `molfabric fleet` as an operator does, and returns what it prints.
func (w *World) fleet(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, w.program, append([]string{"fleet"}, arguments...)...)
	command.Env = w.environment(w.stores)
	var printed, told bytes.Buffer
	command.Stdout, command.Stderr = &printed, &told
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("molfabric fleet %s: %w: %s", strings.Join(arguments, " "), err, told.String())
	}
	return strings.TrimSpace(printed.String()), nil
}
