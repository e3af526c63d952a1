package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Users makes and ends users of Redis for single workers. It needs a client whose user has the rules of IssuerACL. Redis keeps them
// in memory: one that was started again knows none, and a replica knows its own alone.
type Users struct {
	rdb    redis.UniversalClient
	prefix string
}

// NewUsers returns the users of the deployment whose keys begin with prefix.
func NewUsers(rdb redis.UniversalClient, prefix string) *Users {
	return &Users{rdb: rdb, prefix: prefix}
}

// workerPrefix begins the ids of workers.
const workerPrefix = "wrk_"

func (u *Users) prefixed() string { return u.prefix + "molfabric:" + workerPrefix }

// Name is what the user of a worker is called that it got with the request of this number.
func (u *Users) Name(workerID string, serial int64) string {
	return u.prefixed() + strings.TrimPrefix(workerID, workerPrefix) + "-" + strconv.FormatInt(serial, 10)
}

// WorkerOf is the worker that a user was made for.
func (u *Users) WorkerOf(name string) string {
	name = strings.TrimPrefix(name, u.prefixed())
	return workerPrefix + name[:max(strings.LastIndexByte(name, '-'), 0)]
}

// Make makes a user for a worker, or gives an earlier one of the name this password. On a cluster every master must know it; a
// replica that is away learns it when the worker renews its credentials.
func (u *Users) Make(ctx context.Context, name, password, workerID string) error {
	digest := sha256.Sum256([]byte(password)) // so that no log of Redis's has the password
	args := []any{"ACL", "SETUSER", name, "reset", "on", "#" + hex.EncodeToString(digest[:])}
	for _, rule := range workerRules(u.prefix, workerID) {
		args = append(args, rule)
	}
	set := func(ctx context.Context, node *redis.Client) error { return node.Do(ctx, args...).Err() }
	err := u.each(ctx, set)
	if cluster, ok := u.rdb.(*redis.ClusterClient); ok && err != nil {
		err = cluster.ForEachMaster(ctx, set)
	}
	if err != nil {
		return fmt.Errorf("make the user %s of Redis: %w", name, err)
	}
	return nil
}

// End ends users, and with them their connections. Those that are not there are ended already.
func (u *Users) End(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	args := []any{"ACL", "DELUSER"}
	for _, name := range names {
		args = append(args, name)
	}
	err := u.each(ctx, func(ctx context.Context, node *redis.Client) error { return node.Do(ctx, args...).Err() })
	if err != nil {
		return fmt.Errorf("end %d users of Redis: %w", len(names), err)
	}
	return nil
}

// Names are the users that any node knows of this deployment's workers.
func (u *Users) Names(ctx context.Context) ([]string, error) {
	var mu sync.Mutex
	known := map[string]bool{}
	err := u.each(ctx, func(ctx context.Context, node *redis.Client) error {
		all, err := node.Do(ctx, "ACL", "USERS").StringSlice()
		mu.Lock()
		defer mu.Unlock()
		for _, name := range all {
			if strings.HasPrefix(name, u.prefixed()) {
				known[name] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the users of Redis: %w", err)
	}
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	return names, nil
}

// each does something at every node.
func (u *Users) each(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	switch client := u.rdb.(type) {
	case *redis.ClusterClient:
		return client.ForEachShard(ctx, do)
	case *redis.Client:
		return do(ctx, client)
	}
	return fmt.Errorf("users of Redis cannot be made with a %T", u.rdb)
}
