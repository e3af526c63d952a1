package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/roles"
	"github.com/molfabric/molfabric/internal/secret/resting"
)

// SecretCommand is `molfabric secret`.
func SecretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "secret", Short: "Replace the secret under which keys are hashed, and see what rests on the earlier one",
		Long: `API keys are hashed under the deployment's secret, the links of shares are made with it, and secrets of licence servers are
sealed under it. A secret is replaced in steps: the new one seals, the earlier one still opens, and when nothing in use rests
on it any more it goes. Secrets are shown by their ids alone.

  molfabric secret rotate     makes a new secret in the home of ` + "`molfabric up`" + `; start it again
  molfabric secret reseal     seals under the new one what can be sealed without its owner
  molfabric secret status     shows what rests on the earlier one: keys move when they are used
  molfabric secret forget     ends the earlier one

A deployment whose secrets are configured changes them there: "Replacing the key secret" in doc/operating.md.`,
	}
	for _, c := range []*cobra.Command{secretStatusCommand(), rotateCommand(), resealCommand(), forgetCommand()} {
		config.Flags(c.Flags())
		cmd.AddCommand(c)
	}
	return cmd
}

func secretStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "status", Short: "Show how much rests on which secret", Args: cobra.NoArgs}
	cmd.RunE = configured(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) error {
		state, err := roles.Secrets(ctx, cfg, log)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), state)
		}
		writeSecrets(cmd.OutOrStdout(), state)
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func rotateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate", Short: "Make a new secret in the home; the earlier one still opens", Args: cobra.NoArgs,
		Long: "Makes a new secret in the home directory. It seals from the next start of `molfabric up` on; the earlier one " +
			"opens until " +
			"`molfabric secret forget`.",
	}
	cmd.RunE = configured(func(_ context.Context, cmd *cobra.Command, cfg config.Config, _ *slog.Logger) error {
		ring, err := roles.RotateSecret(cfg)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Secret %s seals from the next start of `molfabric up` on; %v still opens. Then run "+
			"`molfabric secret reseal`.\n",
			ring.ID(), ring.IDs()[1:])
		return nil
	})
	return cmd
}

// entrusted is what reseal moves.
const entrusted = resting.Licences + " and webhooks"

func resealCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "reseal", Short: "Seal under the new secret what rests on the earlier one", Args: cobra.NoArgs,
		Long: "Seals the secrets of licence servers and webhooks anew. Keys cannot be: nobody but their owners has them, " +
			"and each moves when it is used. " +
			"Run it when every process has been started with the new secret. It may be repeated.",
	}
	cmd.RunE = configured(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) error {
		done, err := roles.Reseal(ctx, cfg, log)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Sealed anew: %d %s.\n", done.Sealed, entrusted)
		if done.Lost > 0 {
			return fmt.Errorf("%d %s open with none of the deployment's secrets: add the secret that they were sealed under, or "+
				"have their owners enter them again",
				done.Lost, entrusted)
		}
		return nil
	})
	return cmd
}

func forgetCommand() *cobra.Command {
	var anyway bool
	cmd := &cobra.Command{
		Use: "forget", Short: "End the earlier secrets of the home", Args: cobra.NoArgs,
		Long: "Removes the earlier secrets from the home directory, from the next start of `molfabric up` on, unless something " +
			"in use rests on them.",
	}
	cmd.RunE = configured(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) error {
		state, err := roles.Secrets(ctx, cfg, log)
		if err != nil {
			return err
		}
		if _, n := resting.Hindrance(state.Rests); n > 0 && !anyway {
			return errors.New(state.Advice() + " --anyway ends it all the same, and them with it")
		}
		if err := roles.ForgetSecrets(cfg); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "The earlier secrets open nothing from the next start of `molfabric up` on.")
		return nil
	})
	cmd.Flags().BoolVar(&anyway, "anyway", false, "also where something in use rests on them")
	return cmd
}

// configured reads the configuration before a command runs.
func configured(run func(context.Context, *cobra.Command, config.Config, *slog.Logger) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, log, err := load(cmd)
		if err != nil {
			return err
		}
		return run(cmd.Context(), cmd, cfg, log)
	}
}

func writeSecrets(out io.Writer, state roles.SecretState) {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"What", "on " + state.Sealing, "on earlier ones", "of these in use"})
	for _, one := range state.Rests {
		t.AppendRow(table.Row{one.Kind, one.Sealing, one.Earlier, one.Lately})
	}
	fmt.Fprintln(out, t.Render())
	fmt.Fprintln(out, state.Advice())
}
