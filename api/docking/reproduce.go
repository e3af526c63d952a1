package docking

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

const reproduceText = "Submits the run's request again as a job of its own, with the seed pinned to what it was and every input " +
	"held against the digest that it had. The expected cost is set aside and what is used is charged. " +
	"Read the new run to learn what came of it: its reproduction says whether the poses are identical, within tolerance or " +
	"different, and why. dockingRequest's names stay with the first run. " +
	"With an Idempotency-Key the request may be sent again: the first answer comes back."

// Reproduce repeats one of the caller's runs. With an idempotency key it may be called again and answers as the first time.
// Errors: fault.NotFound, fault.IdempotencyKeyReused for a key that made another job, and those of a submission.
func (s *Service) Reproduce(
	ctx context.Context, caller access.Principal, id, key string,
) (contract.DockingReproduceResponse, error) {
	of, err := s.findRun(ctx, caller.AccountID, id)
	if err != nil {
		return contract.DockingReproduceResponse{}, err
	}
	receipt, err := s.deps.Submitter.Resubmit(ctx, caller, of.JobID, of.Seed, of.ID, key)
	if err != nil {
		return contract.DockingReproduceResponse{}, err
	}
	made, err := s.store.runOfJob(ctx, caller.AccountID, receipt.JobID)
	if err != nil {
		return contract.DockingReproduceResponse{}, fmt.Errorf("reading the run of job %s: %w", receipt.JobID, err)
	}
	if receipt.Replayed && made.ReproducesRunID.String != of.ID {
		return contract.DockingReproduceResponse{}, fault.New(fault.IdempotencyKeyReused,
			"idempotencyKey: it was used for a different request; send a new key")
	}
	return contract.DockingReproduceResponse{
		RunID: made.ID, JobID: receipt.JobID, ReproducesRunID: of.ID, Status: made.Status,
		EstimatedCost: wire.PoundsOf(receipt.Quote.EstimatedPence), Currency: receipt.Quote.Currency,
		IdempotentReplay: receipt.Replayed,
	}, nil
}

// reproduction holds a repetition against the run that it repeats; nil when that one is gone.
func (s *Service) reproduction(ctx context.Context, accountID string, again runRow) (*contract.DockingReproduction, error) {
	of, err := s.store.run(ctx, accountID, again.ReproducesRunID.String)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.FilesDeleted) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := s.factsOf(ctx, accountID, of)
	if err != nil {
		return nil, err
	}
	second, err := s.factsOf(ctx, accountID, again)
	if err != nil {
		return nil, err
	}
	found := compare(first, second)
	return &found, nil
}

// factsOf collects what a run is compared by; the ligands only once it has ended.
func (s *Service) factsOf(ctx context.Context, accountID string, r runRow) (facts, error) {
	d, err := r.documents()
	if err != nil {
		return facts{}, err
	}
	f := facts{RunID: r.ID, Ended: r.Status.Terminal(), Settings: r.settings(d)}
	if f.Ended {
		f.Outcomes, err = s.store.outcomes(ctx, accountID, r.ID)
	}
	return f, err
}

// exhaustiveness is that of a run, for people.
func (r runRow) exhaustiveness() string {
	if r.ExhaustivenessAuto {
		return fmt.Sprintf("auto, at most %d", r.Exhaustiveness)
	}
	return strconv.Itoa(r.Exhaustiveness)
}

// settings are what a run's results follow from, by names for people.
func (r runRow) settings(d documents) map[string]string {
	settings := map[string]string{
		"seed": strconv.FormatInt(r.Seed, 10), "exhaustiveness": r.exhaustiveness(), "numModes": strconv.Itoa(r.NumModes),
		"energyRangeKcalMol": strconv.FormatFloat(r.EnergyRangeKcalMol, 'g', -1, 64), "cpuThreads": strconv.Itoa(r.CPUThreads),
		"status": string(r.Status),
	}
	for program, version := range d.programs {
		settings["version of "+program] = version
	}
	for name, digest := range map[string]*string{
		"receptor.identitySha256":    d.receptor.Hashes.ReceptorIdentitySHA256,
		"receptor.preparationSha256": d.receptor.Hashes.PreparationSHA256,
		"receptor.toolchainSha256":   d.receptor.Hashes.ToolchainSHA256,
	} {
		if digest != nil {
			settings[name] = *digest
		}
	}
	if d.box != nil {
		settings["box.center"], settings["box.size"] = fmt.Sprintf("%.3f Å", d.box.CenterAngstrom),
			fmt.Sprintf("%.3f Å", d.box.SizeAngstrom)
	}
	return settings
}

type reproduceInput struct {
	ID             string `path:"id" doc:"Id of the run, or the caller's own name of it."`
	IdempotencyKey string `header:"Idempotency-Key" minLength:"8" maxLength:"255" doc:"The same key answers as the first time."`
}

type reproduceOutput struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true when an earlier request made the run."`
	Body     contract.DockingReproduceResponse
}

func (s *Service) reproduce(ctx context.Context, in *reproduceInput) (*reproduceOutput, error) {
	made, err := s.Reproduce(ctx, access.From(ctx), in.ID, in.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	out := &reproduceOutput{Body: made}
	if made.IdempotentReplay {
		out.Replayed = "true"
	}
	return out, nil
}

func reproduceOperation() huma.Operation {
	op := operation(http.MethodPost, "reproduce-docking-run", "/runs/{id}/reproduce", "Repeat a docking run", reproduceText,
		access.Rule{Scope: access.JobsWrite, LiveOnly: true})
	op.DefaultStatus = http.StatusAccepted
	op.Errors = []int{http.StatusPaymentRequired, http.StatusConflict, http.StatusUnprocessableEntity}
	return op
}
