package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
)

func noticesCommand() *cobra.Command {
	var on, off []string
	var below int64
	events := strings.Join([]string{contract.EventJobEnded, contract.EventCreditLow, contract.EventKeyNewNetwork}, ", ")
	cmd := sessionCommand(cobra.Command{
		Use: "notices", Short: "Show or choose what the account is told by mail",
		Long: `Shows what the account is told by mail, at its own address; with a flag it changes that first. It needs the session
of ` + "`molfabric login`. A server of your own is told by `molfabric webhooks`.",
		Example: "  molfabric notices\n  molfabric notices --on job.ended --off credit.low",
	}, cobra.NoArgs, "`molfabric login` starts a session", func(ctx context.Context, inv *invocation, _ []string) error {
		found, err := inv.api.Notices(ctx)
		if err == nil && (len(on)+len(off) > 0 || below > 0) {
			asked := changedNotices(found.Body, on, off, below)
			found, err = inv.api.ReplaceNotices(ctx, asked)
		}
		return present(inv, found, err, showNotices)
	})
	flags := cmd.Flags()
	flags.StringArrayVar(&on, "on", nil, "an event to mail from now on: "+events+"; may be repeated")
	flags.StringArrayVar(&off, "off", nil, "an event to mail no more; may be repeated")
	flags.Int64Var(&below, "below", 0, "pence below which "+contract.EventCreditLow+" is mailed")
	return cmd
}

// changedNotices are the settings after some events are turned on and off; the service says what it does not know.
func changedNotices(now contract.NoticeSettings, on, off []string, below int64) contract.NoticeRequest {
	asked := contract.NoticeRequest{Events: []string{}, LowCreditPence: &now.LowCreditPence}
	for _, event := range slices.Concat(now.Events, on) {
		if !slices.Contains(off, event) && !slices.Contains(asked.Events, event) {
			asked.Events = append(asked.Events, event)
		}
	}
	if below > 0 {
		asked.LowCreditPence = &below
	}
	return asked
}

func showNotices(w io.Writer, now contract.NoticeSettings) error {
	if len(now.Events) == 0 {
		fmt.Fprintln(w, "Nothing is mailed.")
	} else {
		fmt.Fprintf(w, "Mailed to %s: %s\n", now.Email, strings.Join(now.Events, ", "))
	}
	if slices.Contains(now.Events, contract.EventCreditLow) {
		fmt.Fprintf(w, "Credit is low below %s.\n", pence(now.LowCreditPence))
	}
	var err error
	switch {
	case !now.SendsMail:
		_, err = fmt.Fprintln(w, "This deployment has no mail server: nothing is mailed.")
	case !now.EmailVerified:
		_, err = fmt.Fprintln(w, "The address is not proved yet, and nothing is mailed before.")
	}
	return err
}
