package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/preview"
)

// readyPoll is how often a starting system is asked whether it is ready; readyPatience is how long.
const (
	readyPoll     = 50 * time.Millisecond
	readyPatience = time.Minute
)

// WithSystem calls use with the address of the system that runs from the home directory, or of one that runs just for the
// call.
func WithSystem(
	ctx context.Context, cfg config.Config, version string, log *slog.Logger, use func(ctx context.Context, url string) error,
) error {
	if running := FindRunning(cfg.Home); running != nil {
		return use(ctx, running.URL)
	}
	cfg.Previews = 0 // nobody is there to ask for one
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	up, ended := make(chan Running, 1), make(chan error, 1)
	system, stop := context.WithCancel(ctx)
	defer stop()
	go func() { ended <- Up(system, cfg, false, version, log, func(r Running) { up <- r }) }()
	select {
	case err := <-ended:
		return err
	case running := <-up:
		err := awaitReady(ctx, running.URL)
		if err == nil {
			err = use(ctx, running.URL)
		}
		stop()
		return errors.Join(err, <-ended)
	}
}

// awaitReady waits until /readyz says yes.
func awaitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
		if err != nil {
			return fmt.Errorf("ask whether the system is ready: %w", err)
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the system is not ready within %s; its log above tells why", readyPatience)
		case <-time.After(readyPoll):
		}
	}
}

// newPreviews asks workers for previews. Its metrics are registered at metrics.
func newPreviews(client redis.UniversalClient, cfg config.Config, metrics prometheus.Registerer, log *slog.Logger) *preview.Client {
	return preview.NewClient(client, cfg.RedisPrefix, metrics, log)
}
