package studio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

// maxStateBytes bounds what a session remembers: the oldest steps go first.
const maxStateBytes = 4 << 20

// Say answers a message: whole or not at all. What was not understood, or cannot be done, is told and is no error. With an
// idempotency key it may be called again and answers as the first time.
//
// Errors: fault.NotFound; fault.VersionConflict when the scene is not the one that the caller sees; fault.Validation for operations
// and selections that are none; fault.ArtifactNotFound when a structure of the session is gone; fault.IdempotencyKeyReused.
func (s *Service) Say(
	ctx context.Context, accountID, sessionID, key string, request contract.StudioMessageRequest,
) (turn contract.StudioTurn, replayed bool, err error) {
	said, err := messageOfRequest(request)
	if err != nil {
		return turn, false, err
	}
	for range tries {
		turn, replayed, err = s.sayOnce(ctx, accountID, sessionID, key, request, said)
		if !errors.Is(err, errOvertaken) {
			return turn, replayed, err
		}
	}
	return turn, false, fault.New(fault.IdempotencyInProgress,
		"other messages to this session came first, again and again; send this one again when they are answered")
}

// errOvertaken says that another message was answered meanwhile.
var errOvertaken = errors.New("another message came first")

// messageOfRequest checks what a schema cannot. Errors: fault.Validation.
func messageOfRequest(request contract.StudioMessageRequest) (studio.Message, error) {
	said := studio.Message{Text: request.Message, Selected: request.Selection}
	switch {
	case request.Message == "" && len(request.Operations) == 0:
		return said, fault.New(fault.Validation, "message: say what to do, or send operations")
	case request.Message != "" && len(request.Operations) > 0:
		return said, fault.New(fault.Validation, "message and operations exclude each other: give one of them")
	}
	if request.Selection != "" {
		if _, err := scene.ParseSelection(request.Selection); err != nil {
			return said, fault.New(fault.Validation, "selection: %s", err)
		}
	}
	if len(request.Operations) > 0 {
		operations, err := readOperations(request.Operations)
		if err != nil {
			return said, err
		}
		said.Operations = operations
	}
	return said, nil
}

// readOperations reads operations from the wire. Errors: fault.Validation.
func readOperations(views []contract.StudioOperation) ([]scene.Operation, error) {
	text, err := json.Marshal(views)
	if err != nil {
		return nil, fmt.Errorf("write operations: %w", err)
	}
	operations, err := scene.Parse(text)
	if err != nil {
		return nil, asValidation(err)
	}
	return operations, nil
}

// asValidation gives what is wrong with operations its place in the request.
func asValidation(err error) error {
	if invalid, ok := errors.AsType[*scene.InvalidError](err); ok {
		place := "operations"
		if invalid.Index >= 0 {
			place += "[" + strconv.Itoa(invalid.Index) + "]"
		}
		if invalid.Argument != "" {
			place += ".args." + invalid.Argument
		}
		return fault.New(fault.Validation, "%s: %s", place, invalid.Message)
	}
	if wrong, ok := errors.AsType[*scene.SelectionError](err); ok {
		return fault.New(fault.Validation, "operations: %s", wrong.Error())
	}
	return goneFault(err)
}

func (s *Service) sayOnce(
	ctx context.Context, accountID, sessionID, key string, request contract.StudioMessageRequest, said studio.Message,
) (turn contract.StudioTurn, replayed bool, err error) {
	row, state, err := s.session(ctx, accountID, sessionID)
	if err != nil {
		return turn, false, err
	}
	claim, err := claimOf(accountID, sessionID, key, request)
	if err != nil {
		return turn, false, err
	}
	if key != "" {
		first, err := idempotency.Find(ctx, s.deps.DB, claim, s.now())
		if err != nil || first != nil {
			return again(first, err)
		}
	}
	if request.SceneVersion != nil && *request.SceneVersion != row.SceneVersion {
		return turn, false, fault.Conflict(row.SceneVersion, "sceneVersion: the scene is at version %d by now; read the session "+
			"again",
			row.SceneVersion)
	}
	if row.Messages >= maxMessages {
		return turn, false, fault.New(fault.Validation, "the session has %d messages, and no more are allowed: save it to a "+
			"project and open another one from there", row.Messages)
	}
	next, answer, err := s.answer(ctx, accountID, state, said)
	if err != nil {
		return turn, false, err
	}
	if answer.Changed {
		row.SceneVersion++
	}
	if turn, err = s.view(ctx, accountID, row, next, answer); err != nil {
		return turn, false, err
	}
	turn.Message, turn.DryRun = request.Message, request.DryRun
	if request.DryRun {
		return turn, false, nil
	}
	if answer.Confirmed != nil {
		if err := s.orderConfirmed(ctx, row, *answer.Confirmed, &turn); err != nil {
			return turn, false, err
		}
	}
	turn.MessageID = id.New("msg_")
	if err = s.commit(ctx, row, next, turn, claim); err == nil {
		s.metrics.count(answer)
	}
	return turn, false, err
}

// answer lets the studio answer, and gives its errors their codes.
func (s *Service) answer(
	ctx context.Context, accountID string, state studio.State, said studio.Message,
) (studio.State, studio.Turn, error) {
	for _, source := range scene.Sources(said.Operations) {
		if err := needsFor(ctx, source); err != nil {
			return state, studio.Turn{}, err
		}
	}
	engine, _ := s.studio(accountID)
	next, answer, err := engine.Say(ctx, state, said)
	if err != nil {
		return state, answer, asValidation(err)
	}
	for _, source := range scene.Sources(answer.Operations) {
		if err := needsFor(ctx, source); err != nil {
			return state, studio.Turn{}, err
		}
	}
	return next, answer, nil
}

func claimOf(accountID, sessionID, key string, request contract.StudioMessageRequest) (idempotency.Claim, error) {
	text, err := json.Marshal(struct {
		SessionID string `json:"sessionId"`
		contract.StudioMessageRequest
	}{sessionID, request})
	if err != nil {
		return idempotency.Claim{}, fmt.Errorf("write the request to compare: %w", err)
	}
	return idempotency.Claim{AccountID: accountID, Operation: "studio.say", Key: key, Request: text}, nil
}

// again is the answer that an earlier call with the same key got, with the scene as it was then.
func again(first []byte, err error) (turn contract.StudioTurn, replayed bool, _ error) {
	if err != nil {
		return turn, false, err
	}
	if err := json.Unmarshal(first, &turn); err != nil {
		return turn, false, fmt.Errorf("read an earlier answer: %w", err)
	}
	return turn, true, nil
}

// commit stores a turn. Errors: errOvertaken when another message was answered meanwhile.
func (s *Service) commit(
	ctx context.Context, row session, next studio.State, turn contract.StudioTurn, claim idempotency.Claim,
) error {
	var err error
	if row.State, err = stateText(next); err != nil {
		return err
	}
	row.Messages++
	row.UpdatedAt = turn.CreatedAt
	body, err := json.Marshal(turn.StudioMessage)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	answer, err := json.Marshal(turn)
	if err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	return postgres.InTx(ctx, s.deps.DB, func(tx *sqlx.Tx) error {
		if claim.Key != "" {
			first, err := idempotency.Take(ctx, tx, claim, answer, s.now())
			if err != nil {
				return err
			}
			if first != nil {
				return errOvertaken // by a call with the same key, whose answer the next try finds
			}
		}
		done, err := s.store.update(ctx, tx, row)
		if err != nil {
			return err
		}
		if !done {
			return errOvertaken
		}
		return s.store.say(ctx, tx, row.AccountID, row.ID, body, turn.CreatedAt)
	})
}

// stateText writes a state, without its oldest steps where it has grown too large.
func stateText(state studio.State) ([]byte, error) {
	for {
		text, err := json.Marshal(state)
		if err != nil {
			return nil, fmt.Errorf("write the state of a session: %w", err)
		}
		if len(text) <= maxStateBytes || state.History.At == 0 {
			return text, nil
		}
		drop := max(1, state.History.At/2)
		state.History.Steps, state.History.At = state.History.Steps[drop:], state.History.At-drop
	}
}

// view is a turn on the wire.
func (s *Service) view(
	ctx context.Context, accountID string, row session, state studio.State, answer studio.Turn,
) (contract.StudioTurn, error) {
	turn := contract.StudioTurn{StudioMessage: contract.StudioMessage{
		Reply: answer.Reply, UnderstoodBy: answer.Understood, Operations: operationViews(answer.Operations),
		ResolvedSelections: []contract.StudioSelection{}, Warnings: orEmpty(answer.Warnings),
		NotUnderstood: orEmpty(answer.NotUnderstood), Changed: answer.Changed, SceneVersion: row.SceneVersion, CreatedAt: s.now(),
	}}
	for _, one := range answer.Selections {
		turn.ResolvedSelections = append(turn.ResolvedSelections, contract.StudioSelection(one))
	}
	if answer.Question != nil {
		turn.Question = &contract.StudioQuestion{About: answer.Question.About, Choices: orEmpty(answer.Question.Choices)}
	}
	engine, _ := s.studio(accountID)
	m := state.History.Scene()
	files, err := engine.Files(ctx, m)
	if err != nil {
		return turn, goneFault(err)
	}
	s.offer(ctx, row, answer, &turn)
	turn.Scene, err = s.document(m, files, row.Title)
	return turn, err
}

func orEmpty(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// Step goes back or forth among the session's scenes. Errors: those of Say.
func (s *Service) Step(
	ctx context.Context, accountID, sessionID, key string, back bool, request contract.StudioStepRequest,
) (contract.StudioTurn, bool, error) {
	var operation scene.Operation
	if back {
		operation = scene.Do(scene.Undo{Steps: request.Steps})
	} else {
		operation = scene.Do(scene.Redo{Steps: request.Steps})
	}
	return s.Say(ctx, accountID, sessionID, key, contract.StudioMessageRequest{
		Operations: operationViews([]scene.Operation{operation}), SceneVersion: request.SceneVersion})
}

// Messages reads a page of what was said, newest first. Errors: fault.NotFound, fault.InvalidCursor.
func (s *Service) Messages(
	ctx context.Context, accountID, sessionID string, query list.Query,
) (contract.StudioMessageList, error) {
	if _, _, err := s.session(ctx, accountID, sessionID); err != nil {
		return contract.StudioMessageList{}, err
	}
	from, err := list.Read[list.Position](query.Cursor)
	if err != nil {
		return contract.StudioMessageList{}, err
	}
	before := int64(0)
	if from != nil {
		if before, err = strconv.ParseInt(from.ID, 10, 64); err != nil || before < 1 {
			return contract.StudioMessageList{}, list.Invalid()
		}
	}
	rows, err := s.store.messages(ctx, accountID, sessionID, before, query.Limit+1)
	if err != nil {
		return contract.StudioMessageList{}, err
	}
	rows, next := list.Cut(rows, query.Limit, func(m message) list.Position {
		return list.Position{At: m.CreatedAt, ID: strconv.FormatInt(m.Number, 10)}
	})
	answer := contract.StudioMessageList{Messages: make([]contract.StudioMessage, len(rows)), NextCursor: next}
	for i, row := range rows {
		if err := json.Unmarshal(row.Body, &answer.Messages[i]); err != nil {
			return answer, fmt.Errorf("read message %d: %w", row.Number, err)
		}
	}
	return answer, nil
}
