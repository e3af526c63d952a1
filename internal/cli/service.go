package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
)

func serviceCommand() *cobra.Command {
	return command(cobra.Command{
		Use: "service", Short: "Show how the service is doing: its parts and its workers",
		Long: "Shows what the service says of itself to anybody. It needs no account. `molfabric status` shows a job.",
	}, cobra.NoArgs, func(ctx context.Context, inv *invocation, _ []string) error {
		status, err := inv.api.ServiceStatus(ctx)
		return present(inv, status, err, func(w io.Writer, s contract.ServiceStatus) error {
			return showService(w, inv.api.Server(), s)
		})
	})
}

func showService(w io.Writer, server string, status contract.ServiceStatus) error {
	p := painter(w)
	fmt.Fprintf(w, "%s is %s (version %s, %s)\n\n", server, p.good(status.Status == "operational", status.Status), status.Version,
		clock(status.CheckedAt))
	parts := newTable(p, nil, "part", "state")
	for _, part := range status.Parts {
		state := "answers"
		if !part.Operational {
			state = "does not answer"
		}
		parts.AppendRow(table.Row{part.Name, p.good(part.Operational, state)})
	}
	if err := render(w, parts); err != nil {
		return err
	}
	fmt.Fprintln(w)
	workers, live := newTable(p, []int{2, 3}, "simulator", "workers", "cores"), 0
	for _, count := range status.Workers {
		workers.AppendRow(table.Row{count.Simulator, count.Workers, count.Slots})
		live += count.Workers
	}
	if live == 0 {
		_, err := fmt.Fprintln(w, "No worker is there: jobs that are submitted wait for one.")
		return err
	}
	return render(w, workers)
}
