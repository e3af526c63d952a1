package studio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/molviewspec"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

const (
	defaultWidth, defaultHeight = 1920, 1080
	// previewWidth and previewHeight are the largest of a preview, in pixels.
	previewWidth, previewHeight = 960, 540
	// defaultTurnSeconds and defaultFPS are of a film of which nobody said more.
	defaultTurnSeconds, defaultFPS = 6, 24
)

// Render orders a picture or a film as a job, like any other of the type molecular. Errors: fault.Validation; those of drawn; those
// of submitting a job.
func (s *Service) Render(
	ctx context.Context, caller access.Principal, key string, request contract.StudioRenderRequest,
) (contract.SubmitResponse, error) {
	if request.Frames == nil && (request.FPS != nil || request.Video != "") {
		return contract.SubmitResponse{}, fault.New(fault.Validation, "frames: say how many frames the film has, with fps and "+
			"video")
	}
	file, attachments, err := s.subjectFile(ctx, caller.AccountID, request.StudioSubject)
	if err != nil {
		return contract.SubmitResponse{}, err
	}
	picture := pictureOf(request)
	picture.SceneFile, picture.Attachments = file, attachments
	return s.deps.Jobs.Submit(ctx, caller, key, picture)
}

// pictureOf is the job of a request, without its scene.
func pictureOf(request contract.StudioRenderRequest) Picture {
	picture := Picture{
		JobName: request.JobName, Engine: cmp.Or(request.RenderEngine, "molstar"),
		Resolution: cmp.Or(request.Resolution, fmt.Sprintf("%dx%d", defaultWidth, defaultHeight)),
		Samples:    request.Samples, FPS: request.FPS, Parameters: map[string]string{},
	}
	set := func(name, value string) {
		if value != "" {
			picture.Parameters[name] = value
		}
	}
	set("ImageFormat", request.OutputFormat)
	set("Video", request.Video)
	if request.Transparent {
		set("Transparent", "true")
	}
	if request.Frames != nil {
		set("Animation", "turntable")
		set("TurntableFrames", strconv.Itoa(*request.Frames))
	} else {
		set("Animation", "none")
	}
	return picture
}

// subject checks that a request says one thing to draw. Errors: fault.Validation.
func subject(one contract.StudioSubject) error {
	given := 0
	for _, is := range []bool{one.SessionID != "", len(one.Scene) > 0, one.ProjectID != "", one.PoseID != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return fault.New(fault.Validation, "give one of sessionId, scene, projectId and poseId; %d were given", given)
	}
	if one.Revision != nil && one.ProjectID == "" {
		return fault.New(fault.Validation, "revision: is that of a project; give projectId too")
	}
	return nil
}

// subjectFile keeps what a request wants to have drawn as a file of the account. Errors: those of subject and drawn.
func (s *Service) subjectFile(
	ctx context.Context, accountID string, one contract.StudioSubject,
) (storageKey string, attachments []string, err error) {
	if err := subject(one); err != nil {
		return "", nil, err
	}
	if len(one.Scene) > 0 {
		references, err := readScene(one.Scene)
		if err != nil {
			return "", nil, err
		}
		kept, err := s.deps.Files.Keep(ctx, accountID, "scene."+formatDocument, mediaTypes[formatDocument], one.Scene)
		return kept.StorageKey, references, err
	}
	d, err := s.subjectDrawing(ctx, accountID, one)
	if err != nil {
		return "", nil, err
	}
	content, err := d.archive(ctx)
	if err != nil {
		return "", nil, err
	}
	kept, err := s.deps.Files.Keep(ctx, accountID, "scene."+formatArchive, mediaTypes[formatArchive], content)
	return kept.StorageKey, nil, err
}

// readScene checks a scene of the caller's own and lists what it refers to. Errors: fault.Validation.
func readScene(document []byte) (references []string, err error) {
	read, err := molviewspec.Parse(document)
	if invalid, ok := errors.AsType[*molviewspec.InvalidError](err); ok {
		return nil, fault.New(fault.Validation, "scene: is not valid MolViewSpec: %s", invalid.Error())
	}
	if err != nil {
		return nil, err
	}
	for _, reference := range read.References {
		references = append(references, reference.URL)
	}
	return references, nil
}

// subjectDrawing is the scene that a request means, but for one of the caller's own.
func (s *Service) subjectDrawing(ctx context.Context, accountID string, one contract.StudioSubject) (drawing, error) {
	switch {
	case one.SessionID != "":
		return s.drawn(ctx, accountID, "session:"+one.SessionID)
	case one.ProjectID != "":
		return s.drawn(ctx, accountID, "project:"+one.ProjectID+"@"+strconv.FormatInt(valueOr(one.Revision, 0), 10))
	}
	if err := checkPose(one.PoseID); err != nil {
		return drawing{}, err
	}
	return s.figure(ctx, accountID, one.PoseID)
}

// figure is a pose as people want to see it: in its pocket, with its contacts drawn and labelled. Errors: fault.NotFound.
func (s *Service) figure(ctx context.Context, accountID, poseID string) (drawing, error) {
	if _, err := s.deps.Poses.Pose(ctx, accountID, poseID); err != nil {
		return drawing{}, err
	}
	contacts, err := s.deps.Poses.Contacts(ctx, accountID, poseID)
	if err != nil {
		return drawing{}, err
	}
	engine, shelf := s.studio(accountID)
	state, turn, err := engine.Say(ctx, studio.NewState(), studio.Message{Operations: figureOf(poseID, residuesOf(contacts))})
	if err != nil {
		return drawing{}, asValidation(err)
	}
	if !turn.Changed {
		return drawing{}, fault.New(fault.Validation, "poseId: %s", strings.TrimSuffix(turn.Reply, "."))
	}
	d := drawing{title: "Docked pose", model: state.History.Scene(), shelf: shelf}
	d.files, err = engine.Files(ctx, d.model)
	return d, goneFault(err)
}

// figureOf draws a pose with the residues that it touches, named. A pose that was not analysed has its whole pocket instead.
func figureOf(poseID, touched string) []scene.Operation {
	const chains, ligandCarbon, chainCarbon = "#c9d3e0", "#35c47a", "#aab2bd"
	yes, ligand := true, "resn "+ligandName
	operations := []scene.Operation{
		scene.Do(scene.Load{Source: "pose:" + poseID}),
		scene.Do(scene.Color{Sel: "polymer", Color: chains, As: "cartoon"}),
		scene.Do(scene.Opacity{Sel: "polymer", Value: 0.5, As: "cartoon"}),
		scene.Do(scene.Show{Sel: ligand, As: "ball_and_stick"}),
		scene.Do(scene.Color{Sel: ligand, Color: ligandCarbon, CarbonsOnly: true}),
	}
	if touched == "" {
		return append(operations, scene.Do(scene.Pocket{Of: ligand, Labels: true}), scene.Do(scene.Focus{Sel: ligand}))
	}
	return append(operations,
		scene.Do(scene.Interactions{Of: ligand, Labels: &yes}),
		scene.Do(scene.Color{Sel: touched, Color: chainCarbon, As: "stick", CarbonsOnly: true}),
		scene.Do(scene.Label{Sel: touched, Level: "residue"}),
		scene.Do(scene.Focus{Sel: ligand}),
	)
}

// residuesOf selects the residues of a receptor that a pose touches; "" where there are none.
func residuesOf(contacts []contract.DockingInteraction) string {
	residues := map[string]bool{}
	for _, one := range contacts {
		at := one.Receptor
		term := fmt.Sprintf("resi %d%s", at.Residue, at.InsertionCode)
		if at.Chain != "" {
			term = "chain " + at.Chain + " and " + term
		}
		residues["("+term+")"] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(residues)), " or ")
}

// Preview draws a small picture at once. Errors: fault.Validation; those of drawn; fault.ProviderUnavailable when no renderer is at
// hand.
func (s *Service) Preview(
	ctx context.Context, accountID string, request contract.StudioPreviewRequest,
) (png []byte, err error) {
	if err := subject(request.StudioSubject); err != nil {
		return nil, err
	}
	var content []byte
	format := formatArchive
	if len(request.Scene) > 0 {
		references, err := readScene(request.Scene)
		if err != nil {
			return nil, err
		}
		if len(references) > 0 {
			return nil, fault.New(fault.Validation, "scene: refers to %q, and a preview fetches nothing; preview the session, or "+
				"order a picture", references[0])
		}
		content, format = request.Scene, formatDocument
	} else {
		d, err := s.subjectDrawing(ctx, accountID, request.StudioSubject)
		if err != nil {
			return nil, err
		}
		if content, err = d.archive(ctx); err != nil {
			return nil, err
		}
	}
	if s.deps.Previews == nil {
		return nil, errNoRenderer
	}
	png, err = s.deps.Previews.Draw(ctx, accountID, content, format, cmp.Or(request.WidthPixels, previewWidth),
		cmp.Or(request.HeightPixels, previewHeight), request.Transparent)
	if errors.Is(err, ErrBusy) {
		return nil, errNoRenderer
	}
	if undrawable, ok := errors.AsType[*UndrawableError](err); ok {
		return nil, fault.New(fault.Validation, "the scene cannot be drawn: %s", undrawable.Reason)
	}
	return png, err
}

var errNoRenderer = fault.New(fault.ProviderUnavailable,
	"no renderer is at hand for previews; try again in a moment, or order the picture (POST /v1/molecular/studio/renders)")

// offer adds to a turn the picture that it talks about, with its price.
func (s *Service) offer(ctx context.Context, row session, answer studio.Turn, turn *contract.StudioTurn) {
	var wanted *scene.Render
	for _, operation := range answer.Operations {
		if render, ok := operation.Args.(scene.Render); ok {
			wanted = &render
		}
	}
	if wanted == nil {
		return
	}
	request := renderRequest(row, *wanted)
	turn.Render = &contract.StudioOffer{Request: &request}
	price, err := s.deps.Jobs.Price(ctx, row.AccountID, pictureOf(request))
	switch {
	case err != nil:
		s.deps.Log.WarnContext(ctx, "no price of a picture", "session", row.ID, "error", err)
	case answer.Confirmed == nil:
		turn.Render.Price = &price
		turn.Reply = fmt.Sprintf("This picture is expected to cost £%s. Say yes to order it.", price)
	default:
		turn.Render.Price = &price
	}
}

// renderRequest is what a conversation's wish for a picture comes to.
func renderRequest(row session, wanted scene.Render) contract.StudioRenderRequest {
	request := contract.StudioRenderRequest{
		StudioSubject: contract.StudioSubject{SessionID: row.ID}, RenderEngine: cmp.Or(wanted.Engine, "molstar"),
		Resolution:  fmt.Sprintf("%dx%d", cmp.Or(wanted.Width, defaultWidth), cmp.Or(wanted.Height, defaultHeight)),
		Transparent: valueOr(wanted.Transparent, false), JobName: row.Title,
	}
	if wanted.Samples > 0 {
		request.Samples = &wanted.Samples
	}
	film := wanted.Format == "mp4" || wanted.Format == "webm"
	if film {
		request.Video = wanted.Format
	} else {
		request.OutputFormat = strings.ToUpper(wanted.Format)
	}
	if turn := wanted.Turntable; turn != nil || film {
		turning := valueOr(turn, scene.Turntable{})
		fps := cmp.Or(turning.FPS, defaultFPS)
		frames := cmp.Or(turning.Frames, max(2, int(math.Round(cmp.Or(turning.Seconds, defaultTurnSeconds)*float64(fps)))))
		rate := float64(fps)
		request.Frames, request.FPS = &frames, &rate
	}
	return request
}

// orderConfirmed orders the picture that a yes means. The key holds the session's revision, so that a yes that is sent twice orders
// once. Errors: fault.InsufficientScope, fault.TestKeyLiveBilling; those of Render.
func (s *Service) orderConfirmed(ctx context.Context, row session, wanted scene.Render, turn *contract.StudioTurn) error {
	if err := needs(ctx, access.JobsWrite, "a picture"); err != nil {
		return err
	}
	if access.From(ctx).Environment != access.Live {
		return fault.New(fault.TestKeyLiveBilling, "a test key is never billed and cannot order a picture; use a live key")
	}
	request := renderRequest(row, wanted)
	receipt, err := s.Render(ctx, access.From(ctx), fmt.Sprintf("studio-%s-%d", row.ID, row.Revision), request)
	if err != nil {
		return err
	}
	turn.Render = &contract.StudioOffer{Request: &request, Price: &receipt.EstimatedCost, JobID: &receipt.JobID}
	turn.Reply = fmt.Sprintf("Ordered: %s, expected to cost £%s.", receipt.JobID, receipt.EstimatedCost)
	return nil
}
