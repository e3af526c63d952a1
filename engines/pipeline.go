package engines

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Depicter is an Engine whose results can be drawn: what a pipeline needs of its simulation.
type Depicter interface {
	// Depict says what a renderer draws of the results of a plan that Plan has made of the request, whose JobType is
	// JobTypePipeline. Results that cannot be drawn give an *InvalidError.
	Depict(Request, []Shard) (Depiction, error)
}

// Depiction is a scene whose files the shards of a plan will leave.
type Depiction struct {
	Scene      Scene  // its References name no objects yet
	File       From   // the scene file
	References []From // one for each of Scene.References
}

// Pipeline is a simulation and frames of what it has found, as one plan: the renderer's stages follow the simulation's. It has the
// simulation's id, for the job is one of its; each shard of the renderer says whose it is. Only Spec and Plan are to be called:
// what runs a shard is the engine that it names.
type Pipeline struct {
	Engine // the simulation
	depict Depicter
	render Engine
}

// NewPipeline joins a simulation and a renderer. ok is false for a simulation whose results cannot be drawn.
func NewPipeline(simulation, renderer Engine) (p Pipeline, ok bool) {
	depict, ok := simulation.(Depicter)
	return Pipeline{Engine: simulation, depict: depict, render: renderer}, ok
}

// Spec is the simulation's, for pipeline jobs.
func (p Pipeline) Spec() Spec {
	spec := p.Engine.Spec()
	spec.JobTypes = []string{JobTypePipeline}
	spec.GPU = spec.GPU || p.render.Spec().GPU
	return spec
}

// Foretell is what the simulation tells.
func (p Pipeline) Foretell(r Request) (json.RawMessage, error) {
	if simulation, ok := p.Engine.(Forecaster); ok {
		return simulation.Foretell(r)
	}
	return nil, nil
}

// Wants is what the simulation wants: what is drawn is still to be made.
func (p Pipeline) Wants(r Request) (Wants, error) {
	if simulation, ok := p.Engine.(Wanter); ok {
		return simulation.Wants(r)
	}
	return Wants{}, nil
}

// Plan is the simulation's plan and then the renderer's. The renderer plans a molecular job from stand-ins for files that are still
// to be made; what it does with them is then read from the shards that make them.
func (p Pipeline) Plan(r Request) ([]Shard, error) {
	plan, err := p.Engine.Plan(r)
	if err != nil {
		return nil, err
	}
	depiction, err := p.depict.Depict(r, plan)
	if err != nil {
		return nil, err
	}
	if len(depiction.References) != len(depiction.Scene.References) {
		return nil, fmt.Errorf("%s depicts a scene of %d references by %d files", p.Engine.Spec().ID,
			len(depiction.Scene.References), len(depiction.References))
	}
	made := map[string]From{}
	standIn := func(from From) Object {
		key := "pipeline/" + strconv.Itoa(len(made))
		made[key] = from
		return Object{StorageKey: key}
	}
	scene := depiction.Scene
	drawn := r
	drawn.JobType, drawn.SceneFile, drawn.Attachments, drawn.Params = JobTypeMolecular, standIn(depiction.File), nil, []byte(`{}`)
	scene.References = append([]SceneReference(nil), scene.References...)
	for i := range scene.References {
		scene.References[i].Object = standIn(depiction.References[i])
	}
	drawn.Found = Found{Scene: &scene}
	frames, err := p.render.Plan(drawn)
	if err != nil {
		return nil, err
	}
	last := plan[len(plan)-1].StageIndex
	for _, shard := range frames {
		shard.StageIndex += last + 1
		shard.Engine = p.render.Spec().ID
		shard.Inputs = fromMade(shard.Inputs, made)
		plan = append(plan, shard)
	}
	return plan, nil
}

// fromMade puts the shards that make them in the place of the stand-ins.
func fromMade(inputs []Input, made map[string]From) []Input {
	replaced := make([]Input, len(inputs))
	for i, input := range inputs {
		if input.Object != nil {
			if from, ok := made[input.Object.StorageKey]; ok {
				input = Input{Name: input.Name, From: &from}
			}
		}
		replaced[i] = input
	}
	return replaced
}
