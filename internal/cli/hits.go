package cli

import (
	"context"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// hitFlags are the flags of `hits` as they are written.
type hitFlags struct {
	filter                 client.HitFilter
	maxEvalue, minIdentity float64
	alignments, tsv, csv   bool
	file                   string
	changed                func(flag string) bool
	mediaType              string // of an export; "" for none
}

func hitsCommand() *cobra.Command {
	var f hitFlags
	cmd := command(cobra.Command{
		Use: "hits JOB [QUERY]", Short: "List the hits of a search, with alignments, or export them",
		Long: `Lists what a search has found, in the order of the queries and best first; QUERY, a query's id or its place in the file from 0, lists
that one's alone. It works while the job runs. --alignments shows the alignments in blocks of 60 columns. --tsv and --csv write
all that fit the filters in the twelve columns of BLAST's tabular format; to standard output, or with -o to a file.`,
		Example: `  molfabric hits job_0190… --max-evalue 1e-10 --min-identity 40
  molfabric hits job_0190… "sp|P84927|DMS7_PHYTS" --alignments
  molfabric hits job_0190… --tsv -o hits.tsv`,
	}, cobra.RangeArgs(1, 2), func(ctx context.Context, inv *invocation, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		var err error
		if args[0], err = inv.jobID(ctx, args[0]); err != nil {
			return err
		}
		if len(args) == 2 {
			index, err := inv.queryIndex(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			f.filter.Query = &index
		}
		if f.mediaType != "" {
			return inv.export(f.file, func(path string) error {
				return searchAdvice(inv.api.ExportHits(ctx, args[0], f.filter, f.mediaType, path))
			})
		}
		return inv.showHits(ctx, args[0], f)
	})
	f.define(cmd)
	return cmd
}

func (f *hitFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.changed = flags.Changed
	flags.Float64Var(&f.maxEvalue, "max-evalue", 10, "only alignments with this E-value or a smaller one, such as 1e-10")
	flags.Float64Var(&f.minIdentity, "min-identity", 0, "only alignments with so many identities, in percent")
	flags.BoolVar(&f.alignments, "alignments", false, "show the alignments too")
	flags.BoolVar(&f.tsv, "tsv", false, "write a table as BLAST does")
	flags.BoolVar(&f.csv, "csv", false, "write a table for spreadsheets")
	flags.StringVarP(&f.file, "output", "o", "", "file for --tsv or --csv")
	pageFlags(cmd, &f.filter.Page)
}

// check settles what is listed, and how.
func (f *hitFlags) check() error {
	switch {
	case f.tsv && f.csv:
		return usage("--tsv and --csv exclude each other")
	case f.alignments && (f.tsv || f.csv):
		return usage("--alignments does not go with a table, which has no room for them")
	case f.file != "" && !f.tsv && !f.csv:
		return usage("-o needs --tsv or --csv, which say what the file holds")
	case !(f.maxEvalue >= 0 && f.maxEvalue <= maxEvalue):
		return usage("--max-evalue %g: must be 0 to %g", f.maxEvalue, maxEvalue)
	case !(f.minIdentity >= 0 && f.minIdentity <= 100):
		return usage("--min-identity %g: must be 0 to 100 percent", f.minIdentity)
	case f.tsv:
		f.mediaType = client.MediaTSV
	case f.csv:
		f.mediaType = client.MediaCSV
	}
	if f.mediaType != "" && !f.changed("limit") {
		f.filter.Limit = 0 // an export is whole
	}
	f.filter.MaxEvalue = given(f.changed("max-evalue"), f.maxEvalue)
	f.filter.MinIdentity = given(f.changed("min-identity"), f.minIdentity)
	return nil
}

// searchAdvice gives a search that is not there its own next step.
func searchAdvice(err error) error {
	return advise(err, fault.NotFound, "`molfabric jobs --simulator blastp` lists your searches of proteins, --simulator blastn "+
		"those of nucleotides")
}

// queryIndex finds a query by its id, or takes its place in the file as it is. An id that looks like a place is looked for first.
func (inv *invocation) queryIndex(ctx context.Context, jobID, named string) (int, error) {
	page := client.Page{Limit: contract.MaxPage}
	for {
		found, err := inv.api.BlastQueries(ctx, jobID, client.QueryFilter{Page: page, Text: named})
		if err != nil {
			return 0, searchAdvice(err)
		}
		for _, query := range found.Body.Queries {
			if query.QueryID != nil && *query.QueryID == named {
				return query.Index, nil
			}
		}
		if found.Body.NextCursor == nil {
			break
		}
		page.Cursor = *found.Body.NextCursor
	}
	index, err := strconv.Atoi(named)
	if err != nil || index < 0 || index > math.MaxInt32 {
		return 0, usage("QUERY %q: the search has no query of this id; give an id, or a query's place in the file from 0",
			shorten(harmless(named), labelChars))
	}
	return index, nil
}

func (inv *invocation) showHits(ctx context.Context, jobID string, f hitFlags) error {
	hits, err := inv.api.BlastHits(ctx, jobID, f.filter)
	return present(inv, hits, searchAdvice(err), func(w io.Writer, page contract.BlastHitList) error {
		err := hitsTable(w, page.Hits, f.filter.Query == nil)
		if err == nil && f.alignments {
			showAlignments(w, page.Hits)
		}
		return more(w, err, page.NextCursor)
	})
}

func databasesCommand() *cobra.Command {
	var kind string
	cmd := command(cobra.Command{
		Use: "databases", Short: "List the sequence databases that can be searched",
		Long: "Lists the sequence databases of the deployment, by name and then from the newest release to the oldest. It " +
			"needs no sign-in.",
		Example: "  molfabric databases --type prot\n  molfabric blast queries.fasta --db swissprot:2026_01",
	}, cobra.NoArgs, func(ctx context.Context, inv *invocation, _ []string) error {
		if kind != "" && kind != "prot" && kind != "nucl" {
			return usage("--type %q: must be prot or nucl", kind)
		}
		databases, err := inv.api.SequenceDatabases(ctx, kind)
		return present(inv, databases, err, func(w io.Writer, list contract.DatabaseList) error {
			return databasesTable(w, list.Databases)
		})
	})
	cmd.Flags().StringVar(&kind, "type", "", "only databases of proteins (prot) or of nucleotides (nucl)")
	return cmd
}
