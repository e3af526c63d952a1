package redistest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	// clusterNodes is the least that Redis takes for a cluster with a majority.
	clusterNodes = 3
	// clusterSlots is how many slots the keys of a cluster are hashed to.
	clusterSlots = 16384
	// clusterPoll is short against the two seconds that new nodes wait before they serve.
	clusterPoll = 20 * time.Millisecond
)

// Node is a server of a cluster, with the slots that are its own.
type Node struct {
	*servers.Redis
	FirstSlot, LastSlot int
}

// Cluster starts an empty Redis Cluster of three nodes without replicas for this test alone, to flush, stop or kill. url is the
// address as queue.Connect reads it, with one node. It takes about three seconds. The test's end stops it and removes its data.
func Cluster(t testing.TB) (nodes []*Node, address string) {
	t.Helper()
	var starts sync.WaitGroup
	nodes, errs := make([]*Node, clusterNodes), make([]error, clusterNodes)
	for i := range nodes {
		dir := serverstest.Dir(t)
		starts.Go(func() {
			nodes[i] = &Node{FirstSlot: i * clusterSlots / clusterNodes, LastSlot: (i+1)*clusterSlots/clusterNodes - 1}
			nodes[i].Redis, errs[i] = servers.StartRedis(t.Context(), servers.RedisOptions{Dir: dir,
				Log: slog.New(slog.DiscardHandler), Cluster: true})
		})
	}
	starts.Wait()
	t.Cleanup(func() { stopNodes(t, nodes) })
	for _, err := range errs {
		serverstest.Check(t, err)
	}
	if err := join(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	return nodes, strings.Replace(strings.TrimSuffix(nodes[0].URL(), "/0"), "redis://", "redis+cluster://", 1)
}

func stopNodes(t testing.TB, nodes []*Node) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, node := range nodes {
		if node.Redis == nil {
			continue
		}
		if err := node.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
}

// join gives each node its slots, introduces them to each other and waits until all of them serve.
func join(ctx context.Context, nodes []*Node) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	clients := make([]*redis.Client, len(nodes))
	for i, node := range nodes {
		options, err := redis.ParseURL(node.URL())
		if err != nil {
			return err
		}
		clients[i] = redis.NewClient(options)
	}
	err := introduce(ctx, nodes, clients)
	for _, client := range clients {
		err = errors.Join(err, client.Close())
	}
	return err
}

func introduce(ctx context.Context, nodes []*Node, clients []*redis.Client) error {
	for i, client := range clients {
		if err := prepare(ctx, client, nodes[i], nodes[0].URL()); err != nil {
			return fmt.Errorf("prepare node %d: %w", i, err)
		}
	}
	for i, client := range clients[1:] {
		if err := meet(ctx, clients[0], client); err != nil {
			return fmt.Errorf("introduce node %d: %w", i+1, err)
		}
	}
	for i, client := range clients {
		if err := awaitCluster(ctx, client); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

// awaitCluster waits until a node says that all slots are served.
func awaitCluster(ctx context.Context, client *redis.Client) error {
	for {
		info, err := client.ClusterInfo(ctx).Result()
		if err != nil {
			return fmt.Errorf("ask about the cluster: %w", err)
		}
		if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_size:"+strconv.Itoa(clusterNodes)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster does not serve: %w; it says:\n%s", ctx.Err(), info)
		case <-time.After(clusterPoll):
		}
	}
}

// prepare gives a node its slots, and the password of the first one: a client of a cluster has but one for all.
func prepare(ctx context.Context, client *redis.Client, node *Node, first string) error {
	options, err := redis.ParseURL(first)
	if err != nil {
		return err
	}
	if err := client.ClusterAddSlotsRange(ctx, node.FirstSlot, node.LastSlot).Err(); err != nil {
		return err
	}
	return client.ConfigSet(ctx, "requirepass", options.Password).Err()
}

// meet makes a node known to another one.
func meet(ctx context.Context, to, node *redis.Client) error {
	config, err := node.ConfigGet(ctx, "*port").Result()
	if err != nil {
		return err
	}
	return to.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", config["port"], config["cluster-port"]).Err()
}

// Pause stops a node in its tracks until the test ends: connections to it stay, and nothing answers.
func (n *Node) Pause(t testing.TB) {
	t.Helper()
	if err := proc.SignalGroup(n.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proc.SignalGroup(n.PID(), syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
}
