package cli

import (
	"context"
	"fmt"
	"regexp"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

// simulate starts a run, follows it to its end, shows what it measured and downloads its files where that is asked for.
func (inv *invocation) simulate(ctx context.Context, d dynamics) error {
	receipt, err := inv.startDynamics(ctx, d)
	if err != nil {
		return err
	}
	inv.tellSubmitted(receipt.Body)
	if !inv.json {
		fmt.Fprintf(inv.out, "  %s\n", d.text())
	}
	_, err = inv.complete(ctx, receipt.Body.JobID, defaultTop, func(j contract.Job) error {
		return inv.deliverDynamics(ctx, j, d.folder)
	})
	return err
}

// startDynamics uploads what a run needs and submits it.
func (inv *invocation) startDynamics(
	ctx context.Context, d dynamics,
) (submitted client.Answer[contract.SubmitResponse], err error) {
	request, err := inv.uploadDynamics(ctx, d)
	if err != nil {
		return submitted, inv.unsubmitted(ctx, err)
	}
	return inv.submit(ctx, request, "")
}

func (inv *invocation) uploadDynamics(ctx context.Context, d dynamics) (dynamicsRequest, error) {
	coordinates, err := inv.uploadDynamicsFile(ctx, d.structure)
	if err != nil {
		return dynamicsRequest{}, err
	}
	var prmtop client.Uploaded
	if d.prmtop != nil {
		if prmtop, err = inv.uploadDynamicsFile(ctx, *d.prmtop); err != nil {
			return dynamicsRequest{}, err
		}
	}
	request := newDynamicsRequest(d, uuid.NewString(), coordinates, prmtop)
	request.SceneFile, request.JobName = coordinates.StorageKey, d.name
	return request, nil
}

// plainFileName is a name that keys of artifacts can hold.
var plainFileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// uploadDynamicsFile stores a file under its own name, or under its format where that holds what a key must not.
func (inv *invocation) uploadDynamicsFile(ctx context.Context, f dynamicsFile) (client.Uploaded, error) {
	return inv.uploadPlain(ctx, f.path, f.name(), dynamicsBound, client.UploadOptions{})
}

func (f dynamicsFile) name() string {
	if name := plainName(f.path); plainFileName.MatchString(name) {
		return name
	}
	return "coordinates." + f.format
}

// estimateDynamics shows the price of a run without uploading anything.
func (inv *invocation) estimateDynamics(ctx context.Context, d dynamics) error {
	coordinates, err := d.structure.measure()
	if err != nil {
		return err
	}
	var prmtop client.Uploaded
	if d.prmtop != nil {
		if prmtop, err = d.prmtop.measure(); err != nil {
			return err
		}
	}
	price, err := inv.api.Estimate(ctx, newDynamicsRequest(d, uuid.NewString(), coordinates, prmtop))
	if err != nil {
		return err
	}
	if inv.json {
		return inv.print(price.JSON())
	}
	showDynamicsEstimate(inv, price.Body, d)
	return nil
}

// measure is an upload of a file that has not happened.
func (f dynamicsFile) measure() (client.Uploaded, error) {
	file, err := openPlain(f.path, dynamicsBound)
	if err != nil {
		return client.Uploaded{}, err
	}
	defer file.Close()
	digest, err := client.Digest(file)
	if err != nil {
		return client.Uploaded{}, fmt.Errorf("%s: %w", f.path, err)
	}
	return client.Uploaded{
		StorageKey: "not-uploaded/" + f.name(), SHA256: digest, ByteSize: file.size, ContentType: client.ContentType(f.name()),
	}, nil
}

func showDynamicsEstimate(inv *invocation, price contract.EstimateResponse, d dynamics) {
	fmt.Fprintf(inv.out, "%s for %s\n", painter(inv.out).bold(money(price.EstimatedCost, price.Currency)), d.text())
	fmt.Fprintf(inv.out, "  between   %s and %s\n", money(price.Range.Low, price.Currency), money(price.Range.High, price.Currency))
	fmt.Fprintf(inv.out, "  compute   %s\n  start     %s\n  storage   %s\n", money(price.Breakdown.Compute, price.Currency),
		money(price.Breakdown.StartFee, price.Currency), money(price.Breakdown.Storage, price.Currency))
	fmt.Fprintln(inv.out, "An amount above all of this is set aside while the job runs, and it never costs more than that.")
}
