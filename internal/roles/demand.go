package roles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/internal/fleet"
)

// demandPatience bounds what one question of a fleet may ask of the stores.
const demandPatience = 5 * time.Second

// demandHandler answers GET /fleet/demand: what waits, who works, and how many workers a pool wants that the query describes:
//
//	slots     cores of a worker (default 1)
//	devices   tasks that its devices take at once (default 0)
//	min, max  bounds of the answer (default 0 and no bound)
//	target    seconds in which the backlog is to be done (default and least 600)
//	walltime  seconds that a worker lives: tasks that do not fit are left out (default: all fit)
//	class     a class or a pattern such as cpu.* that its workers serve, any number of times (default: all)
//
// Who cannot be told gets 503 and is to leave the fleet as it is.
func demandHandler(
	ask func(ctx context.Context, longest time.Duration) (fleet.Demand, error), log *slog.Logger,
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pool, longest, err := readPool(r.URL.Query())
		if err != nil {
			answerDemand(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), demandPatience)
		defer cancel()
		demand, err := ask(ctx, longest)
		if err != nil {
			log.Warn("demand not known", "error", err)
			answerDemand(w, http.StatusServiceUnavailable, map[string]string{"error": "what waits is not known just now; leave " +
				"the fleet as it is"})
			return
		}
		demand.Wanted = pool.Wanted(demand.Classes)
		answerDemand(w, http.StatusOK, demand)
	})
}

func answerDemand(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who has gone needs no answer
}

// readPool reads a pool from a query, and the longest time that a task may take on it; 0 for any.
func readPool(query url.Values) (pool fleet.Pool, longest time.Duration, err error) {
	numbers := map[string]int{"slots": 1, "devices": 0, "min": 0, "max": fleet.MaxWorkers, "target": 0, "walltime": 0}
	for name, given := range query {
		_, known := numbers[name]
		switch {
		case name == "class":
			for _, pattern := range given {
				if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
					return pool, 0, fmt.Errorf("class: %q; give a class such as cpu.blastp, or a pattern such as cpu.*", pattern)
				}
			}
			pool.Classes = given
		case !known:
			return pool, 0, fmt.Errorf("%.40q: not known; allowed are slots, devices, min, max, target, walltime and class", name)
		default:
			n, err := strconv.Atoi(given[0])
			if err != nil || n < 0 || n > maxPoolNumber {
				return pool, 0, fmt.Errorf("%s: %.40q; give a whole number from 0 to %d", name, given[0], maxPoolNumber)
			}
			numbers[name] = n
		}
	}
	pool.Slots, pool.Devices, pool.Min, pool.Max = numbers["slots"], numbers["devices"], numbers["min"], numbers["max"]
	pool.Target = time.Duration(numbers["target"]) * time.Second
	if pool.Slots < 1 || pool.Max < pool.Min {
		return pool, 0, errors.New("slots: at least 1; max: at least min")
	}
	return pool, time.Duration(numbers["walltime"]) * time.Second, nil
}

// maxPoolNumber is a year in seconds, and more than any other number of a pool.
const maxPoolNumber = 366 * 24 * 3600
