package cli

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/molfabric/molfabric/internal/frames"
)

func (f *imageFlags) check() error {
	if err := f.pictureFlags.check(); err != nil {
		return err
	}
	cycles := f.engine == engineCycles
	asked := 0
	for _, flag := range []bool{f.changed("turntable"), f.timeline, f.states} {
		if flag {
			asked++
		}
	}
	switch {
	case f.engine != engineMolstar && f.engine != engineCycles:
		return usage("--engine %q: must be molstar or cycles", f.engine)
	case !cycles && (f.changed("samples") || f.changed("denoise") || f.changed("device")):
		return usage("--samples, --denoise and --device belong to ray tracing: add --engine cycles")
	case cycles && f.outline:
		return usage("--outline belongs to molstar; cycles has real light")
	case !cycles && (f.changed("floor") || f.noCaps):
		return usage("--floor and --no-caps belong to ray tracing: add --engine cycles")
	case f.floor != floorNone && f.floor != floorShadow:
		return usage("--floor %q: must be none or shadow", f.floor)
	case asked > 1:
		return usage("--turntable, --timeline and --states exclude each other")
	case f.changed("turntable") && (f.turntable < minTurntable || f.turntable > maxTurntable):
		return usage("--turntable %d: must be %d to %d frames; 48 makes two seconds", f.turntable, minTurntable, maxTurntable)
	case f.background != "" && !colourForm.MatchString(f.background):
		return usage("--background %q: write a colour as '#rrggbb', such as '#ffffff'", f.background)
	case f.background != "" && f.transparent:
		return usage("--background and --transparent exclude each other")
	case f.output == "" && !f.estimate && !f.detach && f.watch:
		return usage("-o is missing: name the picture, such as -o fig.png, or a film or a folder")
	}
	return nil
}

// animation is the kind that the flags ask for; "" leaves it to the scene.
func (f *imageFlags) animation() string {
	switch {
	case f.changed("turntable"):
		return animationTurntable
	case f.timeline:
		return animationTimeline
	case f.states:
		return animationStates
	}
	return ""
}

// length is how many frames the animation has, or severalFrames.
func (f *imageFlags) length(scene molecularScene) int64 {
	switch kind := f.animation(); {
	case kind == animationTurntable:
		return int64(f.turntable)
	case kind == animationTimeline, kind == "" && scene.animated:
		return severalFrames
	}
	return int64(scene.states)
}

// count is how many frames there will be, or severalFrames.
func (f *imageFlags) count(scene molecularScene, ranges []frames.Range) (int64, error) {
	length := f.length(scene)
	if scene.structure && (f.timeline || f.states) {
		return 0, usage("--timeline and --states need a scene (.mvsj, .mvsx); of a structure there is --turntable")
	}
	if len(ranges) == 0 {
		return length, nil
	}
	last := ranges[len(ranges)-1].Last
	switch {
	case ranges[0].First < 1:
		return 0, usage("--frames %s: frames are counted from 1", frames.Format(ranges))
	case length == 1 && last > 1:
		return 0, usage("--frames %s: %s makes one frame; --turntable %d makes more", frames.Format(ranges), scene.path, last)
	case length != severalFrames && last > length:
		return 0, usage("--frames %s: there are %d frames", frames.Format(ranges), length)
	}
	return frames.Count(ranges), nil
}

// target reads where the result goes, and holds it against the number of frames.
func (f *imageFlags) target(count int64) (renderTarget, error) {
	if f.output == "" {
		return renderTarget{}, nil
	}
	t, err := parseTarget(f.output)
	if err != nil {
		return t, err
	}
	single := count == 1
	switch {
	case t.kind == targetPicture && !single:
		return t, usage("-o %s: is one picture, but there are several frames; name a film (.mp4, .webm) or a folder (ends in /), "+
			"or choose one with --frames", f.output)
	case t.kind == targetFilm && single:
		return t, usage("-o %s: a film needs at least two frames; add --turntable 48, --timeline or --states", f.output)
	case t.kind == targetFolder && single:
		return t, usage("-o %s: one frame makes one file; name it, such as -o %s", f.output, filepath.Join(f.output, "fig.png"))
	case t.kind == targetFilm && f.video != "" && f.video != t.video:
		return t, usage("-o %s and --video %s exclude each other", f.output, f.video)
	}
	return t, t.check()
}

// request writes the request without its files.
func (f *imageFlags) request(scene molecularScene, t renderTarget, ranges []frames.Range, count int64) (renderRequest, error) {
	request := renderRequest{JobType: jobTypeMolecular}
	var err error
	if request.Metadata, err = f.metadata(); err != nil {
		return request, err
	}
	request.Metadata.RenderEngine = f.engine
	format, err := f.pictureFormat(t)
	if err != nil {
		return request, err
	}
	video, err := f.film(scene, t, count)
	if err != nil {
		return request, err
	}
	request.put(paramImageFormat, format)
	request.put(paramVideo, video)
	request.put(paramAnimation, f.animation())
	if f.animation() == animationTurntable {
		request.put(paramTurntableFrames, strconv.Itoa(f.turntable))
	}
	request.put(paramFrames, frames.Format(ranges))
	if f.estimate && len(ranges) == 0 && count > 1 { // an estimate knows no scene: the frames that it names stand for it
		request.put(paramFrames, fmt.Sprintf("1-%d", count))
	}
	request.put(paramBackground, f.background)
	if f.changed("transparent") {
		request.put(paramTransparent, strconv.FormatBool(f.transparent))
	}
	if f.changed("outline") {
		request.put(paramOutline, strconv.FormatBool(f.outline))
	}
	f.light(&request)
	f.tier(&request)
	return request, nil
}

// light writes how the scene is lit, where the flags say it.
func (f *imageFlags) light(request *renderRequest) {
	if f.noOcclusion {
		request.put(paramAmbientOcclusion, "false")
	}
	if f.changed("depth-cue") {
		request.put(paramDepthCue, strconv.FormatBool(f.depthCue))
	}
	if f.changed("floor") {
		request.put(paramFloor, f.floor)
	}
	if f.noCaps {
		request.put(paramCaps, "false")
	}
}

// pictureFormat is the frames' format; "" leaves it to the service.
func (f *imageFlags) pictureFormat(t renderTarget) (string, error) {
	format, err := parseFormat(f.format)
	if err != nil {
		return "", err
	}
	if t.kind == targetPicture {
		if format != "" && format != t.format {
			return "", usage("-o %s and --format %s exclude each other: the file's extension says the format", t.path, format)
		}
		format = t.format
	}
	switch {
	case format == formatEXR && f.engine != engineCycles:
		return "", usage("EXR is cycles' format: add --engine cycles, or choose PNG or JPEG")
	case format == formatJPEG && f.transparent:
		return "", usage("JPEG has no transparency: choose PNG, or leave --transparent out")
	}
	return format, nil
}

// film is the film's format; "" leaves it to the service.
func (f *imageFlags) film(scene molecularScene, t renderTarget, count int64) (string, error) {
	kind := f.animation()
	film := f.video == videoMP4 || f.video == videoWebM
	video := f.video
	switch {
	case count == 1 && film:
		return "", usage("--video %s: a film needs at least two frames; add --turntable 48, --timeline or --states", f.video)
	case count == 1 && f.changed("fps") && kind != animationTimeline && !scene.animated:
		return "", usage("--fps belongs to a film or a time line; one picture has none")
	case count == 1 && (kind != "" || scene.animated):
		return videoNone, nil
	case t.kind == targetFilm:
		video = t.video
	case t.kind == targetFolder && video == "" && f.transparent && (kind == animationTurntable || kind == animationTimeline):
		video = videoWebM // the service's own choice knows no transparency
	}
	if video == videoMP4 && f.transparent {
		return "", usage("MP4 has no transparency: choose .webm, or leave --transparent out")
	}
	return video, nil
}
