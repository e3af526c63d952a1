// Package model understands sentences about a scene by asking a language model, where the grammar of internal/director did not
// understand the whole of one. It speaks to one endpoint of the kind that OpenAI has made usual (POST {base}/chat/completions).
//
// Whatever the model answers is held against the vocabulary of internal/scene and a check of the caller's: it can name operations
// and nothing else. Names, titles and texts of files reach it as data, quoted and bounded, and it never sees coordinates. It loads
// only entries of the Protein Data Bank and AlphaFold models, and what the user's own message names.
package model

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/molfabric/molfabric/internal/director"
	"github.com/molfabric/molfabric/internal/scene"
)

const (
	// MaxTimeout bounds a message, both rounds together: somebody waits for the answer.
	MaxTimeout = 10 * time.Second
	// maxRounds: the second one mends the first.
	maxRounds = 2
	// maxNameBytes bounds the name of a model.
	maxNameBytes = 200
)

// Config says where a model is. URL is the base of the endpoint, such as https://models.example.org/v1; Key may be "". Timeout is
// at most MaxTimeout, which 0 stands for.
type Config struct {
	URL     string
	Model   string
	Key     string
	Timeout time.Duration
}

// Model asks a language model. It is safe for concurrent use.
type Model struct {
	config Config
	client *openai.Client
	// form is how the server takes requests: the most that it has not refused.
	form atomic.Int32
}

// Answer is what a model has understood. The tokens are those of all rounds, as the server counts them; 0 where it does not say.
type Answer struct {
	Operations       []scene.Operation
	PromptTokens     int
	CompletionTokens int
}

// New returns a model; nothing is asked yet. Errors name the member of the configuration.
func New(c Config) (*Model, error) {
	address, err := url.Parse(c.URL)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || address.User != nil ||
		address.RawQuery != "" || address.Fragment != "" {
		return nil, errors.New("url: give the base address of an OpenAI-compatible endpoint, such as " +
			"https://models.example.org/v1, without a user or a query")
	}
	if c.Model == "" || len(c.Model) > maxNameBytes {
		return nil, fmt.Errorf("model: give the name that the endpoint has for a model, of at most %d bytes", maxNameBytes)
	}
	if c.Timeout == 0 {
		c.Timeout = MaxTimeout
	}
	if c.Timeout < 0 || c.Timeout > MaxTimeout {
		return nil, fmt.Errorf("timeout: %s; allowed is up to %s", c.Timeout, MaxTimeout)
	}
	return &Model{config: c, client: newClient(c)}, nil
}

// Name is what the endpoint calls the model.
func (m *Model) Name() string { return m.config.Model }

// Understand asks the model what a message means in a world. Check is a dry run of operations, such as scene.Apply's; what it
// refuses is told to the model, which may answer once more. A question that check comes back with (*scene.QuestionError) is an
// answer: the operations are returned for the caller to ask it. A refusal (*scene.RefusedError) that the second answer leads to as
// well is returned as an operation. A question or a refusal of the model's own stands alone and is not checked.
//
// Errors: *UnavailableError where the model is away, slow or refuses; *UselessError where two answers were no use, and then the
// tokens that they took are returned beside it; that of the context when the caller's is done.
func (m *Model) Understand(
	ctx context.Context, world director.Context, message string, check func([]scene.Operation) error,
) (Answer, error) {
	if len(message) > director.MaxMessageBytes {
		return Answer{}, &UselessError{Reason: fmt.Sprintf("the message is longer than %d bytes", director.MaxMessageBytes)}
	}
	bounded, cancel := context.WithTimeout(ctx, m.config.Timeout)
	defer cancel()
	asked, err := m.converse(bounded, world, message, check)
	if ctx.Err() != nil {
		return Answer{}, fmt.Errorf("ask the model: %w", ctx.Err())
	}
	return asked, err
}

// converse goes through the rounds.
func (m *Model) converse(
	ctx context.Context, world director.Context, message string, check func([]scene.Operation) error,
) (Answer, error) {
	turns, err := opening(world, message)
	if err != nil {
		return Answer{}, err
	}
	var answer Answer
	var fault error
	for range maxRounds {
		var said string
		said, fault = m.ask(ctx, turns, &answer)
		if _, away := errors.AsType[*UnavailableError](fault); away {
			return answer, fault
		}
		var operations []scene.Operation
		if fault == nil {
			operations, fault = operationsIn(said)
		}
		if fault == nil {
			fault = permitted(operations, world, message, check)
		}
		if _, asks := errors.AsType[*scene.QuestionError](fault); asks || fault == nil {
			answer.Operations = operations
			return answer, nil
		}
		turns = append(turns, mending(said, fault)...)
	}
	if refused, ok := errors.AsType[*scene.RefusedError](fault); ok {
		answer.Operations = []scene.Operation{refused.Operation()}
		return answer, nil
	}
	return answer, &UselessError{Reason: "two answers were no use", Detail: bounded(fault.Error(), maxDetailRunes)}
}

// permitted tells what speaks against an answer: the vocabulary was checked before.
func permitted(
	operations []scene.Operation, world director.Context, message string, check func([]scene.Operation) error,
) error {
	if len(operations) == 0 {
		return errors.New("there is no operation; answer with refuse or ask where nothing can be done")
	}
	for i, operation := range operations {
		switch args := operation.Args.(type) {
		case scene.Ask, scene.Refuse:
			if len(operations) > 1 {
				return fmt.Errorf("operation %d: %s must stand alone", i+1, operation.Op)
			}
			return nil
		case scene.Load:
			if !mayLoad(args.Source, message) {
				return fmt.Errorf("operation %d: load: only pdb: and alphafold: sources, or what the message itself names", i+1)
			}
		case scene.Volume:
			if !slices.Contains(world.Volumes, args.Source) {
				return fmt.Errorf("operation %d: volume: only the maps of scene.maps", i+1)
			}
		}
	}
	return check(operations)
}

// mayLoad tells whether a source may be loaded: everybody's entries, and what the message itself names, letter for letter.
func mayLoad(source, message string) bool {
	if strings.HasPrefix(source, "pdb:") || strings.HasPrefix(source, "alphafold:") {
		return true
	}
	for rest := message; ; {
		_, after, found := strings.Cut(rest, source)
		if !found {
			return false
		}
		if after == "" || !isNameByte(after[0]) {
			return true
		}
		rest = after
	}
}

// isNameByte tells the characters that a source may go on with, so that no part of a name is taken for the whole.
func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
