package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/receipt"
)

// maxSampleSeed bounds a seed that is chosen here, so that every reader of JSON keeps its digits.
const maxSampleSeed = 1 << 53

// sampleFlags are the flags of verify that have a part of the job run again.
type sampleFlags struct {
	size     string // "" for none
	seed     int64
	seeded   bool // the user has said which
	estimate bool
}

func (f *sampleFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.size, "sample", "", "run a random part again on your server and compare: a percentage such as 1%, or a "+
		"number of ligands such as 5")
	flags.Int64Var(&f.seed, "seed", 0, "with --sample: draw what this seed draws (default: by chance; it is shown)")
	flags.BoolVar(&f.estimate, "estimate", false, "with --sample: show what is drawn and its price, and run nothing")
}

// check refuses flags that say nothing without --sample, and a size that is none.
func (f *sampleFlags) check(cmd *cobra.Command) error {
	f.seeded = cmd.Flags().Changed("seed")
	switch {
	case f.size == "" && cmd.Flags().Changed("sample"):
		return wrongSampleSize(f.size)
	case f.size == "" && f.seeded:
		return usage("--seed says what --sample draws: give both")
	case f.size == "" && f.estimate:
		return usage("--estimate shows the price of --sample: give both")
	case f.size == "":
		return nil
	}
	_, err := parseSampleSize(f.size)
	return err
}

// sampleSize is how many parts are drawn: a share of them in percent, or a number.
type sampleSize struct {
	percent float64
	count   int
}

func parseSampleSize(text string) (sampleSize, error) {
	if share, isShare := strings.CutSuffix(text, "%"); isShare {
		percent, err := strconv.ParseFloat(share, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return sampleSize{}, wrongSampleSize(text)
		}
		return sampleSize{percent: percent}, nil
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		return sampleSize{}, wrongSampleSize(text)
	}
	return sampleSize{count: count}, nil
}

func wrongSampleSize(text string) error {
	return usage("--sample %q: must be a percentage above 0 and up to 100, such as 1%%, or a number of ligands from 1, such as 5",
		text)
}

// of is how many of so many parts are drawn: at least one.
func (s sampleSize) of(parts int) int {
	if s.count > 0 {
		return min(s.count, parts)
	}
	const rounding = 1e-9 // 7% of 100 are 7, however binary numbers round it
	return min(max(int(math.Ceil(s.percent*float64(parts)/100-rounding)), 1), parts)
}

// chosenSeed is the seed of the user, or one by chance that nobody knew before.
func (f *sampleFlags) chosenSeed() (int64, error) {
	if f.seeded {
		return f.seed, nil
	}
	seed, err := rand.Int(rand.Reader, big.NewInt(maxSampleSeed))
	if err != nil {
		return 0, fmt.Errorf("choosing a seed: %w", err)
	}
	return seed.Int64(), nil
}

// sample runs a part of the receipt's job again and compares. Without an error it has found no difference; what is returned beside
// one is what was compared. Errors: those of the calls, of a job that did not end well, *inputError, errUnverified.
func (inv *invocation) sample(ctx context.Context, of receipt.Statement, o verifyOptions) (*sampling, error) {
	if err := inv.authorized(); err != nil {
		return nil, err
	}
	found, parts, err := o.sample.draw(of)
	if err != nil {
		return nil, err
	}
	there, err := inv.hasJob(ctx, of.Predicate.Job.ID)
	if err != nil {
		return nil, err
	}
	source := source{inv: inv, of: of, folder: o.folder, there: there}
	again, err := source.prepare(ctx, parts)
	if err != nil {
		return nil, inv.unsubmitted(ctx, err)
	}
	price, err := inv.api.Estimate(ctx, again.estimate())
	if err != nil {
		return nil, err
	}
	found.EstimatedCost, found.Currency = price.Body.EstimatedCost, price.Body.Currency
	inv.tellDrawn(found, parts)
	if o.sample.estimate {
		return found, nil
	}
	made, err := inv.runSample(ctx, again.request, found)
	if err != nil {
		return nil, err
	}
	if err := source.compare(ctx, found, parts, made, again.keys); err != nil {
		return nil, err
	}
	err = found.verdict()
	return found, err
}

// draw draws the parts that are run again: ligands of a docking, and of other engines all.
func (f *sampleFlags) draw(of receipt.Statement) (*sampling, []part, error) {
	parts, err := repeatable(of)
	if err != nil {
		return nil, nil, err
	}
	found := &sampling{Of: len(parts), Compared: []compared{}, Notes: []string{}}
	if !isDocked(of) {
		found.Drawn, found.Whole = len(parts), true
		return found, parts, nil
	}
	size, err := parseSampleSize(f.size)
	if err != nil {
		return nil, nil, err
	}
	if found.Seed, err = f.chosenSeed(); err != nil {
		return nil, nil, err
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
	}
	drawn := []part{}
	for _, place := range receipt.Draw(found.Seed, names, size.of(len(parts))) {
		drawn = append(drawn, parts[place])
	}
	found.Drawn = len(drawn)
	return found, drawn, nil
}

// hasJob tells whether the server has the receipt's job, for this account.
func (inv *invocation) hasJob(ctx context.Context, jobID string) (bool, error) {
	_, err := inv.api.Job(ctx, jobID)
	switch {
	case err == nil:
		return true, nil
	case client.CodeOf(err) == fault.NotFound, client.CodeOf(err) == fault.Validation: // an id of another form
		return false, nil
	}
	return false, err
}

// tellDrawn says what is run again and its price, before it is.
func (inv *invocation) tellDrawn(found *sampling, parts []part) {
	if inv.json {
		return
	}
	if found.Whole {
		fmt.Fprintf(inv.out, "The whole job is run again: parts of it cannot be. %d files are compared.\n", found.Of)
	} else {
		names := make([]string, len(parts))
		for i, p := range parts {
			names[i] = labelOf(p.ligand)
		}
		fmt.Fprintf(inv.out, "With the seed %d, %d of %d docked ligands are drawn: %s\n", found.Seed, found.Drawn, found.Of,
			named(names))
	}
	fmt.Fprintf(inv.out, "Running it again on %s is expected to cost %s.\n", inv.api.Server(),
		money(found.EstimatedCost, found.Currency))
}

// runSample runs the submission and returns what the server's receipt says of it.
func (inv *invocation) runSample(ctx context.Context, request any, found *sampling) (receipt.Statement, error) {
	var none receipt.Statement
	submitted, err := inv.submit(ctx, request, "")
	if err != nil {
		return none, err
	}
	found.JobID, found.EstimatedCost = submitted.Body.JobID, submitted.Body.EstimatedCost
	inv.tellSubmitted(submitted.Body)
	ended, err := inv.follow(ctx, found.JobID, nil)
	if err != nil {
		return none, err
	}
	if ended.Body.Status != job.Completed && ended.Body.Status != job.CompletedWithFailures {
		return none, endOf(ended.Body, "")
	}
	return inv.receiptHere(ctx, found.JobID)
}

// receiptHere is what the server's own receipt of a job says.
func (inv *invocation) receiptHere(ctx context.Context, jobID string) (receipt.Statement, error) {
	answer, err := inv.api.Receipt(ctx, jobID)
	if err != nil {
		return receipt.Statement{}, err
	}
	keys, err := inv.receiptKeys(ctx, "")
	if err != nil {
		return receipt.Statement{}, err
	}
	opened, err := receipt.Open(ctx, answer.JSON(), keys)
	if err != nil {
		return receipt.Statement{}, fmt.Errorf("the receipt of job %s, which ran the sample: %w", jobID, err)
	}
	return opened.Statement, nil
}

// compare holds what was made here against the receipt.
func (s source) compare(
	ctx context.Context, found *sampling, parts []part, made receipt.Statement, keys map[string]string,
) error {
	found.Compared = append(inputsApart(s.of, made, keys), compareParts(parts, made, isDocked(s.of), nil)...)
	if isDocked(s.of) && found.has(verdictUndecided) {
		scores, err := s.scores(ctx, made)
		if err != nil {
			return err
		}
		found.Compared = append(inputsApart(s.of, made, keys), compareParts(parts, made, true, scores)...)
	}
	found.noteToolchains(parts, made)
	return nil
}

// estimate is the submission in the form of an estimate.
func (r repetition) estimate() map[string]any {
	asked := map[string]any{}
	for _, member := range []string{"jobType", "simulator", "simulationParams", "taskCount", "parameters", "recovery", "sceneFile",
		"attachments", "noReuse"} {
		if value, ok := r.request[member]; ok {
			asked[member] = value
		}
	}
	return asked
}
