package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// estimate shows the price of a docking, and what would be docked into.
func (inv *invocation) estimate(ctx context.Context, d docking) error {
	price, err := inv.price(ctx, d)
	if err != nil {
		return err
	}
	if inv.json {
		return inv.print(price.JSON())
	}
	showEstimate(inv, price.Body, len(d.ligands))
	return nil
}

func showEstimate(inv *invocation, price contract.EstimateResponse, ligands int) {
	amount := func(n contract.Pounds) string { return money(n, price.Currency) }
	what := fmt.Sprintf("%d ligands", ligands)
	if ligands == 0 {
		what = "the structure's own ligand"
	}
	fmt.Fprintf(inv.out, "%s for %s; between %s and %s\n", painter(inv.out).bold(amount(price.EstimatedCost)), what,
		amount(price.Range.Low), amount(price.Range.High))
	fmt.Fprintf(inv.out, "  compute   %s", amount(price.Breakdown.Compute))
	if spent, ok := cpuTime(price); ok {
		fmt.Fprintf(inv.out, ", about %s of one core", duration(spent))
	}
	fmt.Fprintf(inv.out, "\n  start     %s\n  storage   %s\n", amount(price.Breakdown.StartFee), amount(price.Breakdown.Storage))
	showKnown(inv.out, price.KnownTasks, price.Tasks)
	fmt.Fprintf(inv.out, "An amount above all of this is set aside while the job runs, and it never costs more than that.\n")
	showForecast(inv.out, price.Receptor)
}

// showKnown says what of a job's tasks the account has run before.
func showKnown(w io.Writer, known, tasks int) {
	if known > 0 {
		fmt.Fprintf(w, "%d of its %d tasks have been done before: they cost nothing (--%s runs them).\n", known, tasks, noReuseFlag)
	}
}

// price asks for the price. The receptor, and a ligand around which the box is to lie, are uploaded, so that the server can say
// what would be docked into; other files stand there with their digest, their size and a key that is none.
func (inv *invocation) price(ctx context.Context, d docking) (client.Answer[contract.EstimateResponse], error) {
	var none client.Answer[contract.EstimateResponse]
	files := dockFiles{ligands: map[string]client.Uploaded{}}
	for _, l := range d.ligands {
		if l.path == "" {
			continue
		}
		file, err := measure(l)
		if err != nil {
			return none, err
		}
		files.ligands[l.id] = file
	}
	for _, one := range files.places(d) {
		switch file, err := inv.uploadPlain(ctx, one.path, plainName(one.path), receptorBound, client.UploadOptions{}); {
		case client.CodeOf(err) == fault.InsufficientScope: // a key that may only read learns the price alone
		case err != nil:
			return none, err
		default:
			*one.into = &file
		}
	}
	scene := ""
	if files.receptor != nil { // it is the scene
		scene, files.receptor = files.receptor.StorageKey, nil
	}
	request := newDockRequest(d, files)
	request.SceneFile = scene
	return inv.api.Estimate(ctx, request)
}

// measure is an upload of a ligand's file that has not happened.
func measure(l ligand) (client.Uploaded, error) {
	content, done, err := l.open()
	if err != nil {
		return client.Uploaded{}, err
	}
	defer done()
	digest, err := client.Digest(content)
	if err != nil {
		return client.Uploaded{}, fmt.Errorf("%s: %w", l.path, err)
	}
	name := l.fileName()
	return client.Uploaded{StorageKey: "not-uploaded/" + name, SHA256: digest, ByteSize: content.Size(),
		ContentType: client.ContentType(name)}, nil
}

// cpuTime is the time of one core that an estimate's compute part stands for.
func cpuTime(price contract.EstimateResponse) (time.Duration, bool) {
	compute, err := price.Breakdown.Compute.Float64()
	rate, rateErr := price.VariableRates.HardwareRate.Float64()
	if err != nil || rateErr != nil || rate <= 0 {
		return 0, false
	}
	return time.Duration(compute / rate * float64(time.Hour)), true
}
