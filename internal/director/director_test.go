package director_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/director"
)

// verdict says how good an understanding is.
type verdict string

const (
	exact verdict = "exact"
	// safe is a question, a refusal or a quotation where something else was wanted: nothing happens without a word.
	safe  verdict = "asked, refused or quoted"
	wrong verdict = "wrong"
)

func judge(e example) (verdict, string) {
	ctx := e.Context.context()
	got := director.Understand(ctx, e.Sentence)
	text, _ := json.Marshal(got.Operations)
	said := string(text)
	if len(got.NotUnderstood) > 0 {
		said = fmt.Sprintf("not understood: %q", got.NotUnderstood)
	}
	if got.Repairs != nil {
		said += fmt.Sprintf(" repairs %q", got.Repairs)
	}
	if len(e.Operations) == 0 && len(got.NotUnderstood) > 0 || len(e.Operations) > 0 && same(&ctx, got.Operations, e.Operations) {
		return exact, said
	}
	if len(got.Operations) == 0 || len(got.Operations) == 1 && (got.Operations[0].Op == "ask" || got.Operations[0].Op == "refuse") {
		return safe, said
	}
	return wrong, said
}

// same compares two lists of operations for what they do.
func same(ctx *director.Context, got, want []director.Operation) bool {
	gotText, _ := json.Marshal(got)
	wantText, _ := json.Marshal(want)
	if bytes.Equal(gotText, wantText) {
		return true
	}
	atoms := universe(ctx)
	return slices.Equal(normal(atoms, got), normal(atoms, want))
}

// normal writes operations so that lists that do the same are equal: selections as the atoms that they fit, neighbours with
// the same
// arguments as one, arguments that repeat what is so anyway left out, in an order of their own.
func normal(atoms []atom, operations []director.Operation) []string {
	merged, before := []director.Operation{}, []director.Operation{}
	for _, operation := range operations {
		operation = plain(before, operation)
		before = append(before, director.Operation{Op: operation.Op, Args: maps.Clone(operation.Args)})
		if i := mergeable(merged, operation); i >= 0 {
			merged[i].Args["sel"] = fmt.Sprintf("(%s) or (%s)", merged[i].Args["sel"], operation.Args["sel"])
			continue
		}
		merged = append(merged, operation)
	}
	texts := []string{}
	for _, operation := range merged {
		for _, name := range []string{"sel", "of", "with", "through", "around"} {
			if sel, ok := operation.Args[name].(string); ok {
				operation.Args[name] = signature(atoms, sel)
			}
		}
		if ends, ok := operation.Args["between"].([]any); ok {
			signatures := []string{}
			for _, end := range ends {
				signatures = append(signatures, signature(atoms, fmt.Sprint(end)))
			}
			operation.Args["between"] = signatures
		}
		text, _ := json.Marshal(operation)
		texts = append(texts, string(text))
	}
	slices.Sort(texts)
	return texts
}

// plain is an operation with its JSON values, without what says nothing.
func plain(before []director.Operation, operation director.Operation) director.Operation {
	text, _ := json.Marshal(operation)
	var copied director.Operation
	if err := json.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	args := copied.Args
	switch copied.Op {
	case "hide":
		if args["as"] == "surface" && args["sel"] == "polymer" {
			return director.Operation{Op: "clear", Args: map[string]any{"what": "surfaces"}}
		}
	case "color":
		shown := func(b director.Operation) bool {
			return b.Op == "show" && b.Args["sel"] == args["sel"] && b.Args["add"] == nil
		}
		if slices.ContainsFunc(before, shown) {
			delete(args, "as")
		}
		if color, ok := args["color"].(string); ok {
			args["color"] = strings.ReplaceAll(color, "grey", "gray")
		}
	case "zoom":
		args["factor"] = args["factor"].(float64) > 1
	case "ask":
		delete(args, "choices")
	case "refuse":
		delete(args, "alternative")
		if args["reason"] != "not_found" {
			delete(args, "feature")
		}
	case "render":
		delete(args, "engine")
		if args["format"] == "png" || args["format"] == "mp4" {
			delete(args, "format")
		}
		if turntable, ok := args["turntable"].(map[string]any); ok && len(turntable) == 0 {
			delete(args, "turntable")
		}
	case "interactions":
		if types, ok := args["types"].([]any); ok {
			slices.SortFunc(types, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	return copied
}

// mergeable finds an operation that differs in its selection only, where two selections do what their union does.
func mergeable(merged []director.Operation, operation director.Operation) int {
	if !slices.Contains([]string{"show", "hide", "color", "opacity", "highlight", "label"}, operation.Op) ||
		operation.Args["sel"] == nil {
		return -1
	}
	rest := func(o director.Operation) map[string]any {
		args := maps.Clone(o.Args)
		delete(args, "sel")
		return args
	}
	return slices.IndexFunc(merged, func(o director.Operation) bool {
		return o.Op == operation.Op && fmt.Sprint(rest(o)) == fmt.Sprint(rest(operation))
	})
}

// score judges a file of examples and logs what is not exact.
func score(t *testing.T, name string) (counts map[verdict]int, total int) {
	t.Helper()
	counts = map[verdict]int{}
	examples := readExamples(t, name)
	for _, e := range examples {
		is, said := judge(e)
		counts[is]++
		if is != exact {
			want, _ := json.Marshal(e.Operations)
			t.Logf("%s: %q\n\tgot  %s\n\twant %s", is, e.Sentence, said, want)
		}
	}
	t.Logf("%s: %d sentences, %d exact, %d asked, refused or quoted, %d wrong",
		name, len(examples), counts[exact], counts[safe], counts[wrong])
	return counts, len(examples)
}

func TestPublicSentences(t *testing.T) {
	t.Parallel()
	counts, total := score(t, "public.jsonl")
	if counts[exact]*100 < 95*total || counts[wrong] > 0 {
		t.Errorf("%d of %d sentences are exact, %d are wrong; at least 95 %% and none are wanted",
			counts[exact], total, counts[wrong])
	}
}

func TestOwnSentences(t *testing.T) {
	t.Parallel()
	counts, total := score(t, "sentences.jsonl")
	if counts[exact]*100 < 95*total || counts[wrong] > 0 {
		t.Errorf("%d of %d sentences are exact, %d are wrong; at least 95 %% and none are wanted",
			counts[exact], total, counts[wrong])
	}
}

func BenchmarkUnderstand(b *testing.B) {
	examples := readExamples(b, "sentences.jsonl")
	contexts := make([]director.Context, len(examples))
	for i, e := range examples {
		contexts[i] = e.Context.context()
	}
	for i := 0; b.Loop(); i++ {
		director.Understand(contexts[i%len(examples)], examples[i%len(examples)].Sentence)
	}
}
