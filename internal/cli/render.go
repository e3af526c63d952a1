package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/frames"
)

const (
	jobTypeRender    = "render"
	jobTypeMolecular = "molecular"
	// cameraBytes is the longest name that Blender gives an object.
	cameraBytes = 255
)

const renderText = `Renders frames of a Blender scene with Cycles: uploads the scene and its files, submits the job, follows it frame by frame, and fetches
each frame into the folder of -o as soon as it is finished, then the film, the contact sheet and a table of the frames.

Frames are written as 1-48, 1-100:10 (every tenth) or 1,3,5-9; --frames may be repeated. Without it frame 1 is rendered. Size
and samples are the scene's own unless --size and --samples say otherwise.

A scene that holds its textures needs nothing else (Blender: File › External Data › Pack Resources). One that refers to files by
relative paths takes them along with --asset, which may be repeated, or with --project, which sends every file below a folder
but hidden ones; all of them keep their places relative to the scene. Scripts in the scene are not run.

While frames are rendered, preview.jpg in the folder shows the newest one. A frame that fails is tried again; one that fails
again is named with its reason, and the others are finished. Only rendered frames are charged.`

func renderCommand() *cobra.Command {
	var options renderFlags
	cmd := command(cobra.Command{
		Use: "render SCENE.blend", Short: "Render frames of a Blender scene with Cycles", Long: renderText,
		Example: `  molfabric render scene.blend --frames 1-48 --out frames
  molfabric render scene.blend --frames 1-240 --video mp4 --fps 24 --resumable --out film
  molfabric render shots/010.blend --project . --frames 1-100:10 --size 960x540 --samples 32 --out tests
  molfabric render scene.blend --asset textures --asset hdri/studio.exr --camera Close --device optix --out frames
  molfabric render scene.blend --frames 1-1000 --frame-minutes 2.5 --estimate`,
	}, one("SCENE.blend"), func(ctx context.Context, inv *invocation, args []string) error {
		r, err := options.rendering(args[0])
		if err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		return inv.render(ctx, r)
	})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"blend"}, cobra.ShellCompDirectiveFilterFileExt
	}
	options.define(cmd)
	return cmd
}

// rendering is what `render` or `image` is asked to do.
type rendering struct {
	pack             *scenePackage
	request          renderRequest
	what             string // for people, behind a price
	target           renderTarget
	estimate, leaves bool
}

// renderFlags are the flags of `render` as they are written.
type renderFlags struct {
	pictureFlags
	assets                    []string
	project, camera, software string
	frameMinutes              float64
}

func (f *renderFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false // the order below goes from what is rendered to how
	flags.StringArrayVar(&f.frames, "frames", nil, "frames as 1-48, 1-100:10 or 1,3,5-9; may be repeated (default 1)")
	flags.StringVarP(&f.output, "output", "o", "", "folder to fetch frames, film and tables into; also --out")
	flags.StringVar(&f.format, "format", formatPNG, "format of the frames: PNG, JPEG or EXR")
	flags.StringVar(&f.size, "size", "", "size of a frame in pixels, such as 1920x1080 (default: the scene's own)")
	flags.Int64Var(&f.samples, "samples", 0, "samples a pixel (default: the scene's own)")
	flags.StringVar(&f.camera, "camera", "", "name of the camera (default: the scene's active one)")
	flags.StringVar(&f.video, "video", "", "make a film of the frames, too: mp4 or webm")
	flags.Float64Var(&f.fps, "fps", 24, "frames a second of the film")
	flags.StringArrayVar(&f.assets, "asset", nil, "a file or folder that the scene refers to; may be repeated")
	flags.StringVar(&f.project, "project", "", "send every file below this folder, which holds the scene")
	flags.Float64Var(&f.frameMinutes, "frame-minutes", 0, "minutes that a frame is expected to take, for the price and for how "+
		"frames are shared out")
	flags.StringVar(&f.software, "software", "", "the render engine that is asked for and licensed (default: Cycles)")
	f.pictureFlags.define(cmd)
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formatPNG, formatJPEG, formatEXR},
		cobra.ShellCompDirectiveNoFileComp))
}

// rendering reads the flags and looks at the files; nothing is sent before all of it is in order.
func (f *renderFlags) rendering(scene string) (rendering, error) {
	if err := f.check(); err != nil {
		return rendering{}, err
	}
	ranges, err := parseFrames(f.frames)
	if err != nil {
		return rendering{}, err
	}
	if film := f.video == videoMP4 || f.video == videoWebM; film && frames.Count(ranges) < 2 {
		return rendering{}, usage("--video %s: a film needs at least two frames; say which with --frames", f.video)
	} else if f.changed("fps") && !film {
		return rendering{}, usage("--fps belongs to a film: add --video mp4 or --video webm")
	}
	request, err := f.request(ranges)
	if err != nil {
		return rendering{}, err
	}
	if err := checkBlend(scene); err != nil {
		return rendering{}, err
	}
	r := rendering{request: request, estimate: f.estimate, leaves: f.detach || !f.watch,
		target: renderTarget{kind: targetFolder, path: f.output}}
	r.what = fmt.Sprintf("%s of %s", counted(int(max(frames.Count(ranges), 1)), "frame", "frames"), filepath.Base(scene))
	r.request.JobName = shorten(labelOf(first(f.name, r.what)), maxLabelChars)
	if err := r.target.check(); err != nil {
		return rendering{}, err
	}
	if f.project != "" {
		r.pack, err = packProject(scene, f.project, f.output)
	} else {
		r.pack, err = packAssets(scene, f.assets, f.output)
	}
	return r, err
}

func (f *renderFlags) check() error {
	switch {
	case f.project != "" && len(f.assets) > 0:
		return usage("--project and --asset exclude each other: --project sends every file below its folder")
	case len(f.camera) > cameraBytes:
		return usage("--camera: a name in Blender has at most %d bytes", cameraBytes)
	case f.changed("frame-minutes") && !(f.frameMinutes > 0 && f.frameMinutes <= maxFrameMinutes):
		return usage("--frame-minutes %g: must be more than 0 and at most %d", f.frameMinutes, maxFrameMinutes)
	case f.changed("software") && strings.TrimSpace(f.software) == "":
		return usage("--software: name the render engine, such as cycles")
	}
	return f.pictureFlags.check()
}

// request writes the request without its files. Frames that are one range are frameStart, frameEnd and frameStep.
func (f *renderFlags) request(ranges []frames.Range) (renderRequest, error) {
	request := renderRequest{JobType: jobTypeRender}
	var err error
	if request.Metadata, err = f.metadata(); err != nil {
		return request, err
	}
	request.Metadata.Software = f.software
	request.Metadata.RenderTimeMinutes = given(f.changed("frame-minutes"), f.frameMinutes)
	if request.OutputFormat, err = parseFormat(f.format); err != nil {
		return request, err
	}
	if len(ranges) == 1 {
		span := ranges[0]
		request.FrameStart, request.FrameEnd, request.FrameStep = &span.First, &span.Last, given(span.Step != 1, span.Step)
	} else if len(ranges) > 1 {
		request.put(paramFrames, frames.Format(ranges))
	}
	request.put(paramCamera, f.camera)
	request.put(paramVideo, f.video)
	f.tier(&request)
	return request, nil
}

// blendMagic are the first bytes of a Blender file: as it is, and compressed with zstd or gzip.
var blendMagic = []string{"BLENDER", "\x28\xb5\x2f\xfd", "\x1f\x8b"}

// checkBlend makes sure that a file looks like a Blender scene. The worker reads it whole.
func checkBlend(scene string) error {
	if extension := strings.ToLower(filepath.Ext(scene)); extension != ".blend" {
		return usage("%s: `render` takes .blend scenes; `molfabric image` makes pictures of molecules", scene)
	}
	head, err := headOf(scene, len(blendMagic[0]))
	if err != nil {
		return err
	}
	for _, magic := range blendMagic {
		if strings.HasPrefix(head, magic) {
			return nil
		}
	}
	return invalidInput("%s: is no Blender scene: its first bytes are not Blender's", scene)
}

// headOf reads the first bytes of a regular file that is not empty.
func headOf(name string, bytes int) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", invalidInput("%v", err)
	case !info.Mode().IsRegular() || info.Size() == 0:
		return "", invalidInput("%s: is empty, or no regular file", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return "", invalidInput("%v", err)
	}
	defer file.Close()
	head := make([]byte, bytes)
	n, err := file.Read(head)
	if err != nil {
		return "", invalidInput("%s: %v", name, err)
	}
	return string(head[:n]), nil
}

// render does what a rendering asks for, up to the files on this machine.
func (inv *invocation) render(ctx context.Context, r rendering) error {
	if r.estimate {
		return inv.estimateRendering(ctx, r)
	}
	if !inv.json {
		fmt.Fprintf(inv.err, "Sending %s.\n", r.pack.text())
	}
	request := r.request
	var err error
	if request.SceneFile, request.Attachments, err = inv.uploadScene(ctx, r.pack); err != nil {
		return err
	}
	receipt, err := inv.submit(ctx, request, "")
	if err != nil {
		return err
	}
	if r.leaves {
		return inv.showReceipt(receipt)
	}
	inv.tellSubmitted(receipt.Body)
	return inv.followRendering(ctx, receipt.Body, r.target)
}

// followRendering follows a rendering to its end, shows how it went and fetches its files. The error says how it ended.
func (inv *invocation) followRendering(ctx context.Context, receipt contract.SubmitResponse, t renderTarget) error {
	j, err := inv.followFrames(ctx, receipt.JobID, t)
	if err != nil {
		return err
	}
	outputs, err := inv.api.AllOutputs(ctx, j.Body.JobID)
	if err != nil {
		return err
	}
	if err := inv.fetchRendered(ctx, j.Body, outputs.Body.Outputs, t); err != nil {
		return err
	}
	if inv.json {
		if err := inv.print(j.JSON()); err != nil {
			return err
		}
		return endOf(j.Body, "")
	}
	detail, err := inv.showRendering(ctx, j.Body, defaultTop)
	if err != nil {
		return err
	}
	fmt.Fprintf(inv.out, "\n%s\n  %s%s\n", painter(inv.out).bold("Bill"), bill(j.Body.Cost),
		eachFrame(j.Body.Cost, pictureCount(outputs.Body.Outputs)))
	return endOf(j.Body, detail)
}

// estimateRendering shows the price without uploading anything.
func (inv *invocation) estimateRendering(ctx context.Context, r rendering) error {
	price, err := inv.api.Estimate(ctx, r.request.quoted())
	if err != nil {
		return err
	}
	if inv.json {
		return inv.print(price.JSON())
	}
	amount := func(n contract.Pounds) string { return money(n, price.Body.Currency) }
	fmt.Fprintf(inv.out, "%s for %s; between %s and %s\n", painter(inv.out).bold(amount(price.Body.EstimatedCost)), r.what,
		amount(price.Body.Range.Low), amount(price.Body.Range.High))
	fmt.Fprintf(inv.out, "  compute   %s\n  software  %s\n  start     %s\n  storage   %s\n", amount(price.Body.Breakdown.Compute),
		amount(price.Body.Breakdown.Software),
		amount(price.Body.Breakdown.StartFee), amount(price.Body.Breakdown.Storage))
	fmt.Fprintln(inv.out, "An amount above all of this is set aside while the job runs, and it never costs more than that.")
	return nil
}
