package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/picture"
	"github.com/molfabric/molfabric/internal/client"
)

const (
	// filmFrames are those of two seconds of a film; Options.Frames may name others.
	filmFrames = 48
	// leastFrames and mostFrames are those of a turntable.
	leastFrames, mostFrames = 2, 3600
	// leastFilm is the goal: the peer's time by the fabric's.
	leastFilm = 0.95
	// maxFrameBytes bounds a frame that is compared.
	maxFrameBytes = 64 << 20
)

// filming is the workload B11: the frames of one scene, drawn by one renderer.
type filming struct {
	system   *system
	frames   int
	id, peer string
	workload string
	scene    string         // file
	request  map[string]any // of the job, without its scene
	bare     bareRenderer
	// tolerance is how far a frame's channels may be from the bare program's on average, of 255.
	tolerance float64

	drawing    []float64 // seconds of each job from the start of its first render task to the end of the last
	difference float64   // the largest that a frame has had
}

// bareRenderer is a renderer's program as a person runs it alone.
type bareRenderer struct {
	folder   string // that it runs in
	argv     []string
	env      []string
	pictures string // folder of its frames, below the other; it is emptied before each run
}

// run draws all frames in one process and returns the seconds that it took.
func (b bareRenderer) run(ctx context.Context) (float64, error) {
	pictures := filepath.Join(b.folder, b.pictures)
	if err := errors.Join(os.RemoveAll(pictures), os.Mkdir(pictures, 0o700)); err != nil {
		return 0, err
	}
	process := exec.CommandContext(ctx, b.argv[0], b.argv[1:]...)
	process.Dir, process.Env = b.folder, append(os.Environ(), b.env...)
	began := time.Now()
	said, err := process.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, said[max(0, len(said)-500):])
	}
	return time.Since(began).Seconds(), nil
}

// drawFabric draws the frames as a job, checks that they are the bare program's, and returns the seconds from its submission to its
// end.
func (f *filming) drawFabric(ctx context.Context) (float64, error) {
	began := time.Now()
	receipt, err := f.system.api.Submit(ctx, f.request, "")
	if err != nil {
		return 0, err
	}
	if err := f.system.await(ctx, receipt.Body.JobID); err != nil {
		return 0, err
	}
	took := time.Since(began).Seconds()
	span, err := stageSpan(ctx, f.system.db, receipt.Body.JobID, film.StageRender)
	if err != nil {
		return 0, err
	}
	f.drawing = append(f.drawing, span)
	return took, f.compareFrames(ctx, receipt.Body.JobID)
}

// compareFrames wants a job to have every frame, and each to look like that of the bare program.
func (f *filming) compareFrames(ctx context.Context, jobID string) error {
	outputs, err := f.system.api.AllOutputs(ctx, jobID)
	if err != nil {
		return err
	}
	compared := 0
	for _, output := range outputs.Body.Outputs {
		if output.Role != client.RoleFrame {
			continue
		}
		drawn, err := f.system.api.FetchOutput(ctx, jobID, output, maxFrameBytes)
		if err != nil {
			return err
		}
		wanted, err := os.ReadFile(filepath.Join(f.bare.folder, f.bare.pictures, filepath.Base(output.Name)))
		if err != nil {
			return fmt.Errorf("job %s has %s, and the bare program has not: %w", jobID, output.Name, err)
		}
		difference, err := meanDifference(drawn, wanted)
		if err != nil {
			return fmt.Errorf("job %s, %s: %w", jobID, output.Name, err)
		}
		if difference > f.tolerance {
			return fmt.Errorf("job %s: %s differs from the bare program's by %.3f of 255 on average; at most %g is allowed", jobID,
				output.Name, difference, f.tolerance)
		}
		f.difference = max(f.difference, difference)
		compared++
	}
	if compared != f.frames {
		return fmt.Errorf("job %s has %d frames, want %d", jobID, compared, f.frames)
	}
	return nil
}

// meanDifference is the average over all channels of all pixels of two PNG files, of 255.
func meanDifference(a, b []byte) (float64, error) {
	var pixels [2]*image.NRGBA
	for i, content := range [][]byte{a, b} {
		decoded, err := png.Decode(bytes.NewReader(content))
		if err != nil {
			return 0, err
		}
		pixels[i] = image.NewNRGBA(decoded.Bounds())
		draw.Draw(pixels[i], pixels[i].Rect, decoded, decoded.Bounds().Min, draw.Src)
	}
	if pixels[0].Rect != pixels[1].Rect {
		return 0, fmt.Errorf("the frames have %v and %v pixels", pixels[0].Rect.Size(), pixels[1].Rect.Size())
	}
	sum := 0
	for i, value := range pixels[0].Pix {
		sum += max(int(value), int(pixels[1].Pix[i])) - min(int(value), int(pixels[1].Pix[i]))
	}
	return float64(sum) / float64(max(len(pixels[0].Pix), 1)), nil
}

// film measures B11 with one renderer.
func (f *filming) film(ctx context.Context, pairs int, told func(string)) (Result, error) {
	result := Result{ID: f.id, Name: "frames", Peer: f.peer, Workload: f.workload, Goal: "≥ 0.95, the same frames",
		MeasuredAt: time.Now().UTC()}
	scene, err := f.system.api.UploadFile(ctx, f.scene)
	if err != nil {
		return result, err
	}
	f.request["sceneFile"] = scene.StorageKey
	told("first run: peer")
	firstPeer, err := f.bare.run(ctx)
	if err != nil {
		return result, err
	}
	told("first run: molfabric")
	first, err := f.drawFabric(ctx)
	if err != nil {
		return result, err
	}
	f.drawing = nil
	if result.Comparison, err = compare(ctx, "s of the whole job", pairs, f.drawFabric, f.bare.run, told); err != nil {
		return result, err
	}
	c := result.Comparison
	result.Met = c.Median >= leastFilm
	var ratios []float64
	for i, peer := range c.Peer {
		ratios = append(ratios, peer/f.drawing[i])
	}
	frames := float64(f.frames)
	result.Figures = map[string]float64{
		"framesPerSecond": frames / median(c.Ours), "peerFramesPerSecond": frames / median(c.Peer),
		"firstJobRatio": firstPeer / first, "renderStageRatio": median(ratios), "renderStageSeconds": median(f.drawing),
		"largestDifference": f.difference,
	}
	result.Notes = []string{
		fmt.Sprintf("every frame of every job was compared with the bare program's, pixel by pixel; the channels may differ by "+
			"%g of 255 on average", f.tolerance),
		"the first job of a scene is cut into tasks by a model of its cost, those that are compared by what its frames were " +
			"measured to take; firstJobRatio is of one run",
		"the whole job checks the scene and makes thumbnails, a contact sheet and a table of the frames, which the bare program " +
			"does not",
	}
	return result, nil
}

// filmRequest is a job without a film, so that both arms do the same work. more holds its other members.
func filmRequest(jobType string, parameters map[string]string, more map[string]any) map[string]any {
	parameters["Video"] = picture.None
	request := map[string]any{"jobType": jobType, "parameters": parameters, "metadata": map[string]any{}}
	for name, value := range more {
		request[name] = value
	}
	return request
}

// measureFrames measures B11 with both renderers.
func (o Options) measureFrames(ctx context.Context, s *system, scratch string) ([]Result, error) {
	var results []Result
	for _, entry := range []struct {
		id   string
		make func(context.Context, Options, string) (*filming, error)
	}{{"B11/molstar", newTurntable}, {"B11/cycles", newOrbit}} {
		if !o.wants(entry.id) {
			continue
		}
		folder := filepath.Join(scratch, strings.ReplaceAll(entry.id, "/", "-"))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
		f, err := entry.make(ctx, o, folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.id, err)
		}
		f.id, f.system, f.frames = entry.id, s, o.Frames
		result, err := f.film(ctx, o.Pairs, o.told(entry.id))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.id, err)
		}
		results = append(results, result)
	}
	return results, nil
}
