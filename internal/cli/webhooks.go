package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
)

func webhooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "webhooks", Short: "Have a server of your own told when jobs end, credit runs low or a key moves",
		Args: cobra.ArbitraryArgs, RunE: groupRun,
		Long: `Manages webhooks: servers of the account's own that are told of events, by messages that are signed as Standard
Webhooks has it, and sent again where they do not arrive. It needs the session of ` + "`molfabric login`.",
	}
	cmd.AddCommand(
		webhookCommand(cobra.Command{Use: "list", Short: "List the account's webhooks"}, cobra.NoArgs, listWebhooks),
		webhooksAddCommand(),
		webhookCommand(cobra.Command{
			Use: "test ID", Short: "Send a message of the type " + contract.EventWebhookTest,
			Long: "Sends a message of the type " + contract.EventWebhookTest + ". `molfabric webhooks deliveries ID` then says " +
				"what came of it.",
		}, one("ID"), testWebhook),
		webhookCommand(cobra.Command{
			Use: "deliveries ID", Short: "List the newest messages to a webhook",
			Long: "Lists the newest messages to a webhook, and what came of each; --json has what was sent.",
		}, one("ID"), listDeliveries),
		webhookCommand(cobra.Command{
			Use: "replay ID MESSAGE", Short: "Send a message once more, as the same message",
		}, two("ID", "MESSAGE"), replayDelivery),
		webhookCommand(cobra.Command{
			Use: "enable ID", Short: "Have a webhook told again of what happens from now on",
		}, one("ID"), enableWebhook),
		webhookCommand(cobra.Command{
			Use: "rotate-secret ID", Short: "Make a new secret, which signs everything from now on",
		}, one("ID"), rotateWebhookSecret),
		webhookCommand(cobra.Command{
			Use: "remove ID", Short: "Remove a webhook; what waits is not sent",
		}, one("ID"), removeWebhook),
	)
	return cmd
}

// webhookCommand makes a command of the group.
func webhookCommand(
	spec cobra.Command, args cobra.PositionalArgs, run func(ctx context.Context, inv *invocation, args []string) error,
) *cobra.Command {
	return sessionCommand(spec, args, "`molfabric webhooks list` lists yours", run)
}

func listWebhooks(ctx context.Context, inv *invocation, _ []string) error {
	webhooks, err := inv.api.Webhooks(ctx)
	return present(inv, webhooks, err, func(w io.Writer, list contract.WebhookList) error {
		return webhooksTable(w, list.Webhooks)
	})
}

func webhooksAddCommand() *cobra.Command {
	var asked contract.WebhookRequest
	var below int64
	cmd := webhookCommand(cobra.Command{
		Use: "add URL", Short: "Add a webhook, and show the secret that signs its messages",
		Example: `  molfabric webhooks add https://example.org/molfabric
  molfabric webhooks add https://example.org/molfabric --event job.ended --event credit.low --below 2000`,
	}, one("URL"), func(ctx context.Context, inv *invocation, args []string) error {
		asked.URL, asked.LowCreditPence = args[0], given(below > 0, below)
		added, err := inv.api.AddWebhook(ctx, asked)
		return present(inv, added, err, showAddedWebhook)
	})
	flags := cmd.Flags()
	flags.StringArrayVar(&asked.Events, "event", []string{contract.EventJobEnded}, "what is told: "+contract.EventJobEnded+", "+
		contract.EventCreditLow+" or "+contract.EventKeyNewNetwork+"; may be repeated")
	flags.Int64Var(&below, "below", 0, "pence below which "+contract.EventCreditLow+" is told (500 where nothing is said)")
	flags.StringVar(&asked.Description, "description", "", "a note for people")
	return cmd
}

func showAddedWebhook(w io.Writer, added contract.Webhook) error {
	_, err := fmt.Fprintf(w, `Webhook %[1]s is added. Its secret is shown this once:
  %[2]s
  molfabric webhooks test %[1]s         sends it a message
  molfabric webhooks deliveries %[1]s   says what arrived
`, added.ID, added.Secret)
	return err
}

func testWebhook(ctx context.Context, inv *invocation, args []string) error {
	made, err := inv.api.TestWebhook(ctx, args[0])
	return present(inv, made, err, func(w io.Writer, d contract.WebhookDelivery) error {
		_, err := fmt.Fprintf(w, "Message %s is sent.\n  molfabric webhooks deliveries %s   says what came of it\n", d.ID, args[0])
		return err
	})
}

func listDeliveries(ctx context.Context, inv *invocation, args []string) error {
	found, err := inv.api.WebhookDeliveries(ctx, args[0])
	return present(inv, found, err, func(w io.Writer, list contract.WebhookDeliveryList) error {
		return deliveriesTable(w, list.Deliveries)
	})
}

func replayDelivery(ctx context.Context, inv *invocation, args []string) error {
	again, err := inv.api.ReplayWebhookDelivery(ctx, args[0], args[1])
	return present(inv, again, err, func(w io.Writer, d contract.WebhookDelivery) error {
		_, err := fmt.Fprintf(w, "Message %s is sent once more.\n", d.ID)
		return err
	})
}

func enableWebhook(ctx context.Context, inv *invocation, args []string) error {
	found, err := inv.api.Webhook(ctx, args[0])
	if err != nil {
		return err
	}
	as := found.Body
	changed, err := inv.api.ReplaceWebhook(ctx, as.ID, contract.WebhookRequest{URL: as.URL, Description: as.Description,
		Events: as.Events, LowCreditPence: &as.LowCreditPence, Enabled: given(true, true)})
	return present(inv, changed, err, func(w io.Writer, now contract.Webhook) error {
		_, err := fmt.Fprintf(w, "Webhook %s is enabled. It is told of what happens from now on.\n", now.ID)
		return err
	})
}

func rotateWebhookSecret(ctx context.Context, inv *invocation, args []string) error {
	changed, err := inv.api.RotateWebhookSecret(ctx, args[0])
	return present(inv, changed, err, func(w io.Writer, now contract.Webhook) error {
		_, err := fmt.Fprintf(w, "Webhook %s has a new secret, which is shown this once:\n  %s\n", now.ID, now.Secret)
		return err
	})
}

func removeWebhook(ctx context.Context, inv *invocation, args []string) error {
	if err := inv.api.RemoveWebhook(ctx, args[0]); err != nil {
		return err
	}
	if !inv.json {
		fmt.Fprintf(inv.out, "Webhook %s is removed.\n", args[0])
	}
	return nil
}

func webhooksTable(w io.Writer, webhooks []contract.Webhook) error {
	if len(webhooks) == 0 {
		_, err := fmt.Fprintln(w, "No webhooks.")
		return err
	}
	t := newTable(painter(w), nil, "id", "url", "told of", "state", "note")
	for _, one := range webhooks {
		state := "enabled"
		if !one.Enabled {
			state = "disabled"
		}
		note := one.Description
		if one.DisabledReason != "" {
			note = one.DisabledReason
		}
		t.AppendRow(table.Row{one.ID, shorten(one.URL, 60), strings.Join(one.Events, ", "), state, shorten(note, 60)})
	}
	return render(w, t)
}

func deliveriesTable(w io.Writer, deliveries []contract.WebhookDelivery) error {
	if len(deliveries) == 0 {
		_, err := fmt.Fprintln(w, "No messages yet.")
		return err
	}
	t := newTable(painter(w), []int{5}, "message", "event", "made", "state", "sent", "found")
	for _, one := range deliveries {
		found := one.LastError
		if one.DeliveredAt != nil {
			found = fmt.Sprintf("taken with %d at %s", one.LastStatus, clockOr(one.DeliveredAt, ""))
		} else if one.NextAt != nil && one.Attempts > 0 {
			found += "; again at " + clockOr(one.NextAt, "")
		}
		t.AppendRow(table.Row{one.ID, one.Event, clockOr(&one.CreatedAt, ""), one.State, one.Attempts, shorten(found, 70)})
	}
	return render(w, t)
}
