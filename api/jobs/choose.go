package jobs

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
)

// The renderers of a job that names none: raster images of molecules, ray-traced frames of scenes.
const (
	defaultMolecularRenderer = "molstar"
	defaultFrameRenderer     = "cycles"
)

// engineFor finds the engine of a request: a simulation's by its simulator, a rendering's by its metadata. Errors:
// fault.UnsupportedSimulator; fault.Validation for a simulation without simulator.
func (s *Service) engineFor(jobType string, r SubmitRequest, p picture) (engines.Engine, error) {
	switch jobType {
	case engines.JobTypeSimulation:
		return s.simulator(r.Simulator)
	case engines.JobTypeMolecular:
		if p.RenderEngine == "" {
			return s.renderer(jobType, defaultMolecularRenderer, "jobType")
		}
		return s.renderer(jobType, p.RenderEngine, "metadata.renderEngine")
	case engines.JobTypeRender:
		name, member := p.software()
		if name == "" {
			return s.renderer(jobType, defaultFrameRenderer, "jobType")
		}
		return s.renderer(jobType, name, member)
	}
	// A pipeline names its simulator and its renderer; one engine runs the chain.
	if ids := s.deps.Engines.Serving(jobType); len(ids) > 0 {
		engine, _ := s.deps.Engines.Lookup(ids[0])
		return engine, nil
	}
	return nil, fault.New(fault.UnsupportedSimulator, "jobType: no engine of this deployment serves %s jobs", jobType)
}

func (s *Service) simulator(name string) (engines.Engine, error) {
	available := list(s.deps.Engines.Serving(engines.JobTypeSimulation))
	if name == "" {
		return nil, fault.New(fault.Validation, "simulator: is required for simulation jobs; one of: %s", available)
	}
	if engine, ok := s.deps.Engines.Lookup(name); ok && engine.Spec().Serves(engines.JobTypeSimulation) {
		return engine, nil
	}
	if sentence, ok := engines.Lookalike(name); ok {
		return nil, fault.New(fault.UnsupportedSimulator, "simulator: %s; this deployment runs: %s", sentence, available)
	}
	if known, ok := engines.KnownSimulator(name); ok {
		return nil, fault.New(fault.UnsupportedSimulator, "simulator: this deployment does not run %s; it runs: %s", known.Title, available)
	}
	return nil, fault.New(fault.UnsupportedSimulator, "simulator: there is no simulator of this name; this deployment runs: %s", available)
}

// renderer finds the engine that draws with a renderer. member is the place that asks for it.
func (s *Service) renderer(jobType, name, member string) (engines.Engine, error) {
	known, isKnown := engines.KnownRenderer(name)
	if isKnown {
		name = known.ID
	}
	if engine, ok := s.deps.Engines.Lookup(name); ok && engine.Spec().Serves(jobType) {
		return engine, nil
	}
	available := list(s.deps.Engines.Serving(jobType))
	if isKnown {
		return nil, fault.New(fault.UnsupportedSimulator, "%s: this deployment does not run %s jobs with %s; renderers for them: %s", member, jobType, known.Title, available)
	}
	return nil, fault.New(fault.UnsupportedSimulator, "%s: there is no such renderer for %s jobs; renderers of this deployment for them: %s", member, jobType, available)
}
