package scheduler

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

func TestCheckCheckpoint(t *testing.T) {
	t.Parallel()
	task := TaskRow{ID: "task_1", JobID: "job_1", AccountID: "acct_1", Attempt: 2}
	const prefix = "accounts/acct_1/jobs/job_1/task_1/2/"
	good := queue.StoredArtifact{Artifact: engines.Artifact{Name: "checkpoint/frames/1"},
		Object: engines.Object{StorageKey: prefix + "checkpoint/000001/frames/1", SHA256: strings.Repeat("0f", 32), ByteSize: 0}}
	if err := checkCheckpoint(task, good); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	for name, spoil := range map[string]func(*queue.StoredArtifact){
		"another attempt's":  func(f *queue.StoredArtifact) { f.StorageKey = "accounts/acct_1/jobs/job_1/task_1/1/checkpoint/1" },
		"another account's":  func(f *queue.StoredArtifact) { f.StorageKey = "accounts/acct_2/file" },
		"the prefix itself":  func(f *queue.StoredArtifact) { f.StorageKey = prefix },
		"a way out":          func(f *queue.StoredArtifact) { f.StorageKey = prefix + "../1/checkpoint" },
		"a NUL in the key":   func(f *queue.StoredArtifact) { f.StorageKey += "\x00" },
		"no checkpoint":      func(f *queue.StoredArtifact) { f.Name = "pose" },
		"a NUL in the name":  func(f *queue.StoredArtifact) { f.Name += "\x00" },
		"a path as its name": func(f *queue.StoredArtifact) { f.Name = "checkpoint/../../in/receptor" },
		"no digest":          func(f *queue.StoredArtifact) { f.SHA256 = "" },
		"half a digest":      func(f *queue.StoredArtifact) { f.SHA256 = f.SHA256[1:] },
		"less than nothing":  func(f *queue.StoredArtifact) { f.ByteSize = -1 },
	} {
		file := good
		spoil(&file)
		if checkCheckpoint(task, file) == nil {
			t.Errorf("%s: no error for %+v", name, file)
		}
	}
}

func TestStartOver(t *testing.T) {
	t.Parallel()
	const program, lost = "EXECUTOR", "SYSTEM"
	tests := []struct {
		name  string
		all   []EndedTask
		scope RetryScope
		want  string
	}{
		{"a search goes on, its ranking does not", docking("ok", "ok", "ok", "ok", program, "ok", program), RetryFailed, "rank"},
		{"the last stage alone goes on", docking("ok", "ok", "ok", "ok", "ok", "ok", program), RetryFailed, ""},
		{"a preparation goes on, what reads it does not", docking("ok", lost, "ok", program, program, "ok", "ok"), RetryFailed,
			"dock-a rank"},
		{"nothing goes on when all run again", docking("ok", "ok", "ok", "ok", "ok", "ok", "ok"), RetryAll,
			"receptor ligand-a ligand-b dock-a dock-b dock-alone rank"},
	}
	for _, test := range tests {
		for i := range test.all {
			test.all[i].ID = test.all[i].Name
		}
		tasks, err := tasksToRetry(test.all, test.scope)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(startOver(tasks, test.scope), " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
