// Package slurm has a Slurm cluster run workers: the driver of a keeper, which speaks to it by sbatch, squeue and scancel, and
// what a worker reads of the allocation that it runs in.
package slurm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/fleet/keeper"
)

// Driver starts workers as batch jobs of this process' user.
type Driver struct {
	File keeper.File
	// Env is added to the environment of Slurm's programs.
	Env []string
}

var _ keeper.Driver = Driver{}

// maxSaid cuts what a program of Slurm's complains of.
const maxSaid = 500

// Check asks Slurm when a job of the pool would start. It knows of sizes that no node has, and not of a walltime beyond a
// partition's: such a job waits for ever, with its reason.
func (d Driver) Check(ctx context.Context, p keeper.Pool) error {
	_, err := d.run(ctx, d.script(p), "sbatch", append([]string{"--test-only"}, d.options(p, "check")...)...)
	return err
}

// Start submits a job, unless one of its name is known.
func (d Driver) Start(ctx context.Context, p keeper.Pool, token string) error {
	name := keeper.JobName(d.File.Fleet, p.Name, token)
	known, err := d.run(ctx, "", "squeue", "--me", "--noheader", "--states=all", "--name="+name, "--format=%i")
	if err != nil || strings.TrimSpace(known) != "" {
		return err
	}
	if err := os.MkdirAll(d.File.Worker.Logs, 0o755); err != nil {
		return fmt.Errorf("worker.logs: %w", err)
	}
	_, err = d.run(ctx, d.script(p), "sbatch", append([]string{"--parsable"}, d.options(p, token)...)...)
	return err
}

// options are those of sbatch. The job is not requeued: the keeper decides anew. Its environment is not the keeper's, which Slurm
// would write down. The signal comes early enough for the worker to leave in order; Slurm may send it up to a minute earlier.
func (d Driver) options(p keeper.Pool, token string) []string {
	options := []string{
		"--job-name=" + keeper.JobName(d.File.Fleet, p.Name, token), "--no-requeue", "--export=NIL",
		fmt.Sprintf("--signal=B:TERM@%d", int(p.Leaving().Seconds())), "--time=" + minutes(p.Walltime), "--nodes=1", "--ntasks=1",
		"--cpus-per-task=" + strconv.Itoa(p.Cores), "--mem=" + strconv.Itoa(p.MemoryMiB) + "M", "--chdir=/",
		"--output=" + d.File.Worker.Logs + "/%x-%j.log"}
	if p.GPUs > 0 {
		options = append(options, "--gres=gpu:"+strconv.Itoa(p.GPUs))
	}
	for name, value := range map[string]string{"partition": p.Partition, "account": p.Account, "qos": p.QOS} {
		if value != "" {
			options = append(options, "--"+name+"="+value)
		}
	}
	return append(options, p.Options...)
}

// minutes is a time as sbatch takes it.
func minutes(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// List asks for all jobs of this user, those that ended lately too, as long as slurmctld remembers them (MinJobAge, five minutes
// by default).
func (d Driver) List(ctx context.Context) ([]keeper.Allocation, error) {
	out, err := d.run(ctx, "", "squeue", "--me", "--noheader", "--states=all", "--format="+format)
	if err != nil {
		return nil, err
	}
	return parse(out, d.File.Fleet)
}

// Cancel takes jobs back that still wait.
func (d Driver) Cancel(ctx context.Context, ids []string) error {
	_, err := d.run(ctx, "", "scancel", append([]string{"--state=PENDING"}, ids...)...)
	return err
}

// run runs a program of Slurm's. Variables by which a user changes what they print or ask for are left out, and moments are
// printed as seconds.
func (d Driver) run(ctx context.Context, input, program string, args ...string) (string, error) {
	return run(ctx, append(cleaned(os.Environ()), d.Env...), input, program, args...)
}

func run(ctx context.Context, env []string, input, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = slices.Concat(env, []string{"SLURM_TIME_FORMAT=%s", "TZ=UTC", "LC_ALL=C"})
	cmd.Stdin = strings.NewReader(input)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(said.String())
		return "", fmt.Errorf("%s: %w: %.*s", program, err, maxSaid, text)
	}
	return out.String(), nil
}

// cleaned leaves out what changes the behaviour of Slurm's programs, but for what says which cluster is meant.
func cleaned(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		for _, prefix := range []string{"SBATCH_", "SQUEUE_", "SCANCEL_", "SLURM_"} {
			if strings.HasPrefix(name, prefix) {
				return name != "SLURM_CONF" && name != "SLURM_CLUSTERS"
			}
		}
		return false
	})
}

// script is what a job runs. The worker takes the place of the shell, so that the signals of Slurm reach it.
func (d Driver) script(p keeper.Pool) string {
	w := d.File.Worker
	lines := []string{"#!/bin/sh", "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		`export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"`, "export MOLFABRIC_PREVIEWS=0"}
	if w.Environment != "" {
		lines = append(lines, "set -a", ". "+quote(w.Environment)+" || exit 1", "set +a")
	}
	if setup := strings.TrimSpace(w.Setup); setup != "" {
		lines = append(lines, setup)
	}
	lines = append(lines, "export MOLFABRIC_WORKER_NAME="+workerName(d.File.Fleet, `"$SLURM_JOB_ID"`),
		"export MOLFABRIC_DRAIN_GRACE="+p.DrainGrace.String(),
		"exec "+quote(w.Program)+" worker --allocation slurm --idle-exit "+p.IdleExit.String(), "")
	return strings.Join(lines, "\n")
}

// workerName is what the worker of a job is called.
func workerName(fleetName, job string) string { return "slurm/" + fleetName + "/" + job }

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
