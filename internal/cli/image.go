package cli

import (
	"context"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"
)

const (
	engineMolstar = "molstar"
	engineCycles  = "cycles"

	animationStates    = "states"
	animationTimeline  = "timeline"
	animationTurntable = "turntable"

	floorNone   = "none"
	floorShadow = "shadow"

	minTurntable = 2
	maxTurntable = 3600
	// severalFrames stands for an animation whose length only the renderer knows.
	severalFrames = -1
)

var colourForm = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

const imageText = `Makes a picture for publication of a molecular scene, or of a structure alone, which gets a good default scene: cartoon, ligands as balls
and sticks, a view of the whole.

SCENE is a MolViewSpec scene (.mvsj, or .mvsx with its files in it) or a structure (.cif, .bcif, .pdb, .pdbqt, .sdf, .mol2, .gro,
.xyz), perhaps compressed with gzip. The files that an .mvsj refers to by relative paths are found beside it and sent along.
Renderers have no network: what a scene refers to by https must be downloaded first.

Two engines draw the same view: molstar is fast; cycles traces rays, with soft light and shadows, closes what the scene's clips
cut, and takes --samples.

-o names the result. One frame makes exactly that file, in the format of its extension (.png, .jpg, .exr); a turntable, the
states of a scene or its time line make a film (.mp4, .webm) or, in a folder, frames, film, contact sheet and a table. --frames
chooses frames, counted from 1.`

func imageCommand() *cobra.Command {
	var options imageFlags
	cmd := command(cobra.Command{
		Use: "image SCENE", Short: "Make a picture or a film of a molecule, for publication", Long: imageText,
		Example: `  molfabric image 1cbs.cif -o fig1.png
  molfabric image scene.mvsj --engine cycles --size 3840x2160 --samples 256 -o fig1.png
  molfabric image scene.mvsj --transparent --outline -o cover.png
  molfabric image surface.mvsj --engine cycles --floor shadow --depth-cue -o cover.png
  molfabric image complex.pdb --turntable 48 --fps 24 -o turn.mp4
  molfabric image story.mvsx --timeline --size 1280x720 -o story.webm
  molfabric image story.mvsj --states -o states/
  molfabric image scene.mvsj --turntable 120 --frames 1-120:30 --engine cycles --estimate`,
	}, one("SCENE"), func(ctx context.Context, inv *invocation, args []string) error {
		scene, r, err := options.rendering(args[0])
		if err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		if named := scene.named(r.pack); named != "" && !inv.json && !r.estimate {
			fmt.Fprintln(inv.err, named)
		}
		return inv.render(ctx, r)
	})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var extensions []string
		for extension := range sceneFormats {
			extensions = append(extensions, extension[1:])
		}
		extensions = append(extensions, gzipExtension[1:])
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
	options.define(cmd)
	return cmd
}

// imageFlags are the flags of `image` as they are written.
type imageFlags struct {
	pictureFlags
	assets                                              []string
	engine, background, floor                           string
	turntable                                           int
	transparent, outline, noOcclusion, timeline, states bool
	depthCue, noCaps                                    bool
}

func (f *imageFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false // the order below goes from what is drawn to how
	flags.StringVarP(&f.output, "output", "o", "", "the picture (.png, .jpg, .exr), the film (.mp4, .webm) or a folder; also --out")
	flags.StringVar(&f.engine, "engine", engineMolstar, "molstar (raster, fast) or cycles (ray-traced)")
	flags.StringVar(&f.size, "size", "", "size in pixels, 16x16 to 8192x8192 (default 1920x1080)")
	flags.Int64Var(&f.samples, "samples", 64, "samples a pixel of cycles")
	flags.BoolVar(&f.transparent, "transparent", false, "no background, for PNG, EXR and WebM")
	flags.StringVar(&f.background, "background", "", "colour of the background, such as '#ffffff' (default: the scene's, "+
		"else white)")
	flags.BoolVar(&f.outline, "outline", false, "draw outlines, with molstar")
	flags.BoolVar(&f.noOcclusion, "no-ambient-occlusion", false, "no darker folds and pockets")
	flags.BoolVar(&f.depthCue, "depth-cue", false, "fade what is far away; =false: nothing fades (default: what the scene says)")
	flags.StringVar(&f.floor, "floor", floorNone, "shadow: a floor that shows soft shadows alone, with cycles")
	flags.BoolVar(&f.noCaps, "no-caps", false, "leave open what the scene's clips cut, with cycles")
	flags.IntVar(&f.turntable, "turntable", 0, "turn the view once around, in so many frames, such as 48")
	flags.BoolVar(&f.timeline, "timeline", false, "play the states of a scene and their animations, at --fps")
	flags.BoolVar(&f.states, "states", false, "one frame for each state of a scene")
	flags.StringArrayVar(&f.frames, "frames", nil, "only these frames of it, from 1, such as 1-24; may be repeated")
	flags.Float64Var(&f.fps, "fps", 24, "frames a second of a time line and of the film")
	flags.StringVar(&f.video, "video", "", "the film in a folder: mp4, webm or none (default mp4 of a turntable and a time line)")
	flags.StringVar(&f.format, "format", "", "format of frames in a folder: PNG, JPEG or EXR (default PNG); of one picture, its "+
		"extension says it")
	flags.StringArrayVar(&f.assets, "asset", nil, "a file that the scene refers to and that lies elsewhere; may be repeated")
	f.pictureFlags.define(cmd)
	floors := []string{floorNone, floorShadow}
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("floor", cobra.FixedCompletions(floors, cobra.ShellCompDirectiveNoFileComp))
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions([]string{engineMolstar, engineCycles},
		cobra.ShellCompDirectiveNoFileComp))
}

// rendering reads the flags and the scene; nothing is sent before all of it is in order.
func (f *imageFlags) rendering(name string) (molecularScene, rendering, error) {
	if err := f.check(); err != nil {
		return molecularScene{}, rendering{}, err
	}
	ranges, err := parseFrames(f.frames)
	if err != nil {
		return molecularScene{}, rendering{}, err
	}
	scene, err := readMolecularScene(name)
	if err != nil {
		return scene, rendering{}, err
	}
	count, err := f.count(scene, ranges)
	if err != nil {
		return scene, rendering{}, err
	}
	r := rendering{estimate: f.estimate, leaves: f.detach || !f.watch}
	if r.target, err = f.target(count); err != nil {
		return scene, r, err
	}
	if r.pack, err = scene.pack(f.assets); err != nil {
		return scene, r, err
	}
	r.request, err = f.request(scene, r.target, ranges, count)
	r.what = f.title(scene, count)
	r.request.JobName = shorten(labelOf(first(f.name, r.what)), maxLabelChars)
	return scene, r, err
}

// title says what is drawn.
func (f *imageFlags) title(scene molecularScene, count int64) string {
	what := "frames"
	if count > 0 {
		what = counted(int(count), "picture", "frames")
	}
	return fmt.Sprintf("%s of %s with %s", what, plainName(scene.path), f.engine)
}
