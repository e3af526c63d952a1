package engines_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// maker is a simulation of one shard that leaves a structure.
type maker struct{ engines.Engine }

func (maker) Spec() engines.Spec { return engines.Spec{ID: "maker", Hardware: engines.HardwareCPU} }

func (maker) Plan(engines.Request) ([]engines.Shard, error) {
	return []engines.Shard{{Stage: "prepare", Name: "prepare"}, {Stage: "make", StageIndex: 1, Name: "make"}}, nil
}

func (maker) Depict(r engines.Request, plan []engines.Shard) (engines.Depiction, error) {
	if r.JobType != engines.JobTypePipeline {
		return engines.Depiction{}, errors.New("asked for a depiction of another type of job")
	}
	return engines.Depiction{
		Scene: engines.Scene{Format: "pdb", States: []engines.SceneState{{}},
			References: []engines.SceneReference{{URL: "path.dcd"}}},
		File:       engines.From{Stage: "make", Shard: plan[1].Name, Output: "made.pdb"},
		References: []engines.From{{Stage: "make", Shard: plan[1].Name, Output: "path.dcd"}},
	}, nil
}

// painter is a renderer of two stages, on devices.
type painter struct{ engines.Engine }

func (painter) Spec() engines.Spec {
	return engines.Spec{ID: "painter", Hardware: engines.HardwareCPU, GPU: true, JobTypes: []string{engines.JobTypeMolecular}}
}

func (painter) Plan(r engines.Request) ([]engines.Shard, error) {
	if r.JobType != engines.JobTypeMolecular || string(r.Params) != "{}" {
		return nil, errors.New("asked for a plan of another type of job")
	}
	return []engines.Shard{
		{Stage: "render", Name: "frames", Inputs: []engines.Input{{Name: "scene.pdb", Object: &r.SceneFile},
			{Name: "assets/00000", Object: &r.Found.Scene.References[0].Object}}},
		{Stage: "finish", StageIndex: 1, Name: "film", Inputs: []engines.Input{
			{Name: "segments", From: &engines.From{Stage: "render", Output: "segment.mp4"}}}},
	}, nil
}

func TestPipeline(t *testing.T) {
	t.Parallel()
	if _, ok := engines.NewPipeline(painter{}, painter{}); ok {
		t.Error("a simulation whose results cannot be drawn was taken")
	}
	pipeline, ok := engines.NewPipeline(maker{}, painter{})
	if spec := pipeline.Spec(); !ok || spec.ID != "maker" || !spec.GPU || !spec.Serves(engines.JobTypePipeline) ||
		spec.Serves(engines.JobTypeSimulation) {
		t.Fatalf("spec %+v", spec)
	}
	plan, err := pipeline.Plan(engines.Request{JobType: engines.JobTypePipeline, SceneFile: engines.Object{StorageKey: "a"},
		Params: json.RawMessage(`{"seed":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, shard := range plan {
		if want := []string{"", "", "painter", "painter"}[i]; shard.Engine != want || shard.StageIndex != i {
			t.Errorf("shard %s: engine %q, stage %d, want %q, %d", shard.Name, shard.Engine, shard.StageIndex, want, i)
		}
		for _, input := range shard.Inputs {
			if input.From == nil || input.Object != nil {
				t.Fatalf("input %s of %s is no output of an earlier shard", input.Name, shard.Name)
			}
			got = append(got, input.Name+" "+input.From.Shard+"/"+input.From.Output)
		}
	}
	want := []string{"scene.pdb make/made.pdb", "assets/00000 make/path.dcd", "segments /segment.mp4"}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("inputs %q, want %q", got, want)
	}
}

func TestPreparationStages(t *testing.T) {
	t.Parallel()
	shard := func(stage int, preparation bool) engines.Shard {
		return engines.Shard{StageIndex: stage, Preparation: preparation}
	}
	for _, c := range []struct {
		name string
		plan []engines.Shard
		want int
	}{
		{"none", []engines.Shard{shard(0, false), shard(1, false)}, 0},
		{"one", []engines.Shard{shard(0, true), shard(0, true), shard(1, false), shard(2, false)}, 1},
		{"two", []engines.Shard{shard(0, true), shard(1, true), shard(2, false)}, 2},
		{"one beside work", []engines.Shard{shard(0, true), shard(0, false), shard(1, false)}, 0},
		{"nothing else", []engines.Shard{shard(0, true)}, 0},
		{"one between work", []engines.Shard{shard(0, false), shard(1, true), shard(2, false)}, 0},
	} {
		if got := engines.PreparationStages(c.plan); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
