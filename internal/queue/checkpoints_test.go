package queue_test

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/queue"
)

func TestCheckpointNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"checkpoint/ligand-00012.json":           true,
		"checkpoint/frames/0001.exr":             true,
		"checkpoint/_a":                          true,
		"checkpoint/" + strings.Repeat("a", 189): true,
		"checkpoint/" + strings.Repeat("a", 190): false,
		"":                                       false,
		"checkpoint":                             false,
		"checkpoint/":                            false,
		"checkpoint/a/":                          false,
		"checkpoint//a":                          false,
		"checkpoint/./a":                         false,
		"checkpoint/../a":                        false,
		"checkpoint/a/../../../etc/passwd":       false,
		"/checkpoint/a":                          false,
		"checkpoint/.hidden":                     false,
		"checkpoint/-rf":                         false,
		"checkpoint/a b":                         false,
		"checkpoint/a\n":                         false,
		"checkpoint/a\x00":                       false,
		"checkpoint/a\\b":                        false,
		"checkpoint/\u00e9":                      false,
		"checkpoints/a":                          false,
		"pose.pdbqt":                             false,
	} {
		if got := queue.ValidCheckpointName(name); got != want {
			t.Errorf("ValidCheckpointName(%q) = %v, want %v", name, got, want)
		}
	}
	if got := queue.ResumeName("checkpoint/frames/0001.exr"); got != "resume/frames/0001.exr" ||
		queue.ResumedCheckpoint(got) != "checkpoint/frames/0001.exr" {
		t.Errorf("ResumeName gives %q, which stands for %q", got, queue.ResumedCheckpoint(got))
	}
}

func TestAPreviewIsNoFinishedWork(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"checkpoint/preview.jpg":       false,
		"resume/preview.jpg":           false,
		"checkpoint/deep/preview.jpg":  false,
		"checkpoint/frame_0001.png":    true,
		"checkpoint/preview.jpg.state": true,
		"checkpoint/state":             true,
	} {
		if got := queue.KeepsWork(name); got != want {
			t.Errorf("KeepsWork(%q) = %v, want %v", name, got, want)
		}
	}
}
