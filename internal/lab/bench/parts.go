package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
)

// startWorker starts a worker process with a home and a log of its own: a whole worker, which runs programs in the sandbox.
func (d *deployment) startWorker(program, python string, slots int) (*role, error) {
	home, err := os.MkdirTemp(d.home, "worker-")
	if err != nil {
		return nil, err
	}
	// A starting worker looks for the scientific Python, although the probe does without.
	settings := fmt.Sprintf("python: %q\n", python)
	if err := errors.Join(os.Chmod(home, 0o755), os.WriteFile(filepath.Join(home, config.FileName), []byte(settings),
		0o600)); err != nil {
		return nil, err
	}
	return d.start(program, "worker", "--home", home, "--slots", strconv.Itoa(slots), "--log-file", filepath.Join(home, "log"))
}

// queue is the deployment's own.
func (d *deployment) queue() *queue.Queue { return queue.New(d.rdb, "") }

// awaitWorkers waits until so many workers have said hello and the scheduler has had the time to count their slots.
func (d *deployment) awaitWorkers(ctx context.Context, n int) error {
	q := d.queue()
	return poll(ctx, readyTimeout, readyPoll, func() (bool, error) {
		known, err := q.Workers(ctx)
		return len(known) >= n, err
	})
}

// customer is an account with credit and a file that its jobs name.
type customer struct {
	api       *client.Client
	accountID string
	scene     string // storage key
}

// newCustomer opens another account of a deployment.
func (d *deployment) newCustomer(ctx context.Context) (*customer, error) {
	signing, err := client.New(client.Options{Server: d.client.Server()})
	if err != nil {
		return nil, err
	}
	defer signing.Close()
	email := id.New("customer-") + "@molfabric.local"
	if _, err = signing.SignUp(ctx, email, "a password for one run", "Benchmark"); err != nil {
		return nil, fmt.Errorf("open an account: %w", err)
	}
	key, err := signing.CreateKey(ctx, contract.CreateRequest{Name: "bench", Environment: "live", Scopes: contract.Scopes})
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	u := new(customer)
	if u.accountID, err = giveCredit(ctx, d.db, email, plentyPence); err != nil {
		return nil, err
	}
	if u.api, err = client.New(client.Options{Server: d.client.Server(), APIKey: key.Body.Secret}); err != nil {
		return nil, err
	}
	scene, err := u.api.Upload(ctx, "scene.pdb", bytes.NewReader([]byte("END\n")), 4)
	u.scene = scene.StorageKey
	return u, err
}

// submit submits a probe of so many tasks that wait so long each.
func (u *customer) submit(ctx context.Context, tasks int, seconds float64) (string, error) {
	receipt, err := u.api.Submit(ctx, map[string]any{"jobType": "simulation", "simulator": probe.ID, "sceneFile": u.scene,
		"parameters": map[string]string{"Tasks": strconv.Itoa(tasks), "Seconds": strconv.FormatFloat(seconds, 'f', -1, 64)}}, "")
	return receipt.Body.JobID, err
}

// openLoop calls send at fixed moments, so many a second, whatever becomes of the calls before, and returns for each the seconds
// from its moment to its end. It ends at the first error.
func openLoop(ctx context.Context, perSecond, calls int, send func(ctx context.Context, i int) error) ([]float64, error) {
	took := make([]float64, calls)
	waiting, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i := range calls {
		moment := began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		timer := time.NewTimer(time.Until(moment))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(waiting.Wait(), ctx.Err())
		case <-timer.C:
		}
		waiting.Go(func() error {
			err := send(ctx, i)
			took[i] = time.Since(moment).Seconds()
			return err
		})
	}
	return took, waiting.Wait()
}

// poll asks until the answer is yes or an error, or the time is over.
func poll(ctx context.Context, timeout, interval time.Duration, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
