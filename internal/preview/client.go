package preview

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

const (
	// lookEvery is how often a caller looks for his picture: nobody sees the difference to a blocking read, and it holds no
	// connection.
	lookEvery = 25 * time.Millisecond
	// askEvery is how often he asks whether somebody still draws it.
	askEvery = time.Second
	// withdrawPatience bounds what is still said of a request whose caller has gone.
	withdrawPatience = 2 * time.Second
)

// Client asks workers for previews. Its methods may be called concurrently.
type Client struct {
	rdb     redis.UniversalClient
	keys    keys
	metrics *metrics
	wait    time.Duration
}

// NewClient returns a client over a Redis whose keys begin with prefix, as those of the deployment's queue do. Its metrics are
// registered at reg, which may be nil.
func NewClient(rdb redis.UniversalClient, prefix string, reg prometheus.Registerer, log *slog.Logger) *Client {
	c := &Client{rdb: rdb, keys: keys{prefix}, wait: waitLimit}
	c.metrics = newMetrics(reg, c.Warm, log)
	return c
}

// Warm counts the warm renderers of all workers.
func (c *Client) Warm(ctx context.Context) (int, error) {
	count, err := countScript.Run(ctx, c.rdb, []string{c.keys.warm()}).Int()
	if err != nil {
		return 0, fmt.Errorf("count the warm renderers: %w", err)
	}
	return count, nil
}

// Draw returns a scene's picture as PNG. It waits for a renderer at most some seconds, and for the picture as long as it is drawn;
// a context that ends earlier takes the request back, unless it is being drawn. Requests of one account are drawn one after the
// other.
//
// The error is a *RefusedError when this scene cannot be drawn, an *UnavailableError when nobody could draw now, the context's when
// that has ended, and another one when Redis fails.
func (c *Client) Draw(ctx context.Context, r Request) (png []byte, err error) {
	began := time.Now()
	defer func() { c.metrics.observe(ctx, time.Since(began), err) }()
	if err := r.Check(); err != nil {
		return nil, err
	}
	secret := rand.Text()
	message, err := pack(asked{Picture: secret, AccountID: r.AccountID, Format: r.Format, WidthPixels: r.WidthPixels,
		HeightPixels: r.HeightPixels, Transparent: r.Transparent}, r.Scene)
	if err != nil {
		return nil, fmt.Errorf("ask for a preview: %w", err)
	}
	q := &question{Client: c, id: rand.Text(), account: r.AccountID, picture: c.keys.picture(secret)}
	if err = q.ask(ctx, message); err == nil {
		png, err = q.await(ctx)
	}
	if err != nil && ctx.Err() != nil {
		q.withdraw(ctx)
		return nil, ctx.Err()
	}
	return png, err
}

// question is one request on its way.
type question struct {
	*Client
	id, account string
	entry       string // in the list
	picture     string // key of the answer
}

func (q *question) ask(ctx context.Context, message []byte) error {
	said, err := askScript.Run(ctx, q.rdb, []string{q.keys.waiting(), q.keys.warm(), q.keys.bell(), q.keys.scene(q.id)},
		q.id, q.account, message, q.wait.Milliseconds(), maxWaiting, maxWaitingOfAccount, tableLimit.Milliseconds()).Text()
	switch {
	case err != nil:
		return fmt.Errorf("ask for a preview: %w", err)
	case said == "nobody":
		return &UnavailableError{RetryAfter: retryNobody, Reason: "No worker has a renderer for previews ready"}
	case said == "full":
		return &UnavailableError{RetryAfter: retryFull, Reason: "Too many previews are waiting"}
	}
	q.entry = said
	return nil
}

// await looks for the answer until there is one, nobody has taken the request in time, or nobody draws it any more.
func (q *question) await(ctx context.Context) ([]byte, error) {
	look, ask := time.NewTicker(lookEvery), time.NewTicker(askEvery)
	defer look.Stop()
	defer ask.Stop()
	patience := time.NewTimer(q.wait)
	defer patience.Stop()
	taken := false
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience.C:
			if taken = !q.withdraw(ctx); !taken {
				return nil, &UnavailableError{RetryAfter: retryFull, Reason: "All renderers for previews are busy"}
			}
		case <-ask.C:
			if !taken {
				continue
			}
			drawn, err := drawnScript.Run(ctx, q.rdb, []string{q.keys.busy()}, q.account, q.id).Bool()
			if err == nil && !drawn {
				return q.last(ctx)
			}
		case <-look.C:
			if png, err := q.answer(ctx); !errors.Is(err, redis.Nil) {
				return png, err
			}
		}
	}
}

// last looks for the answer once more when nobody draws any more.
func (q *question) last(ctx context.Context) ([]byte, error) {
	png, err := q.answer(ctx)
	if errors.Is(err, redis.Nil) {
		return nil, &UnavailableError{RetryAfter: retryLost, Reason: "The worker that drew the preview has gone"}
	}
	return png, err
}

// answer takes the answer out of Redis; redis.Nil when there is none yet.
func (q *question) answer(ctx context.Context) ([]byte, error) {
	message, err := q.rdb.GetDel(ctx, q.picture).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("look for a preview: %w", err)
	}
	return unpackAnswer(message)
}

// withdraw takes the request back, and reports whether nobody had taken it. What it cannot say expires.
func (q *question) withdraw(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawPatience)
	defer cancel()
	n, err := withdrawScript.Run(ctx, q.rdb, []string{q.keys.waiting(), q.keys.scene(q.id)}, q.entry).Int()
	return err == nil && n > 0
}
