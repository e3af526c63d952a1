package scheduler

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

// ended builds a task that has ended. end is "ok", "cancelled" or a failure class; sources are "stage" or "stage/shard".
func ended(stage, name string, end string, sources ...string) EndedTask {
	task := EndedTask{Stage: stage, StageIndex: slices.Index([]string{"prepare", "dock", "rank"}, stage), Name: name,
		Status: job.TaskFailed, Class: engines.FailureClass(end)}
	switch end {
	case "ok":
		task.Status, task.Class = job.TaskSucceeded, ""
	case "cancelled":
		task.Status, task.Class = job.TaskCancelled, ""
	}
	for _, source := range sources {
		from, shard, _ := strings.Cut(source, "/")
		task.Sources = append(task.Sources, engines.From{Stage: from, Shard: shard, Output: "out"})
	}
	task.Essential = stage != "dock"
	return task
}

// docking is a receptor and two ligands to prepare, three searches that read one each, and a ranking of all.
func docking(receptor, ligandA, ligandB, dockA, dockB, dockAlone, rank string) []EndedTask {
	all := []EndedTask{
		ended("prepare", "receptor", receptor), ended("prepare", "ligand-a", ligandA), ended("prepare", "ligand-b", ligandB),
		ended("dock", "dock-a", dockA, "prepare/receptor", "prepare/ligand-a"),
		ended("dock", "dock-b", dockB, "prepare/receptor", "prepare/ligand-b"),
		ended("dock", "dock-alone", dockAlone, "prepare/receptor"), ended("rank", "rank", rank, "dock"),
	}
	all[1].Essential, all[2].Essential = false, false
	return all
}

func TestTasksToRetry(t *testing.T) {
	t.Parallel()
	const user, program, lost = "USER_INPUT", "EXECUTOR", "SYSTEM"
	tests := []struct {
		name  string
		all   []EndedTask
		scope RetryScope
		want  string // names, or a part of the refusal after "!"
	}{
		{"a search and what ranks it", docking("ok", "ok", "ok", "ok", program, "ok", "ok"), RetryFailed, "dock-b rank"},
		{"a preparation and all that follows from it", docking("ok", program, "ok", program, "ok", "ok", "ok"), RetryFailed,
			"ligand-a dock-a rank"},
		{"what a named input made is renewed though it had succeeded", docking("ok", lost, "ok", "ok", "ok", "ok", "ok"),
			RetryFailed, "ligand-a dock-a rank"},
		{"an essential failure and what it cancelled", docking(lost, "ok", "ok", "cancelled", "cancelled", "cancelled",
			"cancelled"), RetryFailed, "receptor dock-a dock-b dock-alone rank"},
		{"the last stage alone", docking("ok", "ok", "ok", "ok", "ok", "ok", program), RetryFailed, "rank"},
		{"a cancelled job", docking("ok", "ok", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled"), RetryFailed,
			"ligand-b dock-a dock-b dock-alone rank"},
		{"a bad ligand stays failed", docking("ok", "ok", user, program, user, "ok", "ok"), RetryFailed, "dock-a rank"},
		{"a bad ligand stays failed when all run again", docking("ok", "ok", user, program, user, "ok", "ok"), RetryAll,
			"receptor ligand-a dock-a dock-alone rank"},
		{"a refused input that is made anew", docking("ok", program, "ok", user, "ok", "ok", "ok"), RetryFailed,
			"ligand-a dock-a rank"},
		{"all of a job that succeeded", docking("ok", "ok", "ok", "ok", "ok", "ok", "ok"), RetryAll,
			"receptor ligand-a ligand-b dock-a dock-b dock-alone rank"},
		{"nothing failed", docking("ok", "ok", "ok", "ok", "ok", "ok", "ok"), RetryFailed, "!scope: no task of the job failed"},
		{"nothing but a bad ligand failed", docking("ok", "ok", user, "ok", user, "ok", "ok"), RetryFailed,
			"!job: its task ligand-b failed for what it was given"},
		{"a bad receptor", docking(user, "ok", "ok", "cancelled", "cancelled", "cancelled", "cancelled"), RetryFailed,
			"!job: its task receptor failed"},
		{"a bad receptor, all", docking(user, "ok", "ok", "cancelled", "cancelled", "cancelled", "cancelled"), RetryAll,
			"!job: its task receptor failed"},
		{"every search refused", docking("ok", "ok", "ok", user, user, user, "cancelled"), RetryFailed,
			"!job: its task dock-a failed"},
		{"every search refused, all", docking("ok", "ok", "ok", user, user, user, "cancelled"), RetryAll,
			"!job: its task dock-a failed"},
		{"every search refused but one", docking("ok", "ok", "ok", user, user, program, "cancelled"), RetryFailed,
			"dock-alone rank"},
		{"a refused ranking of old results", docking("ok", "ok", "ok", "ok", "ok", "ok", user), RetryAll,
			"!job: its task rank failed"},
		{"a refused ranking of new results", docking("ok", "ok", "ok", "ok", program, "ok", user), RetryFailed, "dock-b rank"},
	}
	for _, test := range tests {
		tasks, err := tasksToRetry(test.all, test.scope)
		var names []string
		for _, task := range tasks {
			names = append(names, task.Name)
		}
		got := strings.Join(names, " ")
		if refusal, refused := strings.CutPrefix(test.want, "!"); refused {
			if !fault.Is(err, fault.JobNotRetryable) || !strings.Contains(err.Error(), refusal) {
				t.Errorf("%s, %s: got %q, %v, want a refusal: %s", test.name, test.scope, got, err, refusal)
			}
		} else if err != nil || got != test.want {
			t.Errorf("%s, %s: got %q, %v, want %q", test.name, test.scope, got, err, test.want)
		}
	}
}

// Whatever a plan looks like and however its tasks ended: with scope failed exactly those run again that did not succeed, unless
// their user is to blame, and those that read what runs again; with scope all every other one does too that was not refused.
func TestChosenTasksAreClosed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []EndedTask
		stages := []string{"prepare", "dock", "rank"}
		for index, stage := range stages {
			for range rapid.IntRange(1, 4).Draw(t, "shards") {
				end := rapid.SampledFrom([]string{"ok", "ok", "cancelled", "USER_INPUT", "EXECUTOR", "SYSTEM"}).Draw(t, "end")
				var sources []string
				for i := range all {
					if all[i].StageIndex < index && rapid.IntRange(0, 3).Draw(t, "reads it") == 0 {
						sources = append(sources, all[i].Stage+"/"+all[i].Name)
					}
				}
				if index > 0 && rapid.IntRange(0, 3).Draw(t, "reads a stage") == 0 {
					sources = append(sources, rapid.SampledFrom(stages[:index]).Draw(t, "stage"))
				}
				all = append(all, ended(stage, string(rune('a'+len(all))), end, sources...))
			}
		}
		failed, every := chosen(all, RetryFailed), chosen(all, RetryAll)
		for i, task := range all {
			readsNew := false
			for _, from := range task.Sources {
				for k, producer := range all {
					readsNew = readsNew || failed[k] && producer.Stage == from.Stage &&
						(from.Shard == "" || from.Shard == producer.Name)
				}
			}
			refused := task.Status == job.TaskFailed && task.Class == engines.UserInput
			if want := readsNew || task.Status != job.TaskSucceeded && !refused; failed[i] != want {
				t.Errorf("task %s, %s, reads new %v: runs again %v", task.Name, task.Status, readsNew, failed[i])
			}
			if want := failed[i] || !refused; every[i] != want {
				t.Errorf("task %s, %s: runs again with all: %v, want %v", task.Name, task.Status, every[i], want)
			}
		}
	})
}
