// Package director judges how sentences about a scene are understood. It says each sentence of a file to internal/studio as a user
// would, in the scene that the sentence's context describes, and compares what comes of it with the answer that the file wants:
// the scenes atom by atom, not the words. Structures are made from the contexts where no folder has the real ones. It judges the
// grammar; no model is asked.
package director

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/structures"
)

// Options say what is judged.
type Options struct {
	Files      []string // of sentences
	Structures string   // folder with structures by their ids, such as 1cbs.cif.gz; "" for none
	Components string   // a deployment's dictionary of components; "" for the built-in names
	Time       bool     // measure how long a message takes on a structure of some 5,000 atoms
	JSON       string   // file that the report is written to; "" for none
	Out        io.Writer
}

// Report is what the judge writes as JSON.
type Report struct {
	Files  []Tally `json:"files"`
	Timing *Timing `json:"timing,omitempty"`
}

// Run judges every file and prints what it found. An error where fewer than 95 % of a file's sentences have the scene that is
// wanted, or one is wrong without a word; others name the file and the line.
func Run(ctx context.Context, o Options) error {
	components := dictionary{}
	if o.Components != "" {
		large, err := structures.LoadDictionary(o.Components)
		if err != nil {
			return fmt.Errorf("components: %w", err)
		}
		components.large = large
	}
	var report Report
	var failures []string
	for _, path := range o.Files {
		tally, err := judgeFile(ctx, path, o.Structures, components)
		if err != nil {
			return err
		}
		report.Files = append(report.Files, tally)
		if reason := tally.fails(); reason != "" {
			failures = append(failures, reason)
		}
	}
	if o.Time {
		timing, err := measure(ctx)
		if err != nil {
			return fmt.Errorf("measure: %w", err)
		}
		report.Timing = &timing
	}
	if err := report.print(o.Out); err != nil {
		return err
	}
	if err := report.save(o.JSON); err != nil {
		return err
	}
	if len(failures) > 0 {
		return fmt.Errorf("%w: %s", errTooFew, strings.Join(failures, "; "))
	}
	return nil
}

func judgeFile(ctx context.Context, path, folder string, components dictionary) (Tally, error) {
	sentences, err := ReadSentences(path)
	if err != nil {
		return Tally{}, err
	}
	l := &library{folder: folder, components: components, said: listen(sentences), built: map[string]scene.File{}}
	judgements := make([]Judgement, len(sentences))
	for i, sentence := range sentences {
		if judgements[i], err = l.judge(ctx, sentence); err != nil {
			return Tally{}, fmt.Errorf("%s: %q: %w", path, sentence.Text, err)
		}
	}
	return tallyOf(path, judgements), nil
}

// save writes the report as JSON.
func (r Report) save(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
