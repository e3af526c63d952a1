package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/internal/client"
)

// estimate shows the price of a docking without uploading anything.
func (inv *invocation) estimate(ctx context.Context, d docking) error {
	price, err := inv.price(ctx, d)
	if err != nil {
		return err
	}
	if inv.json {
		return inv.print(price.JSON())
	}
	showEstimate(inv, price, len(d.ligands))
	return nil
}

func showEstimate(inv *invocation, price client.Estimate, ligands int) {
	amount := func(n json.Number) string { return money(n, price.Currency) }
	fmt.Fprintf(inv.out, "%s for %d ligands; between %s and %s\n", painter(inv.out).bold(amount(price.EstimatedCost)), ligands,
		amount(price.Range.Low), amount(price.Range.High))
	fmt.Fprintf(inv.out, "  compute   %s", amount(price.Breakdown.Compute))
	if spent, ok := cpuTime(price); ok {
		fmt.Fprintf(inv.out, ", about %s of one core", duration(spent))
	}
	fmt.Fprintf(inv.out, "\n  start     %s\n  storage   %s\n", amount(price.Breakdown.StartFee), amount(price.Breakdown.Storage))
	fmt.Fprintf(inv.out, "An amount above all of this is set aside while the job runs, and it never costs more than that.\n")
}

// price asks for the price. An estimate needs no uploads, so that files stand there with their size and a key that is none.
func (inv *invocation) price(ctx context.Context, d docking) (client.Estimate, error) {
	files := map[string]client.Uploaded{}
	for _, l := range d.ligands {
		if l.path == "" {
			continue
		}
		file, err := measure(l)
		if err != nil {
			return client.Estimate{}, err
		}
		files[l.id] = file
	}
	return inv.api.Estimate(ctx, newDockRequest(d, files))
}

// measure is an upload of a ligand's file that has not happened.
func measure(l ligand) (client.Uploaded, error) {
	file, content, err := l.open()
	if err != nil {
		return client.Uploaded{}, err
	}
	defer file.Close()
	digest, err := client.Digest(content)
	if err != nil {
		return client.Uploaded{}, fmt.Errorf("%s: %w", l.path, err)
	}
	name := l.fileName()
	return client.Uploaded{StorageKey: "not-uploaded/" + name, SHA256: digest, ByteSize: content.Size(), ContentType: client.ContentType(name)}, nil
}

// cpuTime is the time of one core that an estimate's compute part stands for.
func cpuTime(price client.Estimate) (time.Duration, bool) {
	compute, err := price.Breakdown.Compute.Float64()
	rate, rateErr := price.VariableRates.HardwareRate.Float64()
	if err != nil || rateErr != nil || rate <= 0 {
		return 0, false
	}
	return time.Duration(compute / rate * float64(time.Hour)), true
}
