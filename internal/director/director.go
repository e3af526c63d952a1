// Package director turns an English sentence about a molecular scene into operations by a grammar: no model, no network, no
// randomness. One sentence and one Context always give the same Understanding. It holds the words of the field (in words/), the
// repair of spelling, clauses, noun phrases, references and questions. It does not know atoms: whether a selection is empty is for
// the room that has the coordinates.
//
// Everything or nothing: a sentence of which a clause was not understood gives no operation, and the clause is quoted back. What
// fits several things is one question; what cannot be done, or would be a guess at science, is refused with what can be done
// instead.
package director

import "strings"

const (
	// MaxMessageBytes bounds a message: a longer one is no instruction.
	MaxMessageBytes = 2000
	// MaxOperations bounds what one message may do.
	MaxOperations = 20
	// maxTokens bounds the words of a message.
	maxTokens = 300
	// maxDepth bounds phrases within phrases: "residues around the ligand in the chain of …".
	maxDepth = 8
	// maxTries bounds how often a noun phrase is looked for. Ordinary messages need some dozens; phrases within phrases are read
	// again each time that somebody looks ahead.
	maxTries = 3000
)

// Operation is one step on the scene: a name of the vocabulary and its arguments, which are strings, numbers (int or float64),
// booleans, []string, []any or map[string]any.
type Operation struct {
	Op   string         `json:"op"`
	Args map[string]any `json:"args"`
}

// Understanding is what a sentence means. Exactly one of Operations and NotUnderstood is filled.
type Understanding struct {
	// Operations are carried out in order, whole or not at all. An ask or a refuse stands alone.
	Operations []Operation
	// NotUnderstood quotes the clauses that the grammar could not read.
	NotUnderstood []string
	// Pending is the question that Operations asks: to be given back in the Context of the next message.
	Pending *Pending
	// Repairs are the words that were taken for others, as "shwo → show".
	Repairs []string
}

// Understand reads one message. It is pure and may be called concurrently.
func Understand(ctx Context, message string) Understanding {
	if len(message) > MaxMessageBytes {
		return refused("out_of_scope", "a message of this length", "say it in fewer words")
	}
	tokens := tokenise(message)
	if len(tokens) == 0 || len(tokens) > maxTokens {
		return Understanding{NotUnderstood: []string{strings.TrimSpace(message)}}
	}
	lexicon := theLexicon()
	repairs := lexicon.repair(&ctx, tokens)
	p := &parser{ctx: &ctx, lexicon: lexicon, lex: lexicon.lexemes(&ctx, tokens), last: ctx.Last, wholes: map[string]string{}}
	p.placeAppositions()
	understanding := p.understand()
	understanding.Repairs = repairs
	return understanding
}

// understand tries, in this order: orders to the machinery itself, the answer to the pending question, a question, clauses.
func (p *parser) understand() Understanding {
	if p.foul() {
		return refused("out_of_scope", "instructions", "say what the picture should show")
	}
	if answered, ok := p.answer(); ok {
		return answered
	}
	if operations, ok := p.question(); ok {
		return p.finish(operations)
	}
	if operations, ok := p.exchange(); ok {
		return p.finish(operations)
	}
	operations, unread := p.sentence()
	if len(unread) == 0 {
		return p.finish(operations)
	}
	return p.giveUp(unread)
}

// finish bounds the operations and asks for a structure where there is none.
func (p *parser) finish(operations []Operation) Understanding {
	switch {
	case p.stop != nil:
		return Understanding{Operations: []Operation{*p.stop}, Pending: p.waiting(operations)}
	case len(operations) == 0:
		return Understanding{NotUnderstood: []string{p.quote(0, len(p.lex))}}
	case len(operations) > MaxOperations:
		return refused("unsupported", "so many steps in one message", "say it in several messages")
	case p.ctx.Structure == "" && !worksOnNothing(operations[0]):
		return Understanding{Operations: []Operation{question("structure", nil)}}
	}
	return Understanding{Operations: operations}
}

// worksOnNothing tells whether an operation makes sense before a structure is loaded.
func worksOnNothing(operation Operation) bool {
	switch operation.Op {
	case "load", "ask", "refuse", "undo", "redo", "background", "effects":
		return true
	case "describe":
		return operation.Args["about"] == "help"
	}
	return false
}

func refused(reason, feature, alternative string) Understanding {
	return Understanding{Operations: []Operation{refusal(reason, feature, alternative)}}
}

// refusal says why something is not done and what can be done instead; without an alternative the argument is left out.
func refusal(reason, feature, alternative string) Operation {
	args := map[string]any{"reason": reason, "feature": clip(feature, 80)}
	if alternative != "" {
		args["alternative"] = clip(alternative, 200)
	}
	return Operation{"refuse", args}
}

// question asks for one of the choices; without any the argument is left out.
func question(about string, choices []string) Operation {
	args := map[string]any{"about": about}
	if len(choices) > 0 {
		args["choices"] = choices[:min(len(choices), maxChoices)]
	}
	return Operation{"ask", args}
}

// maxChoices bounds what a question offers.
const maxChoices = 12

// clip cuts a text to at most length characters.
func clip(text string, length int) string {
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length])
	}
	return text
}
