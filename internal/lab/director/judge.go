package director

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

// Verdict is how good an answer is.
type Verdict string

// The verdicts, the best first.
const (
	Exact   Verdict = "exact"   // the very operations
	Equal   Verdict = "equal"   // other operations that draw the same scene, or say the same
	Asked   Verdict = "asked"   // a question, where another answer was wanted
	Refused Verdict = "refused" // a refusal, or words that were not understood, where another answer was wanted
	Wrong   Verdict = "wrong"   // something else without a word
)

// Judgement is what came of a sentence.
type Judgement struct {
	Sentence string            `json:"sentence"`
	Verdict  Verdict           `json:"verdict"`
	Unneeded bool              `json:"unneededQuestion,omitempty"` // it asks back where no question was wanted
	Got      []scene.Operation `json:"got,omitempty"`
	Want     []scene.Operation `json:"want,omitempty"`
	// NotUnderstood quotes what was not understood.
	NotUnderstood []string `json:"notUnderstood,omitempty"`
	Differences   []string `json:"differences,omitempty"`
	Note          string   `json:"note,omitempty"`

	took time.Duration // from the message to the reply
}

// judge says a sentence in its context and holds what comes of it against the answer that is wanted. Errors: of a context that
// cannot be made.
func (l *library) judge(ctx context.Context, s Sentence) (Judgement, error) {
	j := Judgement{Sentence: s.Text, Want: s.Want, Note: s.Note}
	if err := l.use(s.Context); err != nil {
		return j, err
	}
	state, err := l.state(s.Context)
	if err != nil {
		return j, err
	}
	started := time.Now()
	_, turn, err := studio.New(l, nil).Say(ctx, state, studio.Message{Text: s.Text, Selected: s.Context.Selected})
	j.took = time.Since(started)
	if err != nil {
		// A sentence that makes the product fail is the worst answer, and the others still have to be judged.
		j.Verdict, j.Differences = Wrong, []string{err.Error()}
		return j, ctx.Err()
	}
	j.Got, j.NotUnderstood = turn.Operations, turn.NotUnderstood
	err = l.compare(ctx, &j, state.History.Scene())
	return j, err
}

// compare fills in the verdict.
func (l *library) compare(ctx context.Context, j *Judgement, m scene.Model) error {
	switch {
	case len(j.Want) == 0 && len(j.Got) == 0:
		j.Verdict = Exact
		return nil
	case len(j.Got) == 0:
		j.Verdict = Refused
		return nil
	case len(j.Want) == 0:
		j.Verdict = stopping(j.Got)
		return nil
	case sameText(j.Got, j.Want):
		j.Verdict = Exact
		return nil
	}
	files, err := l.files(ctx, j.Got, j.Want)
	if err != nil {
		return err
	}
	differences, err := scene.Compare(m, files, j.Got, j.Want)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	loose, err := scene.Compare(m, files, ofAtoms(j.Got), ofAtoms(j.Want))
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if len(differences) == 0 || len(loose) == 0 || sameRefusal(j.Got, j.Want) {
		j.Verdict = Equal
		return nil
	}
	for _, d := range differences {
		j.Differences = append(j.Differences, d.Aspect+": "+d.Text)
	}
	j.Verdict = stopping(j.Got)
	j.Unneeded = j.Verdict == Asked && stopping(j.Want) != Asked
	return nil
}

// ofAtoms gives colours to atoms that the same list shows in a representation of theirs: "as red spheres" may colour the spheres or
// the atoms, whatever else they are drawn as.
func ofAtoms(operations []scene.Operation) []scene.Operation {
	loose := slices.Clone(operations)
	for i, operation := range loose {
		color, ok := operation.Args.(scene.Color)
		if !ok || color.As == "" {
			continue
		}
		shows := func(o scene.Operation) bool {
			show, ok := o.Args.(scene.Show)
			return ok && show.Sel == color.Sel && show.As == color.As
		}
		if slices.ContainsFunc(operations[:i], shows) {
			color.As = ""
			loose[i] = scene.Do(color)
		}
	}
	return loose
}

// sameText tells whether two lists are the same to the letter.
func sameText(a, b []scene.Operation) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}

// stopping is the verdict on an answer that is not the one that was wanted: what asks or refuses does no harm.
func stopping(operations []scene.Operation) Verdict {
	if len(operations) == 1 {
		switch operations[0].Args.(type) {
		case scene.Ask:
			return Asked
		case scene.Refuse:
			return Refused
		}
	}
	return Wrong
}

// sameRefusal tells whether both refuse for the same reason. What is not there must be the same thing; how else a refusal calls
// what it cannot do is a matter of words.
func sameRefusal(a, b []scene.Operation) bool {
	if len(a) != 1 || len(b) != 1 {
		return false
	}
	one, ok := a[0].Args.(scene.Refuse)
	other, both := b[0].Args.(scene.Refuse)
	return ok && both && one.Reason == other.Reason && one.Reason != "not_found"
}

// Tally is what came of the sentences of a file.
type Tally struct {
	File      string  `json:"file"`
	Sentences int     `json:"sentences"`
	Exact     int     `json:"exact"`
	Equal     int     `json:"equal"` // beside the exact ones
	Asked     int     `json:"asked"`
	Refused   int     `json:"refused"`
	Wrong     int     `json:"wrong"`
	Unneeded  int     `json:"unneededQuestions"`
	P50Ms     float64 `json:"p50Ms"` // from the message to the reply
	P95Ms     float64 `json:"p95Ms"`
	// Judgements are those of every sentence.
	Judgements []Judgement `json:"judgements"`
}

// tallyOf counts.
func tallyOf(file string, judgements []Judgement) Tally {
	t := Tally{File: file, Sentences: len(judgements), Judgements: judgements}
	var took []time.Duration
	for _, j := range judgements {
		*t.count(j.Verdict)++
		if j.Unneeded {
			t.Unneeded++
		}
		took = append(took, j.took)
	}
	t.P50Ms, t.P95Ms = quantileMs(took, 0.5), quantileMs(took, 0.95)
	return t
}

func (t *Tally) count(v Verdict) *int {
	return map[Verdict]*int{Exact: &t.Exact, Equal: &t.Equal, Asked: &t.Asked, Refused: &t.Refused, Wrong: &t.Wrong}[v]
}

// leastEqual is the share of sentences that must have the scene that is wanted.
const leastEqual = 0.95

// fails says why a file is not good enough, or "".
func (t Tally) fails() string {
	var reasons []string
	if good := t.Exact + t.Equal; float64(good) < leastEqual*float64(t.Sentences) {
		reasons = append(reasons, fmt.Sprintf("%d of %d sentences are answered as they should be, wanted are %.0f %%", good,
			t.Sentences, leastEqual*100))
	}
	if t.Wrong > 0 {
		reasons = append(reasons, fmt.Sprintf("%d are wrong without a word", t.Wrong))
	}
	if len(reasons) == 0 {
		return ""
	}
	return t.File + ": " + strings.Join(reasons, "; ")
}

// quantileMs is a quantile of durations in ms: the least one that as large a share is not above.
func quantileMs(took []time.Duration, share float64) float64 {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	at := min(len(sorted)-1, int(share*float64(len(sorted))))
	return float64(sorted[at].Microseconds()) / 1000
}

// errTooFew is wrapped by what Run returns where sentences are not understood well enough.
var errTooFew = errors.New("sentences are not understood well enough")
