package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

const studioText = `Talks about a molecule until the picture is right. Each SENTENCE is carried out on the scene, whole or not at all, and answered:
what was selected, counted on the coordinates, what was not understood, or what is to be decided first. Without any, or
with --interactive, sentences are read from the terminal, one a line; an empty line or "quit" ends it.

STRUCTURE is an entry of the Protein Data Bank (1cbs), a file (.cif, .pdb, or a scene that the studio has written), a docked pose
or run (pose_…, run_…), a simulation (frame:job_…/1), or a session from before (ses_…).

-o writes the scene (.mvsx holds its structures, .mvsj names them), -p a small picture at once, and --render a picture for
publication, which is a job and costs money: its price is shown, and it is made after a yes, or with --yes.`

// studioFlags are the flags of studio.
type studioFlags struct {
	scene, picture, render, size, engine string
	samples, turntable                   int
	transparent, yes, dryRun, converses  bool
}

func studioCommand() *cobra.Command {
	var flags studioFlags
	cmd := command(cobra.Command{
		Use: "studio STRUCTURE [SENTENCE…]", Short: "Say what a molecule should look like, and get the scene and the " +
			"picture", Long: studioText,
		Example: `  molfabric studio 1cbs "show the ligand as sticks and its pocket within 5 Å, label the hydrogen bonds"
  molfabric studio complex.cif "colour each chain differently" "look at the ligand" -p site.png -o site.mvsx
  molfabric studio run_0123456789abcdef0123456789abcdef "show the pocket" --render fig1.png --engine cycles --size 3840x2160
  molfabric studio 1cbs`,
	}, cobra.MinimumNArgs(1), func(ctx context.Context, inv *invocation, args []string) error {
		if err := flags.check(); err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		return inv.studio(ctx, flags, args[0], args[1:])
	})
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&flags.scene, "output", "o", "", "write the scene: .mvsx with its structures, or .mvsj")
	f.StringVarP(&flags.picture, "picture", "p", "", "write a small picture (.png) at once, free of charge")
	f.StringVar(&flags.render, "render", "", "make a picture (.png, .jpg, .exr) or a film (.mp4, .webm) for publication")
	f.StringVar(&flags.engine, "engine", engineMolstar, "of --render: molstar (raster, fast) or cycles (ray-traced)")
	f.StringVar(&flags.size, "size", "1920x1080", "of --render: size in pixels, 16x16 to 8192x8192")
	f.IntVar(&flags.samples, "samples", 64, "of --render: samples a pixel of cycles")
	f.IntVar(&flags.turntable, "turntable", 0, "of --render: turn the view once around, in so many frames")
	f.BoolVar(&flags.transparent, "transparent", false, "no background")
	f.BoolVarP(&flags.yes, "yes", "y", false, "order the picture without asking")
	f.BoolVarP(&flags.converses, "interactive", "i", false, "read sentences from the terminal after those that are given")
	f.BoolVar(&flags.dryRun, "dry-run", false, "say what the sentences would do, and change nothing")
	return cmd
}

// check refuses what cannot be, before anything is sent.
func (f studioFlags) check() error {
	if f.scene != "" && filepath.Ext(f.scene) != ".mvsx" && filepath.Ext(f.scene) != ".mvsj" {
		return usage("-o %s: the scene is written as .mvsx or .mvsj", f.scene)
	}
	if f.picture != "" && filepath.Ext(f.picture) != ".png" {
		return usage("-p %s: the small picture is written as .png; --render makes others", f.picture)
	}
	if f.render == "" {
		return nil
	}
	target, err := parseTarget(f.render)
	switch {
	case err != nil:
		return err
	case target.kind == targetPicture && f.turntable != 0:
		return usage("--render %s: is one picture; a turntable is a film (.mp4, .webm)", f.render)
	case target.kind == targetFilm && f.turntable == 0:
		return usage("--render %s: a film needs frames; add --turntable 48", f.render)
	case target.kind == targetFolder:
		return usage("--render %s: name a picture (.png, .jpg, .exr) or a film (.mp4, .webm)", f.render)
	case f.turntable != 0 && (f.turntable < minTurntable || f.turntable > maxTurntable):
		return usage("--turntable %d: must be %d to %d", f.turntable, minTurntable, maxTurntable)
	}
	return target.check()
}

// studio opens the session, says everything, and writes what was asked for.
func (inv *invocation) studio(ctx context.Context, flags studioFlags, structure string, sentences []string) error {
	session, err := inv.openStudio(ctx, structure)
	if err != nil {
		return err
	}
	if !inv.json {
		fmt.Fprintf(inv.out, "%s (session %s)\n", session.Title, session.SessionID)
	}
	said := true
	for _, sentence := range sentences {
		understood, failed := inv.say(ctx, session.SessionID, sentence, flags.dryRun)
		if failed != nil {
			return failed
		}
		said = said && understood
	}
	if !said && !flags.converses {
		return errNotDone
	}
	if writes := flags.scene != "" || flags.picture != "" || flags.render != ""; flags.converses || len(sentences) == 0 && !writes {
		if err := inv.converse(ctx, session.SessionID, flags); err != nil {
			return err
		}
	}
	return inv.writeStudio(ctx, flags, session)
}

// errNotDone is the end of a call whose sentences were not all carried out; each has been answered.
var errNotDone = errors.New("not every sentence was carried out; the answers above say why, and nothing was written")

var sourceForm = regexp.MustCompile(`^(pdb|alphafold|pose|run|frame|artifact|upload|project):`)

// openStudio opens a session about what the user has named, or goes on with one.
func (inv *invocation) openStudio(ctx context.Context, name string) (contract.StudioSession, error) {
	request := contract.StudioSessionRequest{}
	_, missing := os.Stat(name)
	switch {
	case strings.HasPrefix(name, "ses_"):
		found, err := inv.api.StudioSession(ctx, name)
		return found.Body, err
	case strings.HasPrefix(name, "pose_"):
		request.Source = "pose:" + name
	case strings.HasPrefix(name, "run_"):
		request.Source = "run:" + name
	case sourceForm.MatchString(name):
		request.Source = name
	case errors.Is(missing, fs.ErrNotExist) && pdbIDForm.MatchString(name):
		request.Source = "pdb:" + strings.ToUpper(name)
	default:
		uploaded, err := inv.uploadPlain(ctx, name, plainName(name), receptorBound, client.UploadOptions{})
		if err != nil {
			return contract.StudioSession{}, err
		}
		request.Source = "upload:" + uploaded.StorageKey
	}
	opened, err := inv.api.OpenStudio(ctx, request)
	return opened.Body, err
}

// converse reads sentences until there are no more.
func (inv *invocation) converse(ctx context.Context, sessionID string, flags studioFlags) error {
	if !inv.json {
		fmt.Fprintln(inv.out, `Say what to show, "help" for what is possible, or "quit".`)
	}
	for lines := bufio.NewScanner(inv.in); ; {
		if !inv.json {
			fmt.Fprint(inv.out, "> ")
		}
		if !lines.Scan() {
			return lines.Err()
		}
		sentence := strings.TrimSpace(lines.Text())
		if sentence == "" || sentence == "quit" || sentence == "exit" {
			return nil
		}
		if _, err := inv.say(ctx, sessionID, sentence, flags.dryRun); err != nil {
			return err
		}
	}
}

// say sends one sentence and shows the answer. done is false when nothing was carried out.
func (inv *invocation) say(ctx context.Context, sessionID, sentence string, dryRun bool) (done bool, err error) {
	answer, err := inv.api.SayToStudio(ctx, sessionID, contract.StudioMessageRequest{Message: sentence, DryRun: dryRun})
	if err != nil {
		return false, err
	}
	turn := answer.Body
	done = len(turn.NotUnderstood) == 0
	for _, operation := range turn.Operations {
		done = done && operation.Op != "ask" && operation.Op != "refuse"
	}
	if inv.json {
		return done, inv.print(answer.JSON())
	}
	p := painter(inv.out)
	fmt.Fprintf(inv.out, "%s\n", p.good(done, turn.Reply))
	for _, operation := range turn.Operations {
		if operation.Op != "ask" && operation.Op != "refuse" {
			args, err := json.Marshal(operation.Args)
			if err != nil {
				return done, fmt.Errorf("writing an operation: %w", err)
			}
			fmt.Fprintf(inv.out, "  %s %s\n", operation.Op, args)
		}
	}
	for _, warning := range turn.Warnings {
		fmt.Fprintf(inv.out, "  note: %s\n", warning)
	}
	return done, nil
}

// writeStudio writes the scene and the pictures that were asked for.
func (inv *invocation) writeStudio(ctx context.Context, flags studioFlags, session contract.StudioSession) error {
	if flags.scene != "" {
		exported, err := inv.api.ExportStudio(ctx, contract.StudioExportRequest{Source: "session:" + session.SessionID,
			Format: strings.TrimPrefix(filepath.Ext(flags.scene), ".")})
		if err != nil {
			return err
		}
		for _, issue := range exported.Body.Issues {
			fmt.Fprintf(inv.err, "%s: %s\n", flags.scene, issue)
		}
		if err := inv.api.SaveExport(ctx, exported.Body.Artifact, flags.scene); err != nil {
			return err
		}
		inv.wrote(flags.scene)
	}
	if flags.picture != "" {
		err := inv.api.PreviewStudio(ctx, contract.StudioPreviewRequest{
			StudioSubject: contract.StudioSubject{SessionID: session.SessionID}, Transparent: flags.transparent}, flags.picture)
		if err != nil {
			return err
		}
		inv.wrote(flags.picture)
	}
	if flags.render == "" {
		return nil
	}
	return inv.renderStudio(ctx, flags, session)
}

func (inv *invocation) wrote(path string) {
	if !inv.json {
		fmt.Fprintf(inv.out, "Wrote %s\n", path)
	}
}

// renderStudio orders the picture for publication after its price was agreed to, follows it and fetches it.
func (inv *invocation) renderStudio(ctx context.Context, flags studioFlags, session contract.StudioSession) error {
	target, err := parseTarget(flags.render)
	if err != nil {
		return err
	}
	request := contract.StudioRenderRequest{
		StudioSubject: contract.StudioSubject{SessionID: session.SessionID}, RenderEngine: flags.engine, Resolution: flags.size,
		Transparent: flags.transparent, OutputFormat: target.format, Video: target.video, JobName: session.Title,
	}
	if flags.engine == engineCycles {
		request.Samples = &flags.samples
	}
	if flags.turntable != 0 {
		request.Frames = &flags.turntable
	}
	if agreed, err := inv.agree(ctx, flags, request); err != nil || !agreed {
		return err
	}
	receipt, err := inv.api.RenderStudio(ctx, request)
	if err != nil {
		return err
	}
	inv.tellSubmitted(receipt.Body)
	return inv.followRendering(ctx, receipt.Body, target)
}

// agree shows the price of a picture and asks, unless the user has said yes before.
func (inv *invocation) agree(ctx context.Context, flags studioFlags, r contract.StudioRenderRequest) (bool, error) {
	if flags.yes {
		return true, nil
	}
	quoted := renderRequest{JobType: jobTypeMolecular, Metadata: pictureMetadata{RenderEngine: r.RenderEngine,
		Resolution: r.Resolution}}
	if r.Samples != nil {
		samples := int64(*r.Samples)
		quoted.Metadata.Samples = &samples
	}
	if r.Frames != nil {
		quoted.Parameters = map[string]string{"Animation": animationTurntable, "TurntableFrames": strconv.Itoa(*r.Frames)}
	}
	price, err := inv.api.Estimate(ctx, quoted.quoted())
	if err != nil {
		return false, err
	}
	fmt.Fprintf(inv.err, "The picture is expected to cost %s. Order it? [y/N] ", money(price.Body.EstimatedCost,
		price.Body.Currency))
	lines := bufio.NewScanner(inv.in)
	lines.Scan()
	if answer := strings.ToLower(strings.TrimSpace(lines.Text())); answer != "y" && answer != "yes" {
		fmt.Fprintln(inv.err, "Nothing was ordered; --yes orders without asking.")
		return false, nil
	}
	return true, nil
}
