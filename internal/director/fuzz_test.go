package director_test

import (
	"reflect"
	"testing"

	"github.com/molfabric/molfabric/internal/director"
)

// FuzzUnderstand holds what is so for every message: no panic, the same answer each time, operations or a quotation and never both,
// questions and refusals alone.
func FuzzUnderstand(f *testing.F) {
	examples := append(readExamples(f, "public.jsonl"), readExamples(f, "sentences.jsonl")...)
	for i, e := range examples {
		f.Add(e.Sentence, i)
	}
	f.Fuzz(func(t *testing.T, message string, at int) {
		ctx := examples[((at%len(examples))+len(examples))%len(examples)].Context.context()
		got := director.Understand(ctx, message)
		if again := director.Understand(ctx, message); !reflect.DeepEqual(got, again) {
			t.Fatalf("%q is understood as %v and as %v", message, got, again)
		}
		if (len(got.Operations) == 0) == (len(got.NotUnderstood) == 0) {
			t.Fatalf("%q gives %v and %q", message, got.Operations, got.NotUnderstood)
		}
		if len(got.Operations) > director.MaxOperations {
			t.Fatalf("%q gives %d operations", message, len(got.Operations))
		}
		for _, operation := range got.Operations {
			if (operation.Op == "ask" || operation.Op == "refuse") && len(got.Operations) > 1 {
				t.Fatalf("%q asks or refuses among other things: %v", message, got.Operations)
			}
		}
	})
}
