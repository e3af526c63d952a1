package director

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/molfabric/molfabric/internal/scene"
)

// print writes the report for people: a line a file, and every sentence that has not the answer that is wanted.
func (r Report) print(to io.Writer) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	if len(r.Files) > 0 {
		fmt.Fprintln(table, "sentences of\tall\texact\tequal scenes\tasked\trefused\twrong\tunneeded questions\tp50\tp95\t")
	}
	for _, t := range r.Files {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f ms\t%.1f ms\t\n", filepath.Base(t.File), t.Sentences, t.Exact,
			t.Equal, t.Asked, t.Refused, t.Wrong, t.Unneeded, t.P50Ms, t.P95Ms)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, t := range r.Files {
		for _, j := range t.Judgements {
			j.print(&text, t.File)
		}
	}
	if r.Timing != nil {
		r.Timing.print(&text)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// print writes what is not as it should be.
func (j Judgement) print(text *strings.Builder, file string) {
	if j.Verdict == Exact || j.Verdict == Equal {
		return
	}
	verdict := string(j.Verdict)
	if j.Unneeded {
		verdict += ", and need not have"
	}
	fmt.Fprintf(text, "\n%s: %q (%s)\n", verdict, j.Sentence, filepath.Base(file))
	if len(j.NotUnderstood) > 0 {
		fmt.Fprintf(text, "  not understood: %q\n", j.NotUnderstood)
	}
	printOperations(text, "got", j.Got)
	printOperations(text, "wanted", j.Want)
	for _, d := range j.Differences {
		fmt.Fprintf(text, "  %s\n", d)
	}
	if j.Note != "" {
		fmt.Fprintf(text, "  note: %s\n", j.Note)
	}
}

func printOperations(text *strings.Builder, what string, operations []scene.Operation) {
	for _, operation := range operations {
		args, err := json.Marshal(operation.Args)
		if err != nil {
			args = []byte(err.Error())
		}
		fmt.Fprintf(text, "  %-7s %s %s\n", what, operation.Op, args)
	}
}
