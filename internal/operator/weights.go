package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/roles"
	"github.com/molfabric/molfabric/internal/weights"
)

// WeightsCommand is `molfabric weights`.
func WeightsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "weights", Short: "Keep the weights of the models that fold proteins",
		Long: `Adds the weights of a model to a deployment, lists, checks and retires them. They are yours to fetch: molfabric
downloads none, and no task does. A prediction runs on those that were added last; its results name their digest and their
licence. Weights that may not be used commercially are refused for accounts that pay; those of random values mark every
result as untrained.

They live in the deployment's Postgres and object store (DATABASE_URL, S3_ENDPOINT with its keys); where none is configured,
in those of the system that runs from the home directory, or would. Workers need no copy of their own.

  molfabric weights add esmfold_v1 --model esmfold --licence MIT --commercial-use
  molfabric weights list
  molfabric weights verify
  molfabric weights retire 4f1c02ab90de`,
	}
	for _, c := range []*cobra.Command{addWeightsCommand(), listWeightsCommand(), verifyWeightsCommand(), retireWeightsCommand()} {
		config.Flags(c.Flags())
		cmd.AddCommand(c)
	}
	return cmd
}

func addWeightsCommand() *cobra.Command {
	var source weights.Source
	cmd := &cobra.Command{
		Use: "add FOLDER", Short: "Add the weights in a folder", Args: cobra.ExactArgs(1),
		Long: `Reads config.json and the safetensors of a folder, and stores them by their digest, which is what this prints in a
folder with those files alone:

  LC_ALL=C; sha256sum * | sha256sum

What is in another form, as pytorch_model.bin is, engines/esmfold/tools/convert_weights.py writes as safetensors. The licence
is that of the weights as their makers state it. Say --commercial-use where it allows that; without it, accounts that pay are
refused. Adding the same again changes nothing, except that it repairs files that the object store has lost and takes retired
weights into use again.`,
		Example: `  molfabric weights add esmfold_v1 --model esmfold --licence MIT --commercial-use
  molfabric weights add .molfabric/fold/tiny-model --model esmfold --licence none --untrained`,
	}
	cmd.RunE = withWeights(func(ctx context.Context, cmd *cobra.Command, registry *weights.Registry) error {
		source.Folder = cmd.Flags().Arg(0)
		meter := newStepMeter(cmd.ErrOrStderr())
		w, outcome, err := registry.Add(ctx, source, meter.update)
		meter.close()
		if err != nil {
			return err
		}
		said := map[weights.Outcome]string{weights.Added: "Added", weights.Known: "They are there:",
			weights.Returned: "In use again:"}[outcome]
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %.1f MB in %d files, %s.\ndigest %s\n", said, w, float64(w.Bytes)/1e6, len(w.Files),
			roles.DescribeWeights(w), w.Digest)
		return nil
	})
	flags := cmd.Flags()
	flags.StringVar(&source.Model, "model", "", "the engine that runs them: "+strings.Join(weights.Models, ", "))
	flags.StringVar(&source.Licence, "licence", "", "licence of the weights, e.g. MIT")
	flags.BoolVar(&source.CommercialUse, "commercial-use", false, "the licence allows commercial use")
	flags.BoolVar(&source.Untrained, "untrained", false, "they are random: results mean nothing, and say so")
	flags.StringVar(&source.Title, "title", "", "name for people (default: the model's)")
	for _, name := range []string{"model", "licence"} {
		_ = cmd.MarkFlagRequired(name) // both are defined above
	}
	return cmd
}

// shownWeights is weights in the JSON of the command line.
type shownWeights struct {
	Digest        string         `json:"digest"`
	Model         string         `json:"model"`
	Title         string         `json:"title"`
	Licence       string         `json:"licence"`
	CommercialUse bool           `json:"commercialUse"`
	Trained       bool           `json:"trained"`
	ByteSize      int64          `json:"byteSize"`
	Files         []weights.File `json:"files"`
	CreatedAt     time.Time      `json:"createdAt"`
	RetiredAt     *time.Time     `json:"retiredAt"`
}

func listWeightsCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the weights", Args: cobra.NoArgs,
		Long: "Lists the weights that predictions can run on, the newest of each model first; with --all also the retired ones."}
	cmd.RunE = withWeights(func(ctx context.Context, cmd *cobra.Command, registry *weights.Registry) error {
		found, err := registry.All(ctx)
		if !all && err == nil {
			found, err = registry.List(ctx)
		}
		if err != nil {
			return err
		}
		if asJSON {
			shown := make([]shownWeights, len(found))
			for i, w := range found {
				shown[i] = shownWeights{w.Digest, w.Model, w.Title, w.Licence, w.CommercialUse, w.Trained, w.Bytes, w.Files,
					w.CreatedAt,
					w.RetiredAt}
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(shown)
		}
		if len(found) == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "There are no weights yet; `molfabric weights add --help` tells how to add some.")
		}
		for _, w := range found {
			state := ""
			if w.RetiredAt != nil {
				state = ", retired " + w.RetiredAt.Format(time.DateOnly)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s  %s, %.1f MB, %s%s\n", w, w.Title, float64(w.Bytes)/1e6,
				roles.DescribeWeights(w), state)
		}
		return nil
	})
	cmd.Flags().BoolVar(&all, "all", false, "list the retired ones too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func verifyWeightsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "verify [DIGEST]", Short: "Read every file and compare its digest", Args: cobra.MaximumNArgs(1),
		Long: `Reads every file of all weights, or of those whose digest begins so, from the object store and holds it against its
digest. It exits with 1 when one differs; adding the same folder again repairs it. Workers check the same whenever they
fetch a file, so damaged weights fail predictions and never change their results.`}
	cmd.RunE = withWeights(func(ctx context.Context, cmd *cobra.Command, registry *weights.Registry) error {
		found, err := registry.All(ctx)
		if err != nil {
			return err
		}
		checked, damaged := 0, 0
		for _, w := range found {
			if !strings.HasPrefix(w.Digest, strings.ToLower(cmd.Flags().Arg(0))) {
				continue
			}
			meter := newStepMeter(cmd.ErrOrStderr())
			damages, err := registry.Verify(ctx, w, meter.update)
			meter.close()
			if err != nil {
				return err
			}
			checked++
			if len(damages) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %d files\n", w, len(w.Files))
				continue
			}
			damaged++
			for _, one := range damages {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: DAMAGED: %s %s\n", w, one.File, one.Problem)
			}
		}
		switch {
		case damaged > 0:
			return fmt.Errorf("%d of %d weights are damaged; add their folder again (molfabric weights add) to repair them",
				damaged,
				checked)
		case checked == 0 && cmd.Flags().NArg() > 0:
			return errors.New("there are no weights of this digest; `molfabric weights list --all` shows them")
		}
		return nil
	})
	return cmd
}

func retireWeightsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "retire DIGEST", Short: "Let no new job run on weights", Args: cobra.ExactArgs(1),
		Long: "Takes the weights whose digest begins so out of use. " +
			"Jobs that were submitted before keep them, and their files stay."}
	cmd.RunE = withWeights(func(ctx context.Context, cmd *cobra.Command, registry *weights.Registry) error {
		w, err := registry.Retire(ctx, cmd.Flags().Arg(0))
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s are retired; no new job runs on them.\n", w)
		}
		return err
	})
	return cmd
}

// withWeights reads the configuration and opens the registry before a command runs, as withDatabases does.
func withWeights(run func(context.Context, *cobra.Command, *weights.Registry) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, log, err := openConfig(cmd)
		if err != nil {
			return err
		}
		return roles.WithWeights(cmd.Context(), cfg, log, func(ctx context.Context, registry *weights.Registry) error {
			return run(ctx, cmd, registry)
		})
	}
}

// openConfig reads the configuration. The log goes to a file of the home where that has the stores: their starting and stopping is
// nothing to read.
func openConfig(cmd *cobra.Command) (config.Config, *slog.Logger, error) {
	cfg, err := config.Load(cmd.Flags())
	if err != nil {
		return cfg, nil, err
	}
	var log *slog.Logger
	if cfg.DatabaseURL == "" || cfg.S3.Endpoint == "" {
		log, err = roles.QuietLog(&cfg)
	} else {
		log, err = roles.NewLog(cfg)
	}
	return cfg, log, err
}
