package preview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// MaxRenderers bounds the warm renderers of one worker.
	MaxRenderers = 17
	// BeatInterval is how often a worker says that it has warm renderers, and which requests it draws.
	BeatInterval = time.Second
	// bellPatience is how long Await waits at most; Redis counts it in whole seconds.
	bellPatience = time.Second
)

// Desk is where a worker takes requests and answers them. Its methods may be called concurrently.
type Desk struct {
	rdb  redis.UniversalClient
	keys keys
}

// NewDesk returns the desk over a Redis whose keys begin with prefix, as those of the deployment's queue do.
func NewDesk(rdb redis.UniversalClient, prefix string) *Desk {
	return &Desk{rdb: rdb, keys: keys{prefix}}
}

// Ask is a request that a worker has taken: nobody else has it.
type Ask struct {
	Request
	id, picture string
}

// Take takes the request that has waited longest of those that the worker can serve: of the accounts that it names, or of anyone.
// An account has one request drawn at a time, by whichever worker. The request is nil when there is none; waiting then tells
// whether there are others. What Take returned is to be answered, and then released.
func (d *Desk) Take(ctx context.Context, accounts []string, anyone bool) (ask *Ask, waiting bool, err error) {
	args := []any{holdLimit.Milliseconds(), tableLimit.Milliseconds(), anyone}
	for _, account := range accounts {
		args = append(args, account)
	}
	chosen, err := chooseScript.Run(ctx, d.rdb, []string{d.keys.waiting(), d.keys.busy()}, args...).StringSlice()
	if err != nil {
		return nil, false, fmt.Errorf("take a preview: %w", err)
	}
	if len(chosen) < 2 {
		return nil, len(chosen) > 0, nil
	}
	ask, err = d.fetch(ctx, chosen[0], chosen[1])
	if ask == nil {
		// Its caller has gone, or somebody has left what is no request: the next one may do.
		return nil, true, errors.Join(err, d.Release(ctx, Ask{Request: Request{AccountID: chosen[1]}, id: chosen[0]}))
	}
	return ask, false, nil
}

// fetch takes the message of a chosen request; nil when there is none.
func (d *Desk) fetch(ctx context.Context, id, account string) (*Ask, error) {
	message, err := d.rdb.GetDel(ctx, d.keys.scene(id)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take a preview: %w", err)
	}
	var head asked
	scene, err := unpack(message, &head)
	if err != nil {
		return nil, err
	}
	request := Request{AccountID: head.AccountID, Scene: scene, Format: head.Format, WidthPixels: head.WidthPixels,
		HeightPixels: head.HeightPixels, Transparent: head.Transparent}
	if err := request.Check(); err != nil {
		return nil, fmt.Errorf("take a preview: %w", err)
	}
	if head.AccountID != account || !secretForm.MatchString(head.Picture) {
		return nil, fmt.Errorf("%w: it is listed for another account, or wants its answer elsewhere", errUnreadable)
	}
	return &Ask{Request: request, id: id, picture: head.Picture}, nil
}

// Await returns when somebody asks for a preview, and after a second at the latest.
func (d *Desk) Await(ctx context.Context) error {
	err := d.rdb.BLPop(ctx, bellPatience, d.keys.bell()).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("wait for previews: %w", err)
	}
	return nil
}

// Answer gives the caller a picture, or the error that stands in its place: a *RefusedError, an *UnavailableError, or any other,
// which he does not read.
func (d *Desk) Answer(ctx context.Context, ask Ask, png []byte, drawing error) error {
	message, err := packAnswer(png, drawing)
	if err == nil {
		err = d.rdb.Set(ctx, d.keys.picture(ask.picture), message, answerLimit).Err()
	}
	if err != nil {
		return fmt.Errorf("answer a preview: %w", err)
	}
	return nil
}

// Release says that nothing more is done for a request: the next one of its account may be drawn.
func (d *Desk) Release(ctx context.Context, ask Ask) error {
	err := releaseScript.Run(ctx, d.rdb, []string{d.keys.busy(), d.keys.bell(), d.keys.waiting()}, ask.AccountID, ask.id,
		maxWaiting, tableLimit.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("release a preview: %w", err)
	}
	return nil
}

// Beat says that a worker has so many warm renderers, at most MaxRenderers, and that it has these requests. It is to be repeated
// every BeatInterval; 0 renderers are forgotten at once.
func (d *Desk) Beat(ctx context.Context, workerID string, renderers int, asks []Ask) error {
	args := []any{workerID, renderers, MaxRenderers, warmLimit.Milliseconds(), holdLimit.Milliseconds(), tableLimit.Milliseconds()}
	for _, ask := range asks {
		args = append(args, ask.AccountID, ask.id)
	}
	if err := beatScript.Run(ctx, d.rdb, []string{d.keys.warm(), d.keys.busy()}, args...).Err(); err != nil {
		return fmt.Errorf("say that renderers are warm: %w", err)
	}
	return nil
}
