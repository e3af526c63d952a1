package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
)

// maxSeedsShown bounds the seeds in the summary; the document has all.
const maxSeedsShown = 10

func provenanceCommand() *cobra.Command {
	var file string
	cmd := jobCommand(cobra.Command{
		Use: "provenance JOB", Short: "Show how a job's results came to be, or keep the whole record with -o",
		Long: `Shows the programs and their versions, the seeds and what to cite. The whole record, which -o writes and --json prints, also has
the request, every input and output with its SHA-256, and every attempt of every task.`,
		Example: "  molfabric provenance job_0190…\n  molfabric provenance job_0190… -o provenance.json",
	}, func(ctx context.Context, inv *invocation, jobID string) error {
		provenance, err := inv.api.Provenance(ctx, jobID)
		if err != nil {
			return err
		}
		if file != "" {
			if err := writeJSON(inv.out, file, provenance.JSON()); err != nil {
				return err
			}
		}
		switch {
		case file == "-":
		case inv.json:
			err = inv.print(provenance.JSON())
		case file != "":
			fmt.Fprintf(inv.out, "The record of %s lies in %s.\n", provenance.Body.JobID, file)
		default:
			showProvenance(inv.out, provenance.Body)
		}
		if !provenance.Body.Complete {
			fmt.Fprintln(inv.err, "The job has not ended: there will be more later.")
		}
		return err
	})
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write the whole record to, as JSON; - is standard output")
	return cmd
}

// writeJSON writes a document, indented, to a file or, for "-", to w.
func writeJSON(w io.Writer, path string, document []byte) error {
	var text bytes.Buffer
	if err := json.Indent(&text, document, "", "  "); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	text.WriteByte('\n')
	if path == "-" {
		_, err := w.Write(text.Bytes())
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

func showProvenance(w io.Writer, p contract.Provenance) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-9s %s\n", name, value)
		}
	}
	line("job", fmt.Sprintf("%s, %s, run %d", p.JobID, p.Status, p.Attempts))
	line("name", p.JobName)
	line("engine", fmt.Sprintf("%s (%s)", first(p.Engine.Title, p.Engine.ID), p.Engine.ID))
	for _, program := range slices.Sorted(maps.Keys(p.Engine.Programs)) {
		line("program", program+" "+strings.Join(p.Engine.Programs[program], ", "))
	}
	line("fabric", strings.TrimSpace(p.Fabric.Name+" "+p.Fabric.Version))
	line("seeds", seedsText(p.Seeds))
	line("request", "sha256 "+p.Request.SHA256)
	line("record", fmt.Sprintf("inputs %d, attempts of tasks %d, outputs %d", p.Counts.Inputs, p.Counts.Executions,
		p.Counts.Outputs))
	for _, paper := range p.Citations {
		text := paper.Text
		if paper.DOI != "" && !strings.Contains(text, paper.DOI) {
			text += " doi:" + paper.DOI
		}
		line("cite", text)
	}
}

func seedsText(seeds []int64) string {
	var texts []string
	for _, seed := range seeds[:min(len(seeds), maxSeedsShown)] {
		texts = append(texts, fmt.Sprint(seed))
	}
	if len(seeds) > maxSeedsShown {
		texts = append(texts, fmt.Sprintf("and %d more", len(seeds)-maxSeedsShown))
	}
	return strings.Join(texts, ", ")
}
