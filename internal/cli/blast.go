package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// The simulators that `blast` asks for.
const (
	blastp = "blastp"
	blastn = "blastn"
)

// Bounds of doc/contract.md §2.2.
const (
	minEvalue       = 1e-300
	maxEvalue       = 1000.0
	maxBlastHits    = 1000
	maxBlastThreads = 64
	maxSearchTasks  = 10_000
)

type blastRequest struct {
	jobRequest[blastParams]
	TaskCount int `json:"taskCount,omitempty"`
}

type blastParams struct {
	DatabaseName    string   `json:"blastDatabaseName,omitempty"`
	DatabaseVersion string   `json:"blastDatabaseVersion,omitempty"`
	Evalue          *float64 `json:"blastEvalue,omitempty"`
	MaxHits         *int     `json:"blastMaxHits,omitempty"`
	Threads         *int     `json:"blastThreads,omitempty"`
}

const blastText = `Searches a sequence database of the deployment with NCBI BLAST+: uploads the file of queries (FASTA,
perhaps compressed with gzip), submits the job, follows it, and shows each query's best hit. The queries are cut into parts that are
searched side by side; hits, scores and E-values are those of one run over all of them. The E-value of a hit is how many alignments
this good are expected by chance: below 0.001 it is hardly one.

blastp searches proteins with proteins, blastn nucleotides with nucleotides. Without --program the letters of the file decide.
` + "`molfabric databases`" + ` lists what can be searched; without a version the newest release is. ` + "`molfabric hits JOB`" + `
shows all hits, and their alignments.`

func blastCommand() *cobra.Command {
	var options blastFlags
	cmd := command(cobra.Command{
		Use: "blast QUERIES.fasta", Short: "Search a sequence database with BLAST", Long: blastText,
		Example: `  molfabric blast queries.fasta --db swissprot --evalue 0.001 --watch --out results
  molfabric blast reads.fa --program blastn --db hg38:2026_01 --max-hits 5 --shards 8
  molfabric blast proteome.faa --db swissprot --estimate`,
	}, one("QUERIES.fasta"), func(ctx context.Context, inv *invocation, args []string) error {
		s, err := options.search(args[0])
		if err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		if options.estimate {
			return inv.estimateSearch(ctx, s)
		}
		receipt, err := inv.startSearch(ctx, s)
		if err != nil || options.detach || !options.watch {
			if err != nil {
				return err
			}
			return inv.showReceipt(receipt)
		}
		return inv.followSearch(ctx, receipt.Body, s)
	})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"fasta", "fa", "faa", "fna", "ffn", "gz"}, cobra.ShellCompDirectiveFilterFileExt
	}
	options.define(cmd)
	return cmd
}

// sequenceSearch is what `blast` is asked to do.
type sequenceSearch struct {
	queries queryFile
	request blastRequest
	top     int    // queries shown
	folder  string // where the results go; "" to leave them on the server
}

// blastFlags are the flags of `blast` as they are written.
type blastFlags struct {
	changed                       func(flag string) bool
	database, program             string
	name, folder                  string
	evalue                        float64
	maxHits, threads, shards, top int
	estimate, detach, watch       bool
}

func (f *blastFlags) define(cmd *cobra.Command) {
	offerNoReuse(cmd)
	flags := cmd.Flags()
	f.changed = flags.Changed
	flags.SortFlags = false // the order below goes from what is searched to how
	flags.StringVar(&f.database, "db", "", "the database, as NAME or NAME:VERSION; see `molfabric databases` (default: the "+
		"deployment's only one)")
	flags.StringVar(&f.program, "program", "", "blastp or blastn (default: by the letters of the file)")
	flags.Float64Var(&f.evalue, "evalue", 10, "largest E-value of a hit, such as 0.001")
	flags.IntVar(&f.maxHits, "max-hits", 500, fmt.Sprintf("most hits per query, 1 to %d", maxBlastHits))
	flags.IntVar(&f.threads, "threads", 1, fmt.Sprintf("threads per task, 1 to %d", maxBlastThreads))
	flags.IntVar(&f.shards, "shards", 0, "tasks to search with, side by side (default: by the size of queries and database)")
	flags.StringVar(&f.name, "name", "", "name of the job (default: made from the file and the database)")
	flags.IntVar(&f.top, "top", defaultTop, "how many queries to show at the end")
	flags.StringVarP(&f.folder, "output", "o", "", "folder to download hits and results into; also --out")
	flags.BoolVar(&f.estimate, "estimate", false, "show the price, and do nothing else")
	flags.BoolVar(&f.watch, "watch", true, "stay, and show progress and result")
	flags.BoolVar(&f.detach, "detach", false, "submit, and do not stay")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "out" {
			name = "output"
		}
		return pflag.NormalizedName(name)
	})
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("program", cobra.FixedCompletions([]string{blastp, blastn},
		cobra.ShellCompDirectiveNoFileComp))
}

// search reads the flags and the file of queries; nothing is sent before all of it is in order.
func (f *blastFlags) search(path string) (sequenceSearch, error) {
	if err := f.check(); err != nil {
		return sequenceSearch{}, err
	}
	queries, err := readQueries(path)
	if err != nil {
		return sequenceSearch{}, err
	}
	program := first(f.program, queries.program)
	if program == "" {
		return sequenceSearch{}, usage("%s: its letters do not tell proteins from nucleotides; say --program blastp or "+
			"--program blastn", path)
	}
	name, version, _ := strings.Cut(f.database, ":")
	title := plainName(path)
	if name != "" {
		title += " against " + name
	}
	return sequenceSearch{queries: queries, top: f.top, folder: f.folder, request: blastRequest{
		TaskCount: f.shards,
		jobRequest: jobRequest[blastParams]{
			JobType: "simulation", Simulator: program, JobName: shorten(labelOf(first(f.name, program+" of "+title)),
				maxLabelChars),
			SimulationParams: blastParams{
				DatabaseName: name, DatabaseVersion: version, Evalue: given(f.changed("evalue"), f.evalue),
				MaxHits: given(f.changed("max-hits"), f.maxHits), Threads: given(f.changed("threads"), f.threads),
			},
		},
	}}, nil
}

func (f *blastFlags) check() error {
	leaves := f.detach || f.changed("watch") && !f.watch
	name, version, versioned := strings.Cut(f.database, ":")
	switch {
	case f.detach && f.changed("watch") && f.watch:
		return usage("--watch and --detach exclude each other")
	case f.estimate && leaves || f.folder != "" && (f.estimate || leaves):
		return usage("--estimate, --detach and --output exclude each other")
	case f.program != "" && f.program != blastp && f.program != blastn:
		return usage("--program %q: must be blastp or blastn", f.program)
	case f.changed("db") && (name == "" || versioned && version == ""):
		return usage("--db %q: write NAME or NAME:VERSION; `molfabric databases` lists them", f.database)
	case !(f.evalue >= minEvalue && f.evalue <= maxEvalue):
		return usage("--evalue %g: must be %g to %g; 0.001 is usual", f.evalue, minEvalue, maxEvalue)
	case f.maxHits < 1 || f.maxHits > maxBlastHits:
		return usage("--max-hits %d: must be 1 to %d", f.maxHits, maxBlastHits)
	case f.threads < 1 || f.threads > maxBlastThreads:
		return usage("--threads %d: must be 1 to %d", f.threads, maxBlastThreads)
	case f.changed("shards") && (f.shards < 1 || f.shards > maxSearchTasks):
		return usage("--shards %d: must be 1 to %d", f.shards, maxSearchTasks)
	}
	return nil
}

// estimateSearch shows the price of a search without uploading anything.
func (inv *invocation) estimateSearch(ctx context.Context, s sequenceSearch) error {
	s.request.JobName = ""
	price, err := inv.api.Estimate(ctx, s.request)
	if err != nil {
		return err
	}
	if inv.json {
		return inv.print(price.JSON())
	}
	fmt.Fprintf(inv.out, "%s; between %s and %s\nAn amount above all of this is set aside while the job runs, and it never costs "+
		"more than that.\n",
		painter(inv.out).bold(money(price.Body.EstimatedCost, price.Body.Currency)),
		money(price.Body.Range.Low, price.Body.Currency),
		money(price.Body.Range.High, price.Body.Currency))
	return nil
}

// startSearch uploads the queries and submits the job.
func (inv *invocation) startSearch(
	ctx context.Context, s sequenceSearch,
) (submitted client.Answer[contract.SubmitResponse], err error) {
	scene, err := inv.uploadPlain(ctx, s.queries.path, plainName(s.queries.path), queryBound, client.UploadOptions{})
	if err != nil {
		return submitted, inv.unsubmitted(ctx, err)
	}
	s.request.SceneFile = scene.StorageKey
	return inv.submit(ctx, s.request, "")
}

// followSearch follows a search to its end, shows what it has found and downloads it where that is asked for.
func (inv *invocation) followSearch(ctx context.Context, receipt contract.SubmitResponse, s sequenceSearch) error {
	inv.tellSubmitted(receipt)
	_, err := inv.complete(ctx, receipt.JobID, s.top, func(j contract.Job) error { return inv.deliverSearch(ctx, j, s.folder) })
	return err
}

// isSearch tells whether a job searches sequences.
func isSearch(j contract.Job) bool {
	return j.Simulator != nil && (*j.Simulator == blastp || *j.Simulator == blastn)
}

// showSearch prints what a search that has results has found: the queries with the best hits, at most top of them. detail says how
// many queries failed, or "".
func (inv *invocation) showSearch(ctx context.Context, j contract.Job, top int) (detail string, err error) {
	if j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return "", nil
	}
	search, err := inv.api.BlastSearch(ctx, j.JobID)
	if err != nil {
		return "", err
	}
	page := client.Page{Limit: min(max(top, 1), contract.MaxPage)}
	best, err := inv.api.BlastQueries(ctx, j.JobID, client.QueryFilter{Page: page, Status: []string{queryCompleted},
		Sort: "evalue"})
	if err != nil {
		return "", err
	}
	if err := searchTable(inv.out, search.Body, best.Body.Queries); err != nil || search.Body.Counts.Failed == 0 {
		return "", err
	}
	failed, err := inv.api.BlastQueries(ctx, j.JobID, client.QueryFilter{Page: client.Page{Limit: maxFailuresShown},
		Status: []string{queryFailed}})
	if err != nil {
		return "", err
	}
	return showFailedQueries(inv.out, search.Body, failed.Body.Queries), nil
}
