package studio

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/scene"
)

const (
	base     = "/v1/molecular/studio"
	sessions = base + "/sessions"
	one      = sessions + "/{sessionId}"
	// sceneBodyBytes bounds a body that may hold a scene: a document of MolViewSpec and what is around it.
	sceneBodyBytes = 9 << 20
)

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	chat := access.Rule{Scope: access.MolecularChat}
	made := func(op huma.Operation) huma.Operation { op.DefaultStatus = http.StatusCreated; return op }
	huma.Register(api, made(operation(http.MethodPost, "open-studio-session", sessions, "Open a session", openText, chat,
		http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity)), s.open)
	huma.Register(api, operation(http.MethodGet, "list-studio-sessions", sessions, "List sessions",
		"Sessions of the account, newest first.", chat), s.list)
	huma.Register(api, operation(http.MethodGet, "get-studio-session", one, "Read a session",
		"The session with its steps, the open question, and the scene as MolViewSpec.", chat,
		http.StatusUnprocessableEntity), s.get)
	gone := operation(http.MethodDelete, "delete-studio-session", one, "Delete a session",
		"Forgets the session and what was said. Jobs, files and projects that came of it stay.", chat)
	gone.DefaultStatus = http.StatusNoContent
	huma.Register(api, gone, s.remove)
	huma.Register(api, operation(http.MethodPost, "send-studio-message", one+"/messages", "Say what to do", sayText, chat,
		http.StatusConflict, http.StatusUnprocessableEntity), s.say)
	huma.Register(api, operation(http.MethodGet, "list-studio-messages", one+"/messages", "List messages",
		"What was said and answered, newest first.", chat), s.listMessages)
	huma.Register(api, operation(http.MethodPost, "undo-studio-step", one+"/undo", "Undo", undoText, chat, http.StatusConflict,
		http.StatusUnprocessableEntity), s.undo)
	huma.Register(api, operation(http.MethodPost, "redo-studio-step", one+"/redo", "Redo",
		"Goes forth to what was undone. "+stepText, chat, http.StatusConflict, http.StatusUnprocessableEntity), s.redo)
	huma.Register(api, operation(http.MethodPost, "save-studio-session", one+"/save", "Save to a project", saveText, chat,
		http.StatusConflict, http.StatusUnprocessableEntity), s.save)
	huma.Register(api, operation(http.MethodGet, "stream-studio-session", one+"/events", "Follow a session", eventsText, chat),
		s.events)
	huma.Register(api, operation(http.MethodGet, "get-studio-file", one+"/files/{name}", "Fetch a file of the scene",
		"A structure of the session's scene, under the name that the scene gives it.", chat,
		http.StatusUnprocessableEntity), s.getFile)
	huma.Register(api, operation(http.MethodGet, "get-studio-operations", base+"/operations", "Read the schema of operations",
		"The JSON Schema (2020-12) of a list of operations: what messages come to, and what may be sent in their place.", chat),
		s.schema)
	s.registerPictures(api)
}

func (s *Service) registerPictures(api huma.API) {
	huma.Register(api, operation(http.MethodPost, "render-studio-scene", base+"/renders", "Order a picture or a film", renderText,
		access.Rule{Scope: access.JobsWrite, LiveOnly: true, MaxBody: sceneBodyBytes}, http.StatusPaymentRequired,
		http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity), s.render)
	huma.Register(api, operation(http.MethodPost, "preview-studio-scene", base+"/renders/preview", "Draw a small picture at once",
		previewText, access.Rule{Scope: access.MolecularChat, MaxBody: sceneBodyBytes}, http.StatusNotFound,
		http.StatusServiceUnavailable, http.StatusUnprocessableEntity), s.preview)
	export := operation(http.MethodPost, "export-studio-scene", base+"/export", "Export a scene", exportText,
		access.Rule{Scope: access.Convert}, http.StatusNotFound, http.StatusUnprocessableEntity)
	export.DefaultStatus = http.StatusCreated
	huma.Register(api, export, s.export)
}

const (
	openText = "Opens a session with a structure, a saved or exported scene, or nothing. With the same Idempotency-Key the " +
		"request may be sent again: the first session comes back."
	sayText = "Turns a sentence into operations and carries them out on the scene: all of them, or none. The reply says what was " +
		"selected, and counts it. What is not clear is asked back, what cannot be done is refused with what can be done, and " +
		"what was not understood is quoted: then nothing changes. A picture is ordered after its price was said and the next " +
		"message is a yes, which takes the scope jobs:write."
	undoText = "Goes back to the scene before. " + stepText
	stepText = "Answers like a message."
	saveText = "Keeps the scene as the member studio of a project's content: a new project, or the next revision of one, whose " +
		"other members stay. Takes the scope projects:write too."
	eventsText = "Server-sent events: one of the kind message for each message that is answered from now on, or after the id in " +
		"Last-Event-ID."
	renderText = "Makes a job of the type molecular, with its price, its stream and its outputs like any other. A pose is drawn " +
		"in its pocket, with its contacts and their lengths. The same Idempotency-Key with the same scene makes one job."
	previewText = "A PNG of at most 960×540 pixels, drawn by a renderer that a worker keeps warm; costs nothing. When none is at " +
		"hand the answer is 503 with Retry-After."
	exportText = "Writes a scene as MolViewSpec among the account's uploads. An .mvsx holds its structures; an .mvsj names " +
		"them, and never by an address that lets somebody in. What was exported can be opened as a session again (upload:KEY)."
)

func operation(method, id, at, summary, text string, rule access.Rule, further ...int) huma.Operation {
	op := access.Guarded(huma.Operation{
		OperationID: id, Method: method, Path: at, Tags: []string{"Studio"}, Summary: summary, Description: text,
	}, rule)
	op.Errors = further
	return op
}

// SessionPath is embedded in the input of every operation on one session.
type SessionPath struct {
	SessionID string `path:"sessionId" maxLength:"64" doc:"Id of the session." example:"ses_019aa63b5d2c7c319a531d8f3a0c4b52"`
}

// KeyHeader is embedded in the input of operations that may be repeated with a key.
type KeyHeader struct {
	Key string `header:"Idempotency-Key" minLength:"8" maxLength:"255" pattern:"^[^\\x00-\\x1f\\x7f]+$" patternDescription:"free of control characters" doc:"New for every new request. The same key with the same request answers as the first time, for at least 24 hours."`
}

// Replayed is embedded in the output of operations that take a key.
type Replayed struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true when an earlier request with the same key gave this answer first."`
}

func replayed(is bool) Replayed {
	if is {
		return Replayed{"true"}
	}
	return Replayed{}
}

type openInput struct {
	KeyHeader
	Body contract.StudioSessionRequest
}

type openOutput struct {
	Replayed
	Location string `header:"Location" doc:"Address of the session."`
	Body     contract.StudioSession
}

func (s *Service) open(ctx context.Context, in *openInput) (*openOutput, error) {
	session, again, err := s.Open(ctx, access.From(ctx).AccountID, in.Key, in.Body)
	if err != nil {
		return nil, err
	}
	return &openOutput{replayed(again), "/api" + sessions + "/" + session.SessionID, session}, nil
}

type listInput struct{ list.Query }

func (s *Service) list(ctx context.Context, in *listInput) (*wire.Answer[contract.StudioSessionList], error) {
	return wire.Answered(s.Sessions(ctx, access.From(ctx).AccountID, in.Query))
}

func (s *Service) get(ctx context.Context, in *SessionPath) (*wire.Answer[contract.StudioSession], error) {
	return wire.Answered(s.Session(ctx, access.From(ctx).AccountID, in.SessionID))
}

func (s *Service) remove(ctx context.Context, in *SessionPath) (*struct{}, error) {
	return nil, s.Delete(ctx, access.From(ctx).AccountID, in.SessionID)
}

type sayInput struct {
	SessionPath
	KeyHeader
	Body contract.StudioMessageRequest
}

type turnOutput struct {
	Replayed
	Body contract.StudioTurn
}

func answered(turn contract.StudioTurn, again bool, err error) (*turnOutput, error) {
	if err != nil {
		return nil, err
	}
	return &turnOutput{replayed(again), turn}, nil
}

func (s *Service) say(ctx context.Context, in *sayInput) (*turnOutput, error) {
	return answered(s.Say(ctx, access.From(ctx).AccountID, in.SessionID, in.Key, in.Body))
}

type messagesInput struct {
	SessionPath
	list.Query
}

func (s *Service) listMessages(ctx context.Context, in *messagesInput) (*wire.Answer[contract.StudioMessageList], error) {
	return wire.Answered(s.Messages(ctx, access.From(ctx).AccountID, in.SessionID, in.Query))
}

type stepInput struct {
	SessionPath
	KeyHeader
	Body *contract.StudioStepRequest `required:"false"`
}

func (s *Service) undo(ctx context.Context, in *stepInput) (*turnOutput, error) {
	return answered(s.Step(ctx, access.From(ctx).AccountID, in.SessionID, in.Key, true, valueOr(in.Body,
		contract.StudioStepRequest{})))
}

func (s *Service) redo(ctx context.Context, in *stepInput) (*turnOutput, error) {
	return answered(s.Step(ctx, access.From(ctx).AccountID, in.SessionID, in.Key, false, valueOr(in.Body,
		contract.StudioStepRequest{})))
}

type saveInput struct {
	SessionPath
	Key  string `header:"Idempotency-Key" required:"true" minLength:"8" maxLength:"255" pattern:"^[^\\x00-\\x1f\\x7f]+$" patternDescription:"free of control characters" doc:"New for every new request. The same key with the same request answers as the first time." example:"5f1c9a0e-save-3"`
	Body contract.StudioSaveRequest
}

func (s *Service) save(ctx context.Context, in *saveInput) (*wire.Answer[contract.StudioProject], error) {
	return wire.Answered(s.Save(ctx, access.From(ctx).AccountID, in.SessionID, in.Key, in.Body))
}

type eventsInput struct {
	SessionPath
	LastEvent string `header:"Last-Event-ID" doc:"Id of the last event that the client has."`
}

func (s *Service) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	accountID := access.From(ctx).AccountID
	w, err := s.watch(ctx, accountID, in.SessionID, in.LastEvent)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: s.streams.Respond(w, w.release, "session", in.SessionID, "account", accountID)}, nil
}

type fileInput struct {
	SessionPath
	Name        string `path:"name" maxLength:"100" doc:"Name of the file in the scene." example:"pdb-1cbs.cif"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of an earlier answer."`
}

func (s *Service) getFile(ctx context.Context, in *fileInput) (*huma.StreamResponse, error) {
	content, digest, err := s.SessionFile(ctx, access.From(ctx).AccountID, in.SessionID, in.Name)
	if err != nil {
		return nil, err
	}
	tag := strconv.Quote(digest)
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("ETag", tag)
		out.SetHeader("Cache-Control", "private, max-age=0")
		if digest != "" && wire.Matches(in.IfNoneMatch, tag) {
			out.SetStatus(http.StatusNotModified)
			return
		}
		out.SetHeader("Content-Type", mediaTypeOf(in.Name))
		out.SetHeader("Content-Length", strconv.Itoa(len(content)))
		out.SetStatus(http.StatusOK)
		if out.Method() != http.MethodHead {
			_, _ = out.BodyWriter().Write(content) // its reader may have gone
		}
	}}, nil
}

// mediaTypeOf is the media type of a structure by its file's name; browsers are to take none for a page.
func mediaTypeOf(name string) string {
	switch path.Ext(name) {
	case ".cif":
		return "chemical/x-cif"
	case ".pdb":
		return "chemical/x-pdb"
	}
	return "application/octet-stream"
}

func (s *Service) schema(context.Context, *struct{}) (*wire.Answer[contract.StudioObject], error) {
	return &wire.Answer[contract.StudioObject]{Body: scene.Schema()}, nil
}

type renderInput struct {
	KeyHeader
	Body contract.StudioRenderRequest
}

type renderOutput struct {
	Replayed
	Body contract.SubmitResponse
}

func (s *Service) render(ctx context.Context, in *renderInput) (*renderOutput, error) {
	receipt, err := s.Render(ctx, access.From(ctx), in.Key, in.Body)
	if err != nil {
		return nil, err
	}
	return &renderOutput{replayed(receipt.IdempotentReplay), receipt}, nil
}

type previewInput struct{ Body contract.StudioPreviewRequest }

func (s *Service) preview(ctx context.Context, in *previewInput) (*huma.StreamResponse, error) {
	png, err := s.Preview(ctx, access.From(ctx).AccountID, in.Body)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("Content-Type", mime.TypeByExtension(".png"))
		out.SetHeader("Content-Length", fmt.Sprint(len(png)))
		out.SetStatus(http.StatusOK)
		_, _ = out.BodyWriter().Write(png) // its reader may have gone
	}}, nil
}

type exportInput struct{ Body contract.StudioExportRequest }

func (s *Service) export(ctx context.Context, in *exportInput) (*wire.Answer[contract.StudioExport], error) {
	return wire.Answered(s.Export(ctx, access.From(ctx).AccountID, in.Body))
}
