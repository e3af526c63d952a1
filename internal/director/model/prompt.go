package model

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	openai "github.com/sashabaranov/go-openai"

	"github.com/molfabric/molfabric/internal/director"
	"github.com/molfabric/molfabric/internal/scene"
)

// rules is what every model is told; the vocabulary follows.
//
//go:embed rules.txt
var rules string

const (
	// maxTextRunes bounds a title or a selection in the data, maxNameRunes a name.
	maxTextRunes = 200
	maxNameRunes = 60
	// maxDataBytes bounds all of it: a structure of sixty chains with as many ligands.
	maxDataBytes = 16 << 10
	// maxSynonyms bounds the names of one component.
	maxSynonyms = 4
)

// listLimits are how long lists of the data may be; the first with which all of it fits is taken.
var listLimits = []int{60, 20, 5, 1}

// system is the same for every message, so that a server can keep what it has read of it.
var system = sync.OnceValue(func() string { return rules + "\n" + compact(scene.Schema()) + "\n" })

// compact is JSON without spaces.
func compact(text []byte) string {
	var short bytes.Buffer
	if err := json.Compact(&short, text); err != nil {
		return string(text) // a test sees to it that it is JSON
	}
	return short.String()
}

// answerSchema is the schema of an answer: an object, which servers want at the top, with the list of operations.
var answerSchema = sync.OnceValue(func() []byte {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(scene.Schema(), &list); err != nil {
		return nil // a test sees to it that it is JSON
	}
	definitions := list["$defs"]
	delete(list, "$defs")
	delete(list, "$schema")
	text, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"operations"}, "additionalProperties": false,
		"properties": map[string]any{"operations": list}, "$defs": definitions,
	})
	if err != nil {
		return nil
	}
	return text
})

// opening are the first turns of a conversation: the rules, and the message with what it is said in as one JSON object, out of
// which no text can break.
func opening(world director.Context, message string) ([]openai.ChatCompletionMessage, error) {
	for _, limit := range listLimits {
		text, err := json.Marshal(struct {
			Scene   data   `json:"scene"`
			Message string `json:"message"`
		}{dataOf(world, limit), clean(message)})
		if err != nil {
			return nil, fmt.Errorf("write the prompt: %w", err)
		}
		if len(text) <= maxDataBytes+len(message)*2 || limit == listLimits[len(listLimits)-1] {
			return []openai.ChatCompletionMessage{
				{Role: openai.ChatMessageRoleSystem, Content: system()}, {Role: openai.ChatMessageRoleUser, Content: string(text)},
			}, nil
		}
	}
	return nil, nil // the last limit returns
}

// maxQuotedRunes bounds what a model sees again of an answer that was no use.
const maxQuotedRunes = 4000

// mending are the turns that ask for a better answer.
func mending(said string, fault error) []openai.ChatCompletionMessage {
	text, err := json.Marshal(map[string]string{
		"error": bounded(fault.Error(), maxDetailRunes), "task": "Answer the message again, with this mended; JSON alone.",
	})
	if err != nil {
		text = []byte(`{"task": "Answer the message again; JSON alone."}`)
	}
	if said = bounded(said, maxQuotedRunes); said == "" {
		said = "{}" // some servers take no empty turn
	}
	return []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleAssistant, Content: said}, {Role: openai.ChatMessageRoleUser, Content: string(text)},
	}
}

// data is what a model learns of a scene. Every text in it is clean and bounded.
type data struct {
	Structure  string            `json:"structure"` // "" where nothing is loaded
	Title      string            `json:"title,omitempty"`
	Predicted  bool              `json:"predicted,omitempty"`
	Chains     []chainData       `json:"chains,omitempty"`
	Ligands    []componentData   `json:"ligands,omitempty"`
	Ions       []componentData   `json:"ions,omitempty"`
	Modified   []componentData   `json:"modifiedResidues,omitempty"`
	Glycans    bool              `json:"glycans,omitempty"`
	Waters     bool              `json:"waters,omitempty"`
	Assemblies []string          `json:"assemblies,omitempty"`
	Models     int               `json:"models,omitempty"`
	Maps       []string          `json:"maps,omitempty"`
	Shown      []string          `json:"shown,omitempty"`
	Selected   string            `json:"selected,omitempty"`
	Last       string            `json:"last,omitempty"`
	Named      map[string]string `json:"named,omitempty"`
	Question   *questionData     `json:"question,omitempty"`
	// Unlisted counts what the lists have no room for.
	Unlisted int `json:"unlisted,omitempty"`
}

type chainData struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Residues string `json:"residues"` // in author numbering
}

type componentData struct {
	Name     string   `json:"name"`
	Synonyms []string `json:"synonyms,omitempty"`
	At       []string `json:"at"` // chain/number
	Count    int      `json:"count"`
}

type questionData struct {
	About   string   `json:"about"`
	Choices []string `json:"choices"`
}

func dataOf(world director.Context, limit int) data {
	d := data{
		Structure: name(world.Structure), Title: bounded(world.Title, maxTextRunes), Predicted: world.Predicted,
		Glycans: world.Glycans, Waters: world.Waters, Models: world.Models, Selected: bounded(world.Selected, 2*maxTextRunes),
		Last: bounded(world.Last, 2*maxTextRunes), Named: map[string]string{},
	}
	for _, chain := range d.first(len(world.Chains), limit) {
		c := world.Chains[chain]
		d.Chains = append(d.Chains, chainData{name(c.ID), name(c.Kind), ranges(c.Ranges, limit)})
	}
	d.Ligands = d.components(world, world.Ligands, limit)
	d.Ions = d.components(world, world.Ions, limit)
	d.Modified = d.components(world, world.Modified, limit)
	d.Assemblies = d.texts(world.Assemblies, limit)
	d.Maps = d.texts(world.Volumes, limit)
	d.Shown = d.texts(world.Shown, limit)
	named := slices.Sorted(maps.Keys(world.Named))
	for _, i := range d.first(len(named), limit) {
		d.Named[name(named[i])] = bounded(world.Named[named[i]], 2*maxTextRunes)
	}
	if world.Pending != nil {
		d.Question = &questionData{About: name(world.Pending.About)}
		for _, i := range d.first(len(world.Pending.Choices), limit) {
			d.Question.Choices = append(d.Question.Choices, name(world.Pending.Choices[i].Name))
		}
	}
	return d
}

// first are the places of a list that are told; those behind them are counted.
func (d *data) first(length, limit int) []int {
	d.Unlisted += max(0, length-limit)
	places := make([]int, min(length, limit))
	for i := range places {
		places[i] = i
	}
	return places
}

func (d *data) texts(list []string, limit int) []string {
	var told []string
	for _, i := range d.first(len(list), limit) {
		told = append(told, bounded(list[i], maxTextRunes))
	}
	return told
}

// components gathers the instances of each component.
func (d *data) components(world director.Context, list []director.Component, limit int) []componentData {
	var kinds []componentData
	index := map[string]int{}
	for _, c := range list {
		at, known := index[c.Name]
		if !known {
			at = len(kinds)
			index[c.Name] = at
			kinds = append(kinds, componentData{Name: name(c.Name), Synonyms: synonyms(world.Synonyms, c.Name)})
		}
		kinds[at].Count++
		if len(kinds[at].At) < limit {
			kinds[at].At = append(kinds[at].At, name(c.Chain+"/"+c.Number))
		}
	}
	d.Unlisted += max(0, len(kinds)-limit)
	return kinds[:min(len(kinds), limit)]
}

// synonyms are the shortest names of a component.
func synonyms(names map[string]string, component string) []string {
	var found []string
	for synonym, of := range names {
		if of == component {
			found = append(found, name(synonym))
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return found[:min(len(found), maxSynonyms)]
}

func ranges(list []director.Range, limit int) string {
	var texts []string
	for i, r := range list {
		if i == limit {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, fmt.Sprintf("%d-%d", r.First, r.Last))
	}
	return strings.Join(texts, ",")
}

func name(text string) string { return bounded(text, maxNameRunes) }

// bounded is a clean text of at most so many runes.
func bounded(text string, limit int) string {
	if len(text) > 8*limit {
		text = text[:8*limit] // before all of it is looked at
	}
	runes := []rune(clean(text))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}

// clean is a text without what cannot be seen: control characters, and those that turn or hide letters.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar || unicode.Is(unicode.Co, r):
			return -1
		case unicode.IsControl(r) || unicode.IsSpace(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "")))
}
