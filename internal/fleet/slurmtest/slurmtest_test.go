package slurmtest

import (
	"strings"
	"testing"
)

// TestCluster: a job of a user runs, with the devices that it asked for, and slurmctld comes back with its state.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := Start(t, Node{Name: "n1", CPUs: 4, MemoryMB: 4000}, Node{Name: "g1", CPUs: 2, MemoryMB: 2000, GPUs: 2})
	file := c.Dir + "/said"
	c.Run("sbatch", "--gres=gpu:1", "--mem=100M", "--output="+file, "--wrap=env")
	c.StopController()
	c.StartController()
	c.Eventually("the job has ended", func() bool {
		out, err := c.Try("squeue", "-h", "-o", "%i")
		return err == nil && out == ""
	})
	said := c.Run("cat", file)
	if !strings.Contains(said, "SLURM_JOB_GPUS=0\n") {
		t.Errorf("the job was given no device:\n%s", said)
	}
}
