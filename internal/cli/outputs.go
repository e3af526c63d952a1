package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/client"
)

// maxTransfers bounds the files that are uploaded or downloaded at once: enough to hide the way there and back.
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
			if err := inv.download(ctx, outputs.Outputs, folder); err != nil {
				return err
			}
		}
		switch {
		case inv.json:
			return inv.print(outputs.JSON())
		case folder != "":
			fmt.Fprintf(inv.out, "%d files lie in %s.\n", len(outputs.Outputs), folder)
		default:
			err = outputsTable(inv.out, outputs.Outputs)
		}
		if !outputs.Complete {
			fmt.Fprintln(inv.err, "The job has not ended: there may be more later.")
		}
		return err
	})
	cmd.Flags().StringVarP(&folder, "output", "o", "", "folder to download into")
	return cmd
}

// download fetches files into a folder, several at once, and checks each.
func (inv *invocation) download(ctx context.Context, outputs []client.Output, folder string) error {
	names, err := localNames(outputs)
	if err != nil {
		return err
	}
	var total, done int64
	for _, output := range outputs {
		total += output.ByteSize
	}
	var shown display = noDisplay{}
	if !inv.json && len(outputs) > 0 {
		shown = newDisplay(inv.err, inv.now, 0)
	}
	var mu sync.Mutex // of done and files
	files := 0
	transfers, ctx2 := errgroup.WithContext(ctx)
	transfers.SetLimit(maxTransfers)
	for i, output := range outputs {
		transfers.Go(func() error {
			if err := inv.api.DownloadOutput(ctx2, output, filepath.Join(folder, filepath.FromSlash(names[i]))); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			files++
			done += output.ByteSize
			shown.update(100*float64(done)/float64(max(total, 1)), fmt.Sprintf("downloading, %d of %d files", files, len(outputs)))
			return nil
		})
	}
	err = transfers.Wait()
	shown.close(err == nil)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(inv.err, "Interrupted; the same command goes on with the files that are missing.")
		return errInterrupted
	}
	return err
}

// localNames gives each file its place in the folder: its own name, or one below its task's folder where several tasks have
// made a file of that name. A name that would lead out of the folder is refused.
func localNames(outputs []client.Output) ([]string, error) {
	makers := map[string]int{}
	for _, output := range outputs {
		makers[fold(output.Name)]++
	}
	names, taken := make([]string, len(outputs)), map[string]bool{}
	for i, output := range outputs {
		name := path.Clean(output.Name)
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(output.Name, "\\\x00") || name == "." {
			return nil, fmt.Errorf("the job has a file called %q, which is no safe name here: fetch it by its address (--json)", output.Name)
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
