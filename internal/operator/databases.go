package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/roles"
	"github.com/molfabric/molfabric/internal/sequences"
)

// BlastDBCommand is `molfabric blastdb`.
func BlastDBCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "blastdb", Short: "Keep the databases that blastp and blastn search",
		Long: `Adds BLAST databases to a deployment, lists, checks and retires them. A job names one by its name (blastDatabaseName),
and where it must be a certain one by its version, date or checksum; of several that fit, the newest release is searched.

The databases live in the deployment's Postgres and object store (DATABASE_URL, S3_ENDPOINT with its keys); where none
is configured, in those of the system that runs from the home directory, or would. Workers need no copy of their own.

  molfabric blastdb add uniprot_sprot.fasta.gz --name swissprot --version 2026_01 --date 2026-01-28
  molfabric blastdb list
  molfabric blastdb verify
  molfabric blastdb retire swissprot 2025_04`,
	}
	for _, c := range []*cobra.Command{addDatabaseCommand(), listDatabasesCommand(), verifyDatabasesCommand(),
		retireDatabaseCommand()} {
		config.Flags(c.Flags())
		cmd.AddCommand(c)
	}
	return cmd
}

func addDatabaseCommand() *cobra.Command {
	var source sequences.Source
	cmd := &cobra.Command{
		Use: "add FASTA", Short: "Build a database from a FASTA file and add it", Args: cobra.ExactArgs(1),
		Long: `Reads a FASTA file of proteins or nucleotides, plain or gzip'd, builds a BLAST database from it with makeblastdb
(apt-get install ncbi-blast+), and stores it. It refuses what a search could not tell apart or would lose: ids that stand
in the file twice, empty sequences, letters that are no residue, proteins mixed with nucleotides.

The ids of hits are the first words of the headers, unchanged. The same file with the same name, version, date and title
always gives the same checksum, which is what this prints in a folder with the database's files alone:

  LC_ALL=C; sha256sum * | sha256sum

A name and version stand for one content for ever. Adding the same again changes nothing, except that it repairs files that
the object store has lost and takes a retired database into use again. Building needs about as much room below $TMPDIR as
the unpacked file has.`,
		Example: `  molfabric blastdb add uniprot_sprot.fasta.gz --name swissprot --version 2026_01 --date 2026-01-28 --title "UniProtKB/Swiss-Prot 2026_01"
  molfabric blastdb add contigs.fna --name mygenome --version 1 --type nucl`,
	}
	cmd.RunE = withDatabases(func(ctx context.Context, cmd *cobra.Command, registry *sequences.Registry) error {
		source.Path = cmd.Flags().Arg(0)
		meter := newStepMeter(cmd.ErrOrStderr())
		d, outcome, err := registry.Add(ctx, source, meter.update)
		meter.close()
		if err != nil {
			return err
		}
		said := map[sequences.Outcome]string{sequences.Added: "Added", sequences.Known: "Nothing to do, it is there:",
			sequences.Returned: "In use again:", sequences.Repaired: "Repaired"}[outcome]
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s sequences, %s residues, released on %s, type %s.\nchecksum %s\nA job searches "+
			"it with \"blastDatabaseName\": %q.\n",
			said, d, roles.Grouped(d.Sequences), roles.Grouped(d.Residues), d.ReleasedOn, d.Type, d.Checksum, d.Name)
		return nil
	})
	flags := cmd.Flags()
	flags.StringVar(&source.Name, "name", "", "name that jobs search it by, e.g. swissprot")
	flags.StringVar(&source.Version, "version", "", "version, e.g. 2026_01")
	flags.StringVar(&source.ReleasedOn, "date", "", "day of the release as YYYY-MM-DD; of several versions the newest is "+
		"searched (default today)")
	flags.StringVar(&source.Type, "type", "", "prot or nucl (default: the letters tell)")
	flags.StringVar(&source.Title, "title", "", "name for people (default: name and version)")
	for _, name := range []string{"name", "version"} {
		_ = cmd.MarkFlagRequired(name) // both are defined above
	}
	return cmd
}

func listDatabasesCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the databases", Args: cobra.NoArgs,
		Long: "Lists the databases that jobs can search; with --all also the retired ones. Users can read the list at " +
			"/api/v1/molecular/blast/databases."}
	cmd.RunE = withDatabases(func(ctx context.Context, cmd *cobra.Command, registry *sequences.Registry) error {
		found, err := registry.All(ctx)
		if !all && err == nil {
			found, err = registry.List(ctx, "")
		}
		if err != nil {
			return err
		}
		if len(found) == 0 && !asJSON {
			fmt.Fprintln(cmd.OutOrStdout(), "There is no database yet; `molfabric blastdb add --help` tells how to add one.")
			return nil
		}
		return roles.WriteDatabases(cmd.OutOrStdout(), found, asJSON)
	})
	cmd.Flags().BoolVar(&all, "all", false, "list the retired ones too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func verifyDatabasesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "verify [NAME [VERSION]]", Short: "Read every file and compare its digest",
		Args: cobra.MaximumNArgs(2), Long: `Reads every file of every database, or of those with a name and version, from the object store and holds it against its
digest. It exits with 1 when one differs; adding the same FASTA again repairs it. Workers check the same whenever they
fetch a file, so a damaged database fails searches and never changes their results.`}
	cmd.RunE = withDatabases(func(ctx context.Context, cmd *cobra.Command, registry *sequences.Registry) error {
		found, err := registry.All(ctx)
		if err != nil {
			return err
		}
		checked, damaged := 0, 0
		for _, d := range found {
			if name, version := cmd.Flags().Arg(0), cmd.Flags().Arg(1); name != "" && name != d.Name || version != "" &&
				version != d.Version {
				continue
			}
			meter := newStepMeter(cmd.ErrOrStderr())
			damages, err := registry.Verify(ctx, d, func(done, total int64) { meter.update("verifying "+d.String(), done, total) })
			meter.close()
			if err != nil {
				return err
			}
			checked++
			if len(damages) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %d files\n", d, len(d.Files))
				continue
			}
			damaged++
			for _, one := range damages {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: DAMAGED: %s %s\n", d, one.File, one.Problem)
			}
		}
		switch {
		case damaged > 0:
			return fmt.Errorf("%d of %d databases are damaged; add their FASTA again (molfabric blastdb add) to repair them",
				damaged, checked)
		case checked == 0 && cmd.Flags().NArg() > 0:
			return errors.New("there is no database of this name and version; `molfabric blastdb list --all` shows them")
		}
		return nil
	})
	return cmd
}

func retireDatabaseCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "retire NAME VERSION", Short: "Let no new job search a database", Args: cobra.ExactArgs(2),
		Long: "Takes a database out of use. Jobs that were submitted before keep it, and its files stay. Adding the same FASTA " +
			"again takes it back into use."}
	cmd.RunE = withDatabases(func(ctx context.Context, cmd *cobra.Command, registry *sequences.Registry) error {
		d, err := registry.Retire(ctx, cmd.Flags().Arg(0), cmd.Flags().Arg(1))
		if err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s is retired; no new job searches it.\n", d)
		}
		return err
	})
	return cmd
}

// withDatabases reads the configuration and opens the registry before a command runs.
func withDatabases(run func(context.Context, *cobra.Command, *sequences.Registry) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, log, err := openConfig(cmd)
		if err != nil {
			return err
		}
		return roles.WithDatabases(cmd.Context(), cfg, log, func(ctx context.Context, registry *sequences.Registry) error {
			return run(ctx, cmd, registry)
		})
	}
}

// stepEvery is how often a terminal gets a new percentage.
const stepEvery = 100 * time.Millisecond

// stepMeter shows how far the steps of a long command are: a line that changes on a terminal, a line a step elsewhere. It is safe
// for concurrent use.
type stepMeter struct {
	out      io.Writer
	terminal bool

	mu    sync.Mutex
	step  string
	shown time.Time
}

func newStepMeter(out io.Writer) *stepMeter {
	file, isFile := out.(*os.File)
	return &stepMeter{out: out, terminal: isFile && term.IsTerminal(int(file.Fd()))}
}

func (m *stepMeter) update(step string, done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	isNew, percent := step != m.step, 100*float64(min(done, total))/float64(max(total, 1))
	switch {
	case !m.terminal && isNew:
		fmt.Fprintf(m.out, "%s %.1f MB\n", step, float64(total)/1e6)
	case m.terminal && isNew && m.step != "":
		fmt.Fprint(m.out, "\n")
		fallthrough
	case m.terminal && (isNew || done >= total || time.Since(m.shown) > stepEvery):
		fmt.Fprintf(m.out, "\r%s %.1f MB: %3.0f %%", step, float64(total)/1e6, percent)
		m.shown = time.Now()
	}
	m.step = step
}

// close ends the line.
func (m *stepMeter) close() {
	if m.terminal && m.step != "" {
		fmt.Fprint(m.out, "\n")
	}
}
