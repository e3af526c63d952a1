package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/molstar"
	"github.com/molfabric/molfabric/engines/render/film"
)

var (
	//go:embed frames_scene.py
	sceneProgram []byte
	//go:embed frames_bare.py
	blenderProgram []byte
)

const (
	turntableSize = "1280x720"
	// maxBlenderDifference allows for the order in which Blender's threads add up; a frame of its neighbour's place is off by tens.
	maxBlenderDifference = 0.5
)

// newTurntable is B11 with Mol*: once round the receptor that the screening docks into.
func newTurntable(_ context.Context, o Options, folder string) (*filming, error) {
	format := strings.TrimPrefix(filepath.Ext(o.Target.Path), ".")
	request := turntableRequest(o.Frames)
	command, err := bareTurntable(request, format, o.Slots)
	if err != nil {
		return nil, err
	}
	structure, err := os.ReadFile(o.Target.Path)
	if err != nil {
		return nil, err
	}
	command.Files["in/scene."+format] = structure
	if err := place(folder, command.Files); err != nil {
		return nil, err
	}
	f := &filming{
		scene: o.Target.Path, request: request, peer: fmt.Sprintf("one process that draws all frames with the same page, %d "+
			"threads", o.Slots),
		workload: fmt.Sprintf("turntable of %d frames of %s, %s, Mol*, %d cores; from the submission to the job's end", o.Frames,
			filepath.Base(o.Target.Path), turntableSize, o.Slots),
		bare: bareRenderer{folder: folder, argv: append([]string{o.Python}, command.Argv[1:]...), pictures: "out"},
	}
	for _, name := range slices.Sorted(maps.Keys(command.Env)) {
		f.bare.env = append(f.bare.env, name+"="+command.Env[name])
	}
	return f, nil
}

func turntableRequest(frames int) map[string]any {
	return filmRequest(engines.JobTypeMolecular, map[string]string{"Animation": "turntable",
		"TurntableFrames": strconv.Itoa(frames)},
		map[string]any{"metadata": map[string]any{"renderEngine": molstar.ID, "resolution": turntableSize}})
}

// bareTurntable is the drawing program as it runs without a fabric: what the engine plans for the job, but with all frames and
// cores in one process, and nothing for a contact sheet.
func bareTurntable(request map[string]any, format string, threads int) (engines.Command, error) {
	metadata, err := json.Marshal(request["metadata"])
	if err != nil {
		return engines.Command{}, err
	}
	parameters, _ := request["parameters"].(map[string]string)
	engine := molstar.New()
	plan, err := engine.Plan(engines.Request{
		JobID: "bench", JobType: engines.JobTypeMolecular, SceneFile: engines.Object{StorageKey: "scene"},
		Params: json.RawMessage(`{}`), Metadata: metadata, Parameters: parameters,
		Found: engines.Found{Scene: &engines.Scene{Format: format, States: []engines.SceneState{{}}}},
	})
	if err != nil {
		return engines.Command{}, err
	}
	shard := plan[0]
	var params map[string]any
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return engines.Command{}, err
	}
	var frames []int64
	for _, planned := range plan {
		var part struct {
			Frames []int64 `json:"frames"`
		}
		if err := json.Unmarshal(planned.Params, &part); err != nil {
			return engines.Command{}, err
		}
		frames = append(frames, part.Frames...)
	}
	params["frames"], params["threads"], params["film"] = frames, threads, film.Making{Sheet: []int64{}}
	if shard.Params, err = json.Marshal(params); err != nil {
		return engines.Command{}, err
	}
	return engine.Command(shard, "")
}

// newOrbit is B11 with Cycles: a scene that is made here, round which its camera goes.
func newOrbit(ctx context.Context, o Options, folder string) (*filming, error) {
	if err := place(folder, map[string][]byte{"scene.py": sceneProgram, "bare.py": blenderProgram}); err != nil {
		return nil, err
	}
	scene := filepath.Join(folder, "scene.blend")
	making := exec.CommandContext(ctx, o.Python, filepath.Join(folder, "scene.py"), scene, strconv.Itoa(o.Frames))
	if said, err := making.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make the scene: %w: %s", err, said[max(0, len(said)-500):])
	}
	return &filming{
		scene: scene, peer: fmt.Sprintf("one process of Blender that renders all frames, %d threads, persistent data", o.Slots),
		request: filmRequest(engines.JobTypeRender, map[string]string{},
			map[string]any{"frameStart": 1, "frameEnd": o.Frames, "outputFormat": "PNG"}),
		workload: fmt.Sprintf("%d frames of a scene of 300 objects, 640x360, 6 samples, Cycles, %d cores; from the submission to "+
			"the job's end", o.Frames, o.Slots),
		bare: bareRenderer{folder: folder, argv: []string{o.Python, "bare.py", scene, "pictures", strconv.Itoa(o.Frames),
			strconv.Itoa(o.Slots)}, pictures: "pictures"},

		tolerance: maxBlenderDifference,
	}, nil
}

// place writes files below a folder, by their paths there.
func place(folder string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			return err
		}
	}
	return nil
}
