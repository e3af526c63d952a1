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

// engineFor finds the engine of a request: a simulation's by its simulator, a rendering's by its metadata, and of a pipeline both,
// as one. Errors: fault.UnsupportedSimulator; fault.Validation for a simulation without simulator.
func (s *Service) engineFor(jobType string, r SubmitRequest, p picture) (engines.Engine, error) {
	switch jobType {
	case engines.JobTypeSimulation:
		return s.simulator(jobType, r.Simulator)
	case engines.JobTypePipeline:
		return s.pipeline(r, p)
	case engines.JobTypeMolecular:
		return s.molecularRenderer(p)
	}
	name, member := p.software()
	if name == "" {
		name, member = defaultFrameRenderer, "jobType"
	}
	return s.renderer(jobType, name, member)
}

// molecularRenderer finds what draws molecules.
func (s *Service) molecularRenderer(p picture) (engines.Engine, error) {
	if p.RenderEngine == "" {
		return s.renderer(engines.JobTypeMolecular, defaultMolecularRenderer, "jobType")
	}
	return s.renderer(engines.JobTypeMolecular, p.RenderEngine, "metadata.renderEngine")
}

// pipeline joins the simulator and the renderer that a request names.
func (s *Service) pipeline(r SubmitRequest, p picture) (engines.Engine, error) {
	simulation, err := s.simulator(engines.JobTypePipeline, r.Simulator)
	if err != nil {
		return nil, err
	}
	renderer, err := s.molecularRenderer(p)
	if err != nil {
		return nil, err
	}
	chain, ok := engines.NewPipeline(simulation, renderer)
	if !ok {
		return nil, fault.New(fault.UnsupportedSimulator, "simulator: the results of %s cannot be drawn by a pipeline; submit it "+
			"as a simulation job", simulation.Spec().Title)
	}
	return chain, nil
}

func (s *Service) simulator(jobType, name string) (engines.Engine, error) {
	available := listed(s.deps.Engines.Serving(engines.JobTypeSimulation))
	if name == "" {
		return nil, fault.New(fault.Validation, "simulator: is required for %s jobs; one of: %s", jobType, available)
	}
	if engine, ok := s.deps.Engines.Lookup(name); ok && engine.Spec().Serves(engines.JobTypeSimulation) {
		return engine, nil
	}
	if sentence, ok := engines.Lookalike(name); ok {
		return nil, fault.New(fault.UnsupportedSimulator, "simulator: %s; this deployment runs: %s", sentence, available)
	}
	if known, ok := engines.KnownSimulator(name); ok {
		return nil, fault.New(fault.UnsupportedSimulator, "simulator: this deployment does not run %s; it runs: %s", known.Title,
			available)
	}
	if err := refuseMisspelt(name); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.UnsupportedSimulator, "simulator: there is no simulator of this name; this deployment runs: %s",
		available)
}

// refuseMisspelt says what a name that is near to a simulator's was meant to be. Errors: fault.UnsupportedSimulator.
func refuseMisspelt(name string) error {
	question := engines.DidYouMean(name)
	if question == "" {
		return nil
	}
	return fault.New(fault.UnsupportedSimulator, "simulator: %q is unknown; %s", name, question)
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
	available := listed(s.deps.Engines.Serving(jobType))
	if isKnown {
		return nil, fault.New(fault.UnsupportedSimulator, "%s: this deployment does not run %s jobs with %s; renderers for "+
			"them: %s", member, jobType, known.Title, available)
	}
	return nil, fault.New(fault.UnsupportedSimulator, "%s: there is no such renderer for %s jobs; renderers of this deployment "+
		"for them: %s", member, jobType, available)
}
