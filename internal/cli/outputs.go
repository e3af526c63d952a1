package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

// maxTransfers bounds the files that are uploaded at once: enough to hide the way there and back.
const maxTransfers = 8

func outputsCommand() *cobra.Command {
	var folder string
	cmd := jobCommand(cobra.Command{
		Use: "outputs JOB", Short: "List a job's files, or download them with -o",
		Long: `Lists a job's files, or downloads all of them into a folder and checks the SHA-256 of each. Files that are there already and
right are left alone, so that a download that broke off can be started again.`,
		Example: "  molfabric outputs job_0190… -o results",
	}, func(ctx context.Context, inv *invocation, jobID string) error {
		outputs, err := inv.api.AllOutputs(ctx, jobID)
		if err != nil {
			return err
		}
		if folder != "" {
			if err := inv.download(ctx, jobID, outputs.Body.Outputs, folder); err != nil {
				return err
			}
		}
		switch {
		case inv.json:
			return inv.print(outputs.JSON())
		case folder != "":
			fmt.Fprintf(inv.out, "%d files lie in %s.\n", len(outputs.Body.Outputs), folder)
		default:
			err = outputsTable(inv.out, outputs.Body.Outputs)
		}
		if !outputs.Body.Complete {
			fmt.Fprintln(inv.err, "The job has not ended: there may be more later.")
		}
		return err
	})
	cmd.Flags().StringVarP(&folder, "output", "o", "", "folder to download into")
	return cmd
}

// download fetches files into a folder.
func (inv *invocation) download(ctx context.Context, jobID string, outputs []contract.Output, folder string) error {
	files, err := downloadsInto(jobID, outputs, folder)
	if err != nil {
		return err
	}
	var total, came int64
	for _, output := range outputs {
		total += output.ByteSize
	}
	var shown display = noDisplay{}
	if !inv.json && len(outputs) > 0 {
		shown = newDisplay(inv.err, inv.now, 0)
	}
	there := 0
	show := func() {
		shown.update(100*float64(came)/float64(max(total, 1)), fmt.Sprintf("downloading, %d of %d files", there, len(outputs)))
	}
	err = inv.api.Download(ctx, files, func(bytes int64) { came = bytes; show() }, func(client.Download) { there++; show() })
	shown.close(err == nil)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(inv.err, "Interrupted; the same command goes on with the files that are missing.")
		return errInterrupted
	}
	return err
}

// downloadsInto gives each file its place in a folder.
func downloadsInto(jobID string, outputs []contract.Output, folder string) ([]client.Download, error) {
	names, err := localNames(outputs)
	if err != nil {
		return nil, err
	}
	files := make([]client.Download, len(outputs))
	for i, output := range outputs {
		files[i] = client.Download{Output: output, JobID: jobID, Path: filepath.Join(folder, filepath.FromSlash(names[i]))}
	}
	return files, nil
}

// localNames gives each file its place in the folder: its own name, or one below its task's folder where several tasks have
// made a file of that name. A name that would lead out of the folder is refused.
func localNames(outputs []contract.Output) ([]string, error) {
	makers := map[string]int{}
	for _, output := range outputs {
		makers[fold(output.Name)]++
	}
	names, taken := make([]string, len(outputs)), map[string]bool{}
	for i, output := range outputs {
		name := path.Clean(output.Name)
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(output.Name, "\\\x00") || name == "." {
			return nil, fmt.Errorf("the job has a file called %q, which is no safe name here: fetch it by its address (--json)",
				output.Name)
		}
		if makers[fold(output.Name)] > 1 {
			name = fmt.Sprintf("task-%05d/%s", output.TaskIndex, name)
		}
		if taken[fold(name)] {
			return nil, fmt.Errorf("the job has two files called %q: fetch them by their addresses (--json)", name)
		}
		names[i], taken[fold(name)] = name, true
	}
	return names, nil
}

// fold is what file systems that know no capitals take a name for.
func fold(name string) string { return strings.ToLower(path.Clean(name)) }
