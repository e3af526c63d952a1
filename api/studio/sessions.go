package studio

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

// sessionPrefix begins the id of every session.
const sessionPrefix = "ses_"

// Open begins a session with a structure, a saved scene, or nothing. With an idempotency key it may be called again.
//
// Errors: fault.Validation, also for a source that the account does not have; fault.NotFound for a project;
// fault.InsufficientScope; fault.IdempotencyKeyReused.
func (s *Service) Open(
	ctx context.Context, accountID, key string, request contract.StudioSessionRequest,
) (view contract.StudioSession, replayed bool, err error) {
	if request.Source != "" && request.ProjectID != "" {
		return view, false, fault.New(fault.Validation, "source and projectId exclude each other: give one of them")
	}
	if request.Revision != nil && request.ProjectID == "" {
		return view, false, fault.New(fault.Validation, "revision: is that of a project; give projectId too")
	}
	row := session{ID: id.New(sessionPrefix), AccountID: accountID, Title: request.Title, Revision: 1, SceneVersion: 1}
	row.CreatedAt = s.now()
	row.UpdatedAt = row.CreatedAt
	state, err := s.begun(ctx, accountID, request, &row)
	if err != nil {
		return view, false, err
	}
	for _, source := range state.History.Scene().Sources() {
		if err := needsFor(ctx, source); err != nil {
			return view, false, err
		}
	}
	engine, _ := s.studio(accountID)
	files, err := engine.Files(ctx, state.History.Scene())
	if err != nil {
		return view, false, sourceFault("source", err)
	}
	row.Title = cmp.Or(row.Title, titleOf(state.History.Scene(), files), "Untitled")
	if row.State, err = json.Marshal(state); err != nil {
		return view, false, fmt.Errorf("write the state of a session: %w", err)
	}
	if row.ID, replayed, err = s.keep(ctx, accountID, key, request, row); err != nil {
		return view, false, err
	}
	view, err = s.Session(ctx, accountID, row.ID)
	return view, replayed, err
}

// begun is the state that a session begins with.
func (s *Service) begun(
	ctx context.Context, accountID string, request contract.StudioSessionRequest, row *session,
) (studio.State, error) {
	state := studio.NewState()
	switch {
	case request.ProjectID != "":
		saved, version, err := s.saved(ctx, accountID, request.ProjectID, valueOr(request.Revision, 0))
		if err != nil {
			return state, err
		}
		row.Title = cmp.Or(row.Title, saved.Title)
		row.ProjectID = sql.NullString{String: request.ProjectID, Valid: true}
		row.ProjectVersion = sql.NullInt64{Int64: version, Valid: true}
		state.History = scene.NewHistory(saved.Scene)
	case request.Source != "":
		first, err := s.firstScene(ctx, accountID, request.Source)
		if err != nil {
			return state, sourceFault("source", err)
		}
		state.History = scene.NewHistory(first)
	}
	return state, nil
}

// firstScene is what a source looks like before anybody has said anything: a scene that was exported, else the default view of a
// structure.
func (s *Service) firstScene(ctx context.Context, accountID, source string) (scene.Model, error) {
	engine, shelf := s.studio(accountID)
	if name, ok := strings.CutPrefix(source, "upload:"); ok && isScene(name) {
		return shelf.exported(ctx, name)
	}
	if err := needsFor(ctx, source); err != nil {
		return scene.Model{}, err
	}
	state, turn, err := engine.Say(ctx, studio.NewState(), studio.Message{Operations: []scene.Operation{
		scene.Do(scene.Load{Source: source})}})
	if err != nil {
		return scene.Model{}, err
	}
	if !turn.Changed {
		return scene.Model{}, fault.New(fault.Validation, "%s", strings.TrimSuffix(turn.Reply, "."))
	}
	return state.History.Scene(), nil
}

// needsFor refuses a caller who may talk but not read what jobs have made.
func needsFor(ctx context.Context, source string) error {
	kind, _, _ := strings.Cut(source, ":")
	if slices.Contains([]string{"pose", "run", "frame", "artifact"}, kind) {
		return needs(ctx, access.JobsRead, "a session about "+source)
	}
	return nil
}

// sourceFault names the field in what is wrong with a source.
func sourceFault(field string, err error) error {
	if unfound, ok := errors.AsType[*studio.UnfoundError](err); ok {
		return fault.New(fault.Validation, "%s: %s: %s", field, unfound.Source, unfound.Reason)
	}
	if invalid, ok := errors.AsType[*scene.InvalidError](err); ok {
		if invalid.Argument == "source" {
			return fault.New(fault.Validation, "%s: expected pdb:ID, alphafold:ACCESSION, pose:ID, run:ID, frame:JOB/N, "+
				"artifact:ID or upload:KEY", field)
		}
		return fault.New(fault.Validation, "%s: %s", field, invalid.Message)
	}
	if fault.Is(err, fault.Validation) {
		return fault.New(fault.Validation, "%s: %s", field, messageOf(err))
	}
	return err
}

func messageOf(err error) string {
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known.Message
	}
	return err.Error()
}

// titleOf is the title of the first structure.
func titleOf(m scene.Model, files scene.Files) string {
	for _, shown := range m.Structures {
		if structure := files[shown.Source].Structure; structure != nil {
			title := strings.TrimSpace(structure.ID + " " + structure.Title)
			const most = 200
			return title[:min(len(title), most)]
		}
	}
	return ""
}

// keep stores a session once for its key, and returns the id of the first.
func (s *Service) keep(
	ctx context.Context, accountID, key string, request any, row session,
) (sessionID string, replayed bool, err error) {
	sessionID = row.ID
	err = postgres.InTx(ctx, s.deps.DB, func(tx *sqlx.Tx) error {
		if key != "" {
			first, err := s.take(ctx, tx, accountID, "open", key, request, row.ID)
			if err != nil || first != "" {
				sessionID, replayed = cmp.Or(first, sessionID), first != ""
				return err
			}
		}
		sessions, err := s.store.lockAccount(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if sessions >= maxSessions {
			return fault.New(fault.Validation, "the account has %d sessions, and no more are allowed: delete one first", sessions)
		}
		return s.store.insert(ctx, tx, row)
	})
	return sessionID, replayed, err
}

// take claims a key for a request, whose answer is a text; first is the answer of an earlier call.
func (s *Service) take(
	ctx context.Context, tx *sqlx.Tx, accountID, operation, key string, request any, answer string,
) (first string, err error) {
	text, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("write the request to compare: %w", err)
	}
	kept, err := json.Marshal(answer)
	if err != nil {
		return "", fmt.Errorf("write an answer: %w", err)
	}
	found, err := idempotency.Take(ctx, tx, idempotency.Claim{AccountID: accountID, Operation: "studio." + operation, Key: key,
		Request: text}, kept, s.now())
	if err != nil || found == nil {
		return "", err
	}
	err = json.Unmarshal(found, &first)
	return first, err
}

// Session reads a session with its scene. Errors: fault.NotFound; fault.ArtifactNotFound when a structure of it is gone.
func (s *Service) Session(ctx context.Context, accountID, sessionID string) (contract.StudioSession, error) {
	row, state, err := s.session(ctx, accountID, sessionID)
	if err != nil {
		return contract.StudioSession{}, err
	}
	engine, _ := s.studio(accountID)
	m := state.History.Scene()
	files, err := engine.Files(ctx, m)
	if err != nil {
		return contract.StudioSession{}, goneFault(err)
	}
	view := contract.StudioSession{StudioSessionSummary: row.summary(), Structures: structuresOf(m, files), At: state.History.At,
		Question: pendingQuestion(state), Steps: make([]contract.StudioStep, len(state.History.Steps))}
	for i, step := range state.History.Steps {
		view.Steps[i].Operations = operationViews(step.Operations)
	}
	if row.ProjectID.Valid {
		view.Project = &contract.StudioProject{ProjectID: row.ProjectID.String, Version: row.ProjectVersion.Int64}
	}
	view.Scene, err = s.document(m, files, row.Title)
	return view, err
}

// goneFault is the answer of a session whose structures cannot be had any more.
func goneFault(err error) error {
	if unfound, ok := errors.AsType[*studio.UnfoundError](err); ok {
		return fault.New(fault.ArtifactNotFound, "%s of the session's scene: %s", unfound.Source, unfound.Reason)
	}
	return err
}

// session reads a session's row and state. Errors: fault.NotFound.
func (s *Service) session(ctx context.Context, accountID, sessionID string) (session, studio.State, error) {
	if !strings.HasPrefix(sessionID, sessionPrefix) || strings.Contains(sessionID, "\x00") {
		return session{}, studio.State{}, fault.New(fault.NotFound, "no such session")
	}
	row, err := s.store.session(ctx, accountID, sessionID)
	if err != nil {
		return row, studio.State{}, err
	}
	var state studio.State
	if err := json.Unmarshal(row.State, &state); err != nil {
		return row, state, fmt.Errorf("read the state of session %s: %w", row.ID, err)
	}
	return row, state, nil
}

func (row session) summary() contract.StudioSessionSummary {
	return contract.StudioSessionSummary{SessionID: row.ID, Title: row.Title, SceneVersion: row.SceneVersion,
		Messages:  row.Messages,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt}
}

// Sessions reads a page of the account's sessions, newest first. Errors: fault.InvalidCursor.
func (s *Service) Sessions(ctx context.Context, accountID string, query list.Query) (contract.StudioSessionList, error) {
	from, err := list.Read[list.Position](query.Cursor)
	if err != nil {
		return contract.StudioSessionList{}, err
	}
	rows, err := s.store.sessions(ctx, accountID, from, query.Limit+1)
	if err != nil {
		return contract.StudioSessionList{}, err
	}
	rows, next := list.Cut(rows, query.Limit, func(row session) list.Position {
		return list.Position{At: row.CreatedAt,
			ID: row.ID}
	})
	answer := contract.StudioSessionList{Sessions: make([]contract.StudioSessionSummary, len(rows)), NextCursor: next}
	for i, row := range rows {
		answer.Sessions[i] = row.summary()
	}
	return answer, nil
}

// Delete ends a session and forgets what was said. Errors: fault.NotFound.
func (s *Service) Delete(ctx context.Context, accountID, sessionID string) error {
	return s.store.delete(ctx, accountID, sessionID)
}

// structuresOf are the structures of a scene.
func structuresOf(m scene.Model, files scene.Files) []contract.StudioStructure {
	found := []contract.StudioStructure{}
	for _, shown := range m.Structures {
		file := files[shown.Source]
		one := contract.StudioStructure{Source: shown.Source, File: file.URL, Format: file.Format}
		if file.Structure != nil {
			one.Title = file.Structure.Title
			if table := file.Structure.Table(shown.Model); table != nil {
				one.Atoms = len(table.Atoms)
			}
		}
		found = append(found, one)
	}
	return found
}

// pendingQuestion is what the last message left open.
func pendingQuestion(state studio.State) *contract.StudioQuestion {
	if state.Pending == nil {
		return nil
	}
	question := &contract.StudioQuestion{About: state.Pending.About, Choices: []string{}}
	for _, choice := range state.Pending.Choices {
		question.Choices = append(question.Choices, choice.Name)
	}
	return question
}

// operationViews are operations on the wire.
func operationViews(operations []scene.Operation) []contract.StudioOperation {
	views := make([]contract.StudioOperation, len(operations))
	for i, operation := range operations {
		args, err := json.Marshal(operation.Args)
		if err != nil {
			args = []byte("{}") // of types of our own, which are written always
		}
		views[i] = contract.StudioOperation{Op: operation.Op, Args: args}
	}
	return views
}

// valueOr is what a pointer points at, or something else.
func valueOr[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}
