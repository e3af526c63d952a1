package jobs

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/frames"
)

func TestCheckMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, place string }{
		{`{"jobType":"render","frameStart":1,"frameEnd":2,"frameStep":1,"outputFormat":"PNG"}`, ""},
		{`{"jobType":"simulation","simulator":"vina","taskCount":1}`, ""},
		{`{"jobType":"pipeline","simulator":"vina","taskCount":1,"frameStart":1,"frameEnd":2,"outputFormat":"EXR"}`, ""},
		{`{"jobType":"molecular","simulationParams":{"seed":1},"dockingRequest":{"requestId":"r","runId":"r","idempotencyKey":"12345678"}}`, ""},
		{`{"simulator":"vina"}`, "simulator"},
		{`{"taskCount":1}`, "taskCount"},
		{`{"jobType":"simulation","frameStart":0}`, "frameStart"},
		{`{"jobType":"simulation","frameEnd":0}`, "frameEnd"},
		{`{"jobType":"simulation","frameStep":1}`, "frameStep"},
		{`{"jobType":"molecular","outputFormat":"PNG"}`, "outputFormat"},
		{`{"jobType":"molecular","simulator":"vina"}`, "simulator"},
	} {
		err := checkMembers(request(t, c.body))
		if c.place == "" {
			if err != nil {
				t.Errorf("%s: got %v, want accepted", c.body, err)
			}
			continue
		}
		wantFault(t, c.body, err, fault.Validation, c.place+": ")
	}
}

func TestFramesOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want, place string }{
		{`{}`, "", ""},
		{`{"frameStep":1}`, "", ""},
		{`{"frameStart":1,"frameEnd":100,"frameStep":10}`, "1-91:10", ""},
		{`{"frameStart":-5,"frameEnd":5}`, "-5-5", ""},
		{`{"frameStart":7,"frameEnd":7}`, "7", ""},
		{`{"frameStart":1,"frameEnd":3,"frameStep":9223372036854775807}`, "1", ""},
		{`{"parameters":{"Frames":"1-100:10"}}`, "1-91:10", ""},
		{`{"parameters":{"FrameRange":"1,3,5-9","other":"x"}}`, "1-5:2,6-9", ""},
		{`{"parameters":{"Frames":"1-10","FrameRange":"6-10,1-5"},"frameStart":1,"frameEnd":10}`, "1-10", ""},
		{`{"parameters":{"frames":"nonsense"}}`, "", ""},
		{`{"frameStart":1,"frameEnd":100000}`, "1-100000", ""},
		{`{"frameStart":1,"frameEnd":100001}`, "", "frameEnd"},
		{`{"frameStart":5,"frameEnd":4}`, "", "frameEnd"},
		{`{"frameStart":5}`, "", "frameEnd"},
		{`{"frameEnd":5}`, "", "frameStart"},
		{`{"frameStart":-9223372036854775808,"frameEnd":5}`, "", "frameStart"},
		{`{"frameStart":1,"frameEnd":9223372036854775807}`, "", "frameEnd"},
		{`{"frameStep":2}`, "", "frameStep"},
		{`{"frameStep":2,"parameters":{"Frames":"1-10"}}`, "", "frameStep"},
		{`{"parameters":{"Frames":""}}`, "", "parameters.Frames"},
		{`{"parameters":{"FrameRange":"1-"}}`, "", "parameters.FrameRange"},
		{`{"parameters":{"Frames":"1-10:1,5"}}`, "", "parameters.Frames"},
		{`{"parameters":{"Frames":"0-100000"}}`, "", "parameters.Frames"},
		{`{"parameters":{"Frames":"1-10","FrameRange":"1-9"}}`, "", "parameters.FrameRange"},
		{`{"parameters":{"Frames":"1-10"},"frameStart":1,"frameEnd":9}`, "", "parameters.Frames"},
	} {
		got, given, err := framesOf(request(t, c.body))
		switch {
		case c.place != "":
			wantFault(t, c.body, err, fault.Validation, c.place+": ")
		case err != nil || given != (c.want != "") || frames.Format(got) != c.want:
			t.Errorf("%s: got %s, %v, %v; want %s", c.body, frames.Format(got), given, err, c.want)
		}
	}
}

func TestPicture(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ metadata, place string }{
		{``, ""},
		{`{"Resolution":"x","FPS":"x","own":null}`, ""},
		{`{"resolution":"16x8192","fps":0.5,"samples":1.0}`, ""},
		{`{"resolution":"8192x16","fps":240,"samples":16777216}`, ""},
		{`{"resolution":"15x100"}`, "metadata.resolution"},
		{`{"resolution":"100x8193"}`, "metadata.resolution"},
		{`{"resolution":"99999999999999999999x100"}`, "metadata.resolution"},
		{`{"fps":0}`, "metadata.fps"},
		{`{"fps":240.5}`, "metadata.fps"},
		{`{"samples":0}`, "metadata.samples"},
		{`{"samples":16777217}`, "metadata.samples"},
		{`{"software":7}`, "metadata.software"},
	} {
		p, err := pictureOf(Metadata(c.metadata))
		if err == nil {
			err = p.check()
		}
		if c.place == "" {
			if err != nil {
				t.Errorf("%s: got %v, want accepted", c.metadata, err)
			}
			continue
		}
		wantFault(t, c.metadata, err, fault.Validation, c.place+": ")
	}
}

// plain is an engine with nothing beside what every engine has.
type plain struct{ engines.Engine }

func TestChooseAnEngine(t *testing.T) {
	t.Parallel()
	all := recorders()
	whole := &Service{deps: Deps{Engines: registryOf(listOf(all)...)}}
	few := &Service{deps: Deps{Engines: registryOf(all["autodock-vina"], all["molstar"])}}
	for _, c := range []struct {
		name              string
		s                 *Service
		body              string
		want, code, place string
	}{
		{"id", whole, `{"jobType":"simulation","simulator":"wavewatch3"}`, "wavewatch3", "", ""},
		{"aliases", whole, `{"jobType":"simulation","simulator":"Wave Watch_III"}`, "wavewatch3", "", ""},
		{"none", few, `{"jobType":"simulation"}`, "", "VALIDATION_ERROR", "simulator: is required"},
		{"unknown", whole, `{"jobType":"simulation","simulator":"gromacs"}`, "", "UNSUPPORTED_SIMULATOR",
			"no simulator of this name"},
		{"known, not here", few, `{"jobType":"simulation","simulator":"ncbi blastp"}`, "", "UNSUPPORTED_SIMULATOR",
			"does not run NCBI BLAST+ blastp"},
		{"ambiguous", whole, `{"jobType":"simulation","simulator":"BLAST"}`, "", "UNSUPPORTED_SIMULATOR", "say blastp"},
		{"other science", whole, `{"jobType":"simulation","simulator":"smina"}`, "", "UNSUPPORTED_SIMULATOR", "say autodock-vina"},
		{"other model", whole, `{"jobType":"simulation","simulator":"AlphaFold-3"}`, "", "UNSUPPORTED_SIMULATOR",
			"alphafold, which is AlphaFold 2"},
		{"a renderer", whole, `{"jobType":"simulation","simulator":"cycles"}`, "", "UNSUPPORTED_SIMULATOR",
			"no simulator of this name"},
		{"molecular", whole, `{"jobType":"molecular"}`, "molstar", "", ""},
		{"ray-traced", whole, `{"jobType":"molecular","metadata":{"renderEngine":"cycles"}}`, "cycles", "", ""},
		{"ray-traced, not here", few, `{"jobType":"molecular","metadata":{"renderEngine":"cycles"}}`, "", "UNSUPPORTED_SIMULATOR",
			"metadata.renderEngine: this deployment does not run molecular jobs with Blender Cycles"},
		{"render by default", whole, `{}`, "cycles", "", ""},
		{"render, not here", few, `{}`, "", "UNSUPPORTED_SIMULATOR", "jobType: this deployment does not run render jobs"},
		{"host", whole, `{"jobType":"render","metadata":{"software":"Blender"}}`, "cycles", "", ""},
		{"renderer", whole, `{"jobType":"render","metadata":{"renderer":"CYCLES"}}`, "cycles", "", ""},
		{"host before renderer", whole, `{"jobType":"render","metadata":{"software":"Maya","renderer":"cycles"}}`, "",
			"UNSUPPORTED_SIMULATOR", "metadata.software: there is no such renderer"},
		{"raster frames", whole, `{"jobType":"render","metadata":{"renderer":"molstar"}}`, "", "UNSUPPORTED_SIMULATOR",
			"metadata.renderer: this deployment does not run render jobs with Mol*"},
		{"pipeline", whole, `{"jobType":"pipeline","simulator":"vina"}`, "autodock-vina", "", ""},
		{"pipeline of nothing", whole, `{"jobType":"pipeline"}`, "", "VALIDATION_ERROR",
			"simulator: is required for pipeline jobs"},
		{"pipeline, renderer not here", few, `{"jobType":"pipeline","simulator":"vina","metadata":{"renderEngine":"cycles"}}`, "",
			"UNSUPPORTED_SIMULATOR", "metadata.renderEngine"},
		{"pipeline of what cannot be drawn", &Service{deps: Deps{Engines: registryOf(plain{all["fpocket"]}, all["molstar"])}},
			`{"jobType":"pipeline","simulator":"fpocket"}`, "", "UNSUPPORTED_SIMULATOR", "cannot be drawn"},
	} {
		engine, work, err := c.s.understand(request(t, c.body))
		if c.code != "" {
			wantFault(t, c.name, err, fault.Code(c.code), c.place)
			continue
		}
		if err != nil || engine.Spec().ID != c.want || !strings.Contains(c.body+`"jobType":"render"`,
			`"jobType":"`+work.JobType+`"`) {
			t.Errorf("%s: got %v, %v; want %s", c.name, engine, err, c.want)
		}
	}
}
