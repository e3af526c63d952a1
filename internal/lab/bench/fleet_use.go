package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The parts of a deployment, as the tables of their use name them.
const (
	partAPI       = "api"
	partScheduler = "scheduler"
	partFleet     = "fleet" // this process, with what it takes to measure
	partRedis     = "redis"
	partPostgres  = "postgres"
	partObjects   = "objects"
)

// parts are in the order of the tables.
var parts = []string{partAPI, partScheduler, partFleet, partRedis, partPostgres, partObjects}

// use is what a deployment has used since its start.
type use struct {
	At            time.Time
	CPU           map[string]time.Duration // by part, of whole process trees
	RedisCommands int64                    // those that scripts call included
	RedisBytes    int64                    // received and sent
	Store         storeCounters
}

// used reads what the deployment has used until now.
func (d *deployment) used(ctx context.Context) (use, error) {
	u := use{At: time.Now(), CPU: map[string]time.Duration{}}
	tree, err := readProcesses()
	if err != nil {
		return u, err
	}
	for part, pid := range map[string]int{partAPI: d.api.pid, partScheduler: d.scheduler.pid, partRedis: d.redis.PID(),
		partPostgres: d.postgres.PID(), partObjects: d.objects.PID()} {
		u.CPU[part] = tree.cpu(pid)
	}
	if u.CPU[partFleet], err = ownCPU(); err != nil {
		return u, err
	}
	if u.RedisCommands, u.RedisBytes, err = d.redisUse(ctx); err != nil {
		return u, err
	}
	u.Store, err = readCounters(ctx, d.db)
	return u, err
}

// since is what has been used after an earlier reading.
func (u use) since(before use) use {
	spent := use{At: u.At, CPU: map[string]time.Duration{}, RedisCommands: u.RedisCommands - before.RedisCommands,
		RedisBytes: u.RedisBytes - before.RedisBytes, Store: storeCounters{
			Transactions: u.Store.Transactions - before.Store.Transactions, WALBytes: u.Store.WALBytes - before.Store.WALBytes,
			Bytes: u.Store.Bytes - before.Store.Bytes}}
	for part, cpu := range u.CPU {
		spent.CPU[part] = cpu - before.CPU[part]
	}
	return spent
}

// redisUse asks Redis how many commands it has executed and how many bytes have passed.
func (d *deployment) redisUse(ctx context.Context) (commands, netBytes int64, err error) {
	info, err := d.rdb.Info(ctx, "stats", "commandstats").Result()
	if err != nil {
		return 0, 0, fmt.Errorf("ask redis what it has done: %w", err)
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case name == "total_net_input_bytes" || name == "total_net_output_bytes":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("read %s of redis: %w", name, err)
			}
			netBytes += n
		case strings.HasPrefix(name, "cmdstat_"):
			var calls int64
			if _, err := fmt.Sscanf(value, "calls=%d,", &calls); err != nil {
				return 0, 0, fmt.Errorf("read %s of redis: %w", name, err)
			}
			commands += calls
		}
	}
	return commands, netBytes, nil
}

// ownCPU is the processor time of this process.
func ownCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read the use of this process: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// processes are those of this machine, by their ids.
type processes map[int]process

// process is one process: its parent, and its processor time with that of the children that it has waited for.
type process struct {
	parent int
	cpu    time.Duration
}

// processorTick is the unit of processor time in /proc, the same on every Linux (USER_HZ is 100).
const processorTick = 10 * time.Millisecond

// Fields of /proc/<pid>/stat after the name in brackets, from 0; see proc(5).
const (
	statParent     = 1
	statUser       = 11 // then: system, and both of the children
	statFieldsRead = 15
)

// readProcesses reads the machine's processes. One that ends meanwhile is left out.
func readProcesses() (processes, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := processes{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < statFieldsRead {
			continue
		}
		p := process{}
		if p.parent, err = strconv.Atoi(fields[statParent]); err != nil {
			return nil, fmt.Errorf("read process %d: %w", pid, err)
		}
		for _, field := range fields[statUser:statFieldsRead] {
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read process %d: %w", pid, err)
			}
			p.cpu += time.Duration(ticks) * processorTick
		}
		all[pid] = p
	}
	return all, nil
}

// cpu is the processor time of a process and all below it, also of those that have ended and were waited for.
func (all processes) cpu(root int) time.Duration {
	children := map[int][]int{}
	for pid, p := range all {
		children[p.parent] = append(children[p.parent], pid)
	}
	var total time.Duration
	for tree := []int{root}; len(tree) > 0; tree = tree[1:] {
		total += all[tree[0]].cpu
		tree = append(tree, children[tree[0]]...)
	}
	return total
}
