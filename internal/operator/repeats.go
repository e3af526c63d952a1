package operator

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/roles"
)

// listedRepeats is how many repetitions are listed where nobody says.
const listedRepeats = 50

// RepeatsCommand is `molfabric repeats`.
func RepeatsCommand() *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "repeats", Short: "List the tasks that made something else when they were run again", Args: cobra.NoArgs,
		Long: `Lists the tasks that were run again by chance (MOLFABRIC_REPEAT_RATE) and made other bytes with the same programs,
the newest first: the first file that differs, and the workers of both runs. --json has the digests and the toolchain too.
How many made the same is anybody's to read, at /docs/repeats of the API.

What to do about one is in doc/runbook/RepeatDiffers.md.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return fmt.Errorf("limit: %d; give how many are listed, at least 1", limit)
			}
			cfg, log, err := load(cmd)
			if err != nil {
				return err
			}
			found, err := roles.DifferentRepeats(cmd.Context(), cfg, log, limit)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), found)
			}
			if len(found) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "No task made something else when it was run again.")
				return nil
			}
			t := newTable(cmd.OutOrStdout(), "When", "Simulator", "Job", "Task", "Attempt", "File", "First worker", "Second worker")
			for _, r := range found {
				file := printable(r.File)
				if file == "" {
					file = "(deleted by its owner)"
				}
				t.AppendRow(table.Row{r.EndedAt.UTC().Format(moment), r.Engine, r.JobID, r.TaskID, r.Attempt, file,
					printable(r.FirstWorker), printable(r.Worker)})
			}
			t.Render()
			return nil
		},
	}
	cmd.Flags().IntVar(&limit, "limit", listedRepeats, "at most so many, the newest")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
