package keeper

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/internal/fleet"
)

const (
	demandPatience = 15 * time.Second
	// maxDemandBytes is beyond the answer of a fleet of MaxWorkers.
	maxDemandBytes = 64 << 20
)

// ask asks the fabric what waits for a pool.
func (k *Keeper) ask(ctx context.Context, p Pool) (fleet.Demand, error) {
	asked := p.asked()
	query := url.Values{"slots": {strconv.Itoa(asked.Slots)}, "devices": {strconv.Itoa(asked.Devices)},
		"max": {strconv.Itoa(asked.Max)}, "target": {strconv.Itoa(int(asked.Target.Seconds()))},
		"walltime": {strconv.Itoa(int(p.Longest().Seconds()))}}
	if len(asked.Classes) > 0 {
		query["class"] = asked.Classes
	}
	ctx, cancel := context.WithTimeout(ctx, demandPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.File.Demand+"?"+query.Encode(), nil)
	if err != nil {
		return fleet.Demand{}, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fleet.Demand{}, fmt.Errorf("ask for the demand: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var demand fleet.Demand
	body := io.LimitReader(answer.Body, maxDemandBytes)
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(body, 300))
		return demand, fmt.Errorf("ask for the demand: %s: %s", answer.Status, said)
	}
	if err := json.NewDecoder(body).Decode(&demand); err != nil {
		return demand, fmt.Errorf("read the demand: %w", err)
	}
	return demand, nil
}
