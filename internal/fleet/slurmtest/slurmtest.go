// Package slurmtest starts a Slurm cluster for a test: munged, slurmctld and a slurmd for each pretended node, all of them on
// loopback and below one directory. It needs Debian's slurm-wlm and munge, and root, as whom the jobs run. It holds no test.
package slurmtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	// patience bounds a program of Slurm's, which hangs while slurmctld is away.
	patience = 3 * time.Minute
	poll     = 50 * time.Millisecond
	// KillWait is what a job gets between the signal to end and SIGKILL.
	KillWait = 15 * time.Second

	install = "sudo apt-get install slurm-wlm munge"
)

// Node is a pretended machine.
type Node struct {
	Name     string
	CPUs     int
	MemoryMB int
	GPUs     int
}

// Cluster is a running Slurm.
type Cluster struct {
	serverstest.Daemons
	nodes []Node
	host  string
	ports []int // of slurmctld, then of the nodes
	ctld  *serverstest.Daemon
}

// Start starts a cluster with one partition, called work, of so many nodes, and waits until all of them are idle. The test's end
// cancels what runs and stops it.
func Start(t testing.TB, nodes ...Node) *Cluster {
	t.Helper()
	for _, program := range []string{"slurmctld", "slurmd", "munged", "mungekey", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			serverstest.Check(t, &servers.MissingError{Program: program, Install: install})
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: slurmd of a test runs as root")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Daemons: serverstest.Daemons{T: t, Dir: serverstest.Dir(t)}, nodes: nodes, host: strings.Split(host, ".")[0],
		ports: serverstest.FreePorts(t, len(nodes)+1)}
	c.Daemons.Env = c.Env()
	t.Cleanup(c.stop)
	c.write()
	c.startMunge()
	c.StartController()
	for _, node := range nodes {
		c.Daemons.Start("slurmd-"+node.Name, "slurmd", "-D", "-f", c.Conf(), "-N", node.Name)
	}
	c.Eventually("all nodes are idle", func() bool {
		out, err := c.Try("sinfo", "-h", "-N", "-o", "%N %t")
		return err == nil && strings.Count(out, " idle\n") == len(nodes)
	})
	return c
}

// Conf is the cluster's slurm.conf.
func (c *Cluster) Conf() string { return filepath.Join(c.Dir, "slurm.conf") }

// Env is what a client of the cluster needs in its environment.
func (c *Cluster) Env() []string { return []string{"SLURM_CONF=" + c.Conf()} }

// Run runs a program of Slurm's, such as scancel, and returns what it prints.
func (c *Cluster) Run(program string, args ...string) string {
	c.T.Helper()
	out, err := c.Try(program, args...)
	if err != nil {
		c.T.Fatalf("%s %s: %v", program, strings.Join(args, " "), err)
	}
	return out
}

// Try is Run for what may fail.
func (c *Cluster) Try(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), c.Env()...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, said.Bytes())
	}
	return string(out), err
}

// StopController ends slurmctld as an administrator does: it saves its state, clients hang and fail until it is started again,
// and jobs run on. One that is killed forgets the seconds since its last save.
func (c *Cluster) StopController() {
	c.T.Helper()
	if err := c.ctld.Stop(); err != nil {
		c.T.Fatal(err)
	}
}

// StartController starts slurmctld with the state that it has saved, if any, and waits until it answers.
func (c *Cluster) StartController() {
	c.T.Helper()
	c.ctld = c.Daemons.Start("slurmctld", "slurmctld", "-D", "-f", c.Conf())
	c.Eventually("slurmctld answers", func() bool {
		_, err := c.Try("scontrol", "ping")
		return err == nil
	})
}

// startMunge starts munged, by which the daemons know each other.
func (c *Cluster) startMunge() {
	c.T.Helper()
	munge := filepath.Join(c.Dir, "munge")
	if err := os.Mkdir(munge, 0o711); err != nil {
		c.T.Fatal(err)
	}
	key, socket := filepath.Join(munge, "key"), c.mungeSocket()
	c.Run("mungekey", "--create", "--keyfile="+key)
	c.Daemons.Start("munged", "munged", "--foreground", "--force", "--key-file="+key, "--socket="+socket,
		"--pid-file="+filepath.Join(munge, "pid"), "--seed-file="+filepath.Join(munge, "seed"),
		"--log-file="+filepath.Join(munge, "log"))
	c.Eventually("munged listens", func() bool {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "unix", socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

func (c *Cluster) mungeSocket() string { return filepath.Join(c.Dir, "munge", "socket") }

// stop cancels what runs, waits for its end, and stops the daemons.
func (c *Cluster) stop() {
	if c.ctld != nil {
		_, _ = c.Try("scancel", "--user=root")
		gone := func() bool {
			out, err := c.Try("squeue", "-h", "-o", "%i")
			return err != nil || out == ""
		}
		for end := time.Now().Add(2 * KillWait); time.Now().Before(end) && !gone(); <-time.After(poll) {
		}
	}
	c.Daemons.Stop()
}

// write writes the configuration. The values that are no defaults are so for a reason: jobs of an ordinary cluster share nodes by
// cores and memory; this machine is no cgroup tree of Slurm's; a pretended node has more cores than the machine.
func (c *Cluster) write() {
	c.T.Helper()
	conf := strings.Join([]string{"ClusterName=lab", "SlurmctldHost=" + c.host + "(127.0.0.1)",
		"SlurmctldPort=" + strconv.Itoa(c.ports[0]), "SlurmUser=root", "AuthType=auth/munge", "AuthInfo=socket=" + c.mungeSocket(),
		"StateSaveLocation=" + filepath.Join(c.Dir, "state"), "SlurmdSpoolDir=" + filepath.Join(c.Dir, "spool-%n"),
		"SlurmctldPidFile=" + filepath.Join(c.Dir, "slurmctld.pid"), "SlurmdPidFile=" + filepath.Join(c.Dir, "slurmd-%n.pid"),
		"ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none",
		"SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory", "SlurmdParameters=config_overrides",
		"MpiDefault=none", "SwitchType=switch/none", "GresTypes=gpu", "ReturnToService=2", "SlurmctldTimeout=5",
		"SlurmdTimeout=120", "MessageTimeout=10",
		"SchedulerParameters=bf_interval=2,sched_interval=2", fmt.Sprintf("KillWait=%d", int(KillWait.Seconds())), ""}, "\n")
	gres := ""
	for i, node := range c.nodes {
		conf += fmt.Sprintf("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d RealMemory=%d", node.Name, c.host,
			c.ports[i+1], node.CPUs, node.MemoryMB)
		if node.GPUs > 0 {
			conf += fmt.Sprintf(" Gres=gpu:fake:%d", node.GPUs)
			gres += fmt.Sprintf("NodeName=%s Name=gpu Type=fake File=%s-[0-%d]\n", node.Name, c.device(node), node.GPUs-1)
			c.makeDevices(node)
		}
		conf += "\n"
	}
	conf += "PartitionName=work Nodes=ALL Default=YES MaxTime=60 State=UP\n"
	for name, text := range map[string]string{"slurm.conf": conf, "gres.conf": gres,
		"cgroup.conf": "CgroupPlugin=cgroup/v1\n"} { // none is used; the other value that this version knows fails on new kernels
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o644); err != nil {
			c.T.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(c.Dir, "state"), 0o700); err != nil {
		c.T.Fatal(err)
	}
}

func (c *Cluster) device(node Node) string { return filepath.Join(c.Dir, "gpu-"+node.Name) }

// makeDevices makes the device files of pretended GPUs: with plain files Slurm hands none out.
func (c *Cluster) makeDevices(node Node) {
	c.T.Helper()
	for i := range node.GPUs {
		const null = 1<<8 | 3 // major and minor number of /dev/null
		if err := syscall.Mknod(fmt.Sprintf("%s-%d", c.device(node), i), syscall.S_IFCHR|0o666, null); err != nil {
			c.T.Fatal(err)
		}
	}
}
