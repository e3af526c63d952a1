package director

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/abl1"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

// Timing is how long a message takes, from the words to the document that a viewer gets.
type Timing struct {
	Structure string  `json:"structure"`
	Atoms     int     `json:"atoms"`
	Messages  int     `json:"messages"`
	P50Ms     float64 `json:"p50Ms"`
	P95Ms     float64 `json:"p95Ms"`
	Slowest   string  `json:"slowest"` // of the messages
}

// timed are messages of every kind, as a conversation would have them.
var timed = []string{
	"show the protein as cartoon and the ligand as sticks",
	"colour chain A marine and chain B salmon",
	"show all residues within 5 Å of the ligand in chain A as sticks and label them",
	"colour the helices red, strands yellow and loops green",
	"show a molecular surface of chain A at 30 % opacity",
	"highlight Thr315 in chain A in red",
	"show hydrogen bonds between the ligand of chain A and the protein",
	"measure the distance between Thr315 OG1 of chain A and Met318 N of chain A",
	"zoom in on the ligand in chain A",
	"color everything by element",
	"hide everything except the ligand and the residues within 4 Å of it",
	"show the interface between chains A and B",
	"rotate 90 degrees about y",
	"white background and outlines",
	"undo that",
	"what chains are there?",
	"show everything again",
}

// rounds is how often the messages are said, each round in a new conversation.
const rounds = 12

// measure times messages on two copies of a kinase.
func measure(ctx context.Context) (Timing, error) {
	file, atoms, err := twoKinases()
	if err != nil {
		return Timing{}, err
	}
	const source = "pdb:1IEP"
	l := &library{kept: map[string]scene.File{source: file}}
	timing := Timing{Structure: "1IEP, two copies of a kinase with its inhibitor", Atoms: atoms}
	s := studio.New(l, nil)
	var took []time.Duration
	var slowest time.Duration
	for round := range rounds {
		state, _, err := s.Say(ctx, studio.NewState(), studio.Message{Text: "load 1iep"})
		if err != nil {
			return timing, err
		}
		for _, text := range timed {
			next, spent, err := timeMessage(ctx, s, l, state, text)
			if err != nil {
				return timing, fmt.Errorf("%q: %w", text, err)
			}
			state = next
			if round == 0 {
				continue // the word lists are read in the first one
			}
			took = append(took, spent)
			if spent > slowest {
				slowest, timing.Slowest = spent, text
			}
		}
	}
	timing.Messages, timing.P50Ms, timing.P95Ms = len(took), quantileMs(took, 0.5), quantileMs(took, 0.95)
	return timing, nil
}

// timeMessage says a message and writes the scene that comes of it.
func timeMessage(
	ctx context.Context, s *studio.Studio, l *library, state studio.State, text string,
) (studio.State, time.Duration, error) {
	started := time.Now()
	next, turn, err := s.Say(ctx, state, studio.Message{Text: text})
	if err != nil {
		return state, 0, err
	}
	if len(turn.NotUnderstood) > 0 || stopping(turn.Operations) != Wrong {
		return state, 0, fmt.Errorf("is answered %q and draws nothing, so there is nothing to time", turn.Reply)
	}
	_, err = scene.Compile(next.History.Scene(), scene.Files(l.kept), scene.CompileOptions{Title: "timing", Made: started})
	return next, time.Since(started), err
}

// copyAngstrom is how far the second copy lies from the first: beside it, in touch.
const copyAngstrom = 42

// twoKinases is entry 1IEP with two chains, the second a copy of the first, and waters between: some 5,000 atoms.
func twoKinases() (scene.File, int, error) {
	var text strings.Builder
	var copied strings.Builder
	for line := range strings.Lines(string(abl1.Entry())) {
		if !strings.HasPrefix(line, "ATOM") && !strings.HasPrefix(line, "HETATM") || len(line) < 54 {
			continue
		}
		text.WriteString(line)
		var x float64
		if _, err := fmt.Sscan(line[30:38], &x); err != nil {
			return scene.File{}, 0, fmt.Errorf("read an atom of 1IEP: %w", err)
		}
		fmt.Fprintf(&copied, "%sB%s%8.3f%s", line[:21], line[22:30], x+copyAngstrom, line[38:])
	}
	text.WriteString(copied.String())
	const waters = 500
	for i := range waters {
		fmt.Fprintf(&text, "HETATM%5d  O   HOH A%4d    %8.3f%8.3f%8.3f  1.00 30.00           O\n", i+1, firstWater+i,
			float64(i%10)*4, 30+float64(i/10%10)*4, float64(i/100)*4)
	}
	structure, err := scene.ReadStructure([]byte(text.String()))
	if err != nil {
		return scene.File{}, 0, err
	}
	return scene.File{Structure: structure, URL: "1iep.pdb"}, len(structure.Table(1).Atoms), nil
}

func (t Timing) print(text *strings.Builder) {
	fmt.Fprintf(text, "\n%s, %d atoms, %d messages from the words to the document: p50 %.1f ms, p95 %.1f ms; slowest: %q\n",
		t.Structure, t.Atoms, t.Messages, t.P50Ms, t.P95Ms, t.Slowest)
}
