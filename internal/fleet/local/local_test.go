package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fleet/keeper"
)

// TestDriver: a worker is found by another driver too, is not started twice, and its end is told once.
func TestDriver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$*\"\ntrap 'exit 0' TERM\nsleep 600 &\nwait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := keeper.Pool{Name: "cpu", Cores: 2, MemoryMiB: 512, Walltime: time.Hour, IdleExit: time.Minute, DrainGrace: 5 * time.Second}
	f := keeper.File{Fleet: fmt.Sprintf("test-%d", time.Now().UnixNano()), Pools: []keeper.Pool{p},
		Worker: keeper.Worker{Program: program, Logs: filepath.Join(dir, "logs")}}
	first, second := &Driver{File: f}, &Driver{File: f}
	ctx := t.Context()
	if err := first.Check(ctx, p); err != nil {
		t.Error(err)
	}
	for _, d := range []*Driver{first, second} {
		if err := d.Start(ctx, p, "aaa"); err != nil {
			t.Fatal(err)
		}
	}
	found, err := second.List(ctx)
	t.Cleanup(func() {
		for _, left := range found {
			if pid, err := strconv.Atoi(left.ID); err == nil && left.State == keeper.Running {
				_ = syscall.Kill(-pid, syscall.SIGKILL)
			}
		}
	})
	if err != nil || len(found) != 1 || found[0].State != keeper.Running || found[0].Cores != 2 || found[0].Pool != "cpu" ||
		found[0].Worker != "local/"+f.Fleet+"/aaa" || time.Since(found[0].Since) > time.Minute {
		t.Fatalf("found %+v, %v", found, err)
	}
	pid, err := strconv.Atoi(found[0].ID)
	if err == nil {
		err = syscall.Kill(-pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		if found, err = first.List(ctx); err != nil || time.Now().After(end) {
			t.Fatalf("found %+v, %v", found, err)
		}
		if len(found) == 1 && found[0].State == keeper.Failed {
			break
		}
	}
	if found, err := second.List(ctx); err != nil || len(found) != 0 {
		t.Errorf("who has not started it finds %+v, %v", found, err)
	}
	if err := first.Check(ctx, keeper.Pool{Partition: "work"}); err == nil || !strings.Contains(err.Error(), "partition") {
		t.Errorf("a pool of Slurm passes: %v", err)
	}
}
