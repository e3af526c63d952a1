package previews

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/warm"
	"github.com/molfabric/molfabric/internal/preview"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// settleLimit is how long a browser may take to let go of a scene.
const settleLimit = 10 * time.Second

// renderer is one sandboxed browser from its start to its end.
type renderer struct {
	number int
	dir    engines.Dir
	ctx    context.Context // until it is to end
	end    context.CancelFunc

	orders    *os.File // writing end of its standard input
	replies   chan warm.Reply
	done      chan struct{} // closed when no process of it is left; what follows is known then
	outcome   sandbox.Outcome
	peakBytes int64
	err       error // why it ended, unless it was to

	order int // number of the last one; of who draws

	// What follows is the pool's, under its lock.
	account string // whose it is; "" for nobody's yet
	phase   phase
	since   time.Time // when it was last given or taken back
	drawn   int
}

func newRenderer(ctx context.Context, number int, dir string) *renderer {
	// An order is answered twice at most, and the one after it comes later.
	r := &renderer{number: number, dir: engines.Dir(dir), replies: make(chan warm.Reply, 4), done: make(chan struct{})}
	r.ctx, r.end = context.WithCancel(ctx)
	return r
}

// stop has the renderer end. The caller holds the pool's lock.
func (r *renderer) stop() {
	r.phase = ending
	r.end()
}

// run starts the browser and returns at its end, when its directory is removed. ready is called when it is warm.
func (r *renderer) run(runner *sandbox.Runner, ready func()) {
	defer close(r.done)
	defer r.end()
	r.err = r.runIn(runner, ready)
	if err := sandbox.RemoveTree(string(r.dir)); err != nil {
		r.err = errors.Join(r.err, err)
	}
}

func (r *renderer) runIn(runner *sandbox.Runner, ready func()) error {
	if err := os.Mkdir(string(r.dir), 0o700); err != nil {
		return fmt.Errorf("make a renderer's directory: %w", err)
	}
	command, err := warm.Command()
	if err != nil {
		return err
	}
	stdin, orders, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a renderer's standard input: %w", err)
	}
	defer stdin.Close()
	defer orders.Close()
	r.orders = orders
	spec := sandbox.Spec{Dir: r.dir, Command: command, Needs: warm.Needs, Stdin: stdin}
	r.outcome, err = runner.Run(r.ctx, spec, func(line string) {
		switch reply, ok := warm.ParseReply(line); {
		case !ok:
		case reply.Ready:
			ready()
		default:
			select {
			case r.replies <- reply:
			default: // nobody has asked for so many
			}
		}
	})
	r.peakBytes = r.outcome.Usage.PeakMemoryBytes
	if err == nil && r.ctx.Err() == nil {
		err = fmt.Errorf("the browser ended as %s with exit code %d: %.500s", r.outcome.Reason, r.outcome.ExitCode,
			r.outcome.LogTail)
	}
	return err
}

// draw has a scene drawn within limit and returns its PNG. The error is a *preview.RefusedError when the scene is at fault. After
// any error the renderer is to be ended.
func (r *renderer) draw(ctx context.Context, request preview.Request, limit time.Duration) ([]byte, error) {
	r.order++
	order := warm.Order{Number: r.order, Format: request.Format, WidthPixels: request.WidthPixels,
		HeightPixels: request.HeightPixels, Transparent: request.Transparent}
	line, err := order.Line()
	if err == nil {
		err = r.putScene(request.Scene)
	}
	if err == nil {
		_, err = r.orders.Write(line)
	}
	if err != nil {
		return nil, fmt.Errorf("give a renderer its order: %w", err)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case reply := <-r.replies:
			switch r.order {
			case reply.Drawn:
				return r.picture(request)
			case reply.Failed:
				return nil, refusal(reply)
			}
		case <-r.done:
			return nil, r.brokenOff()
		case <-timer.C:
			return nil, &preview.RefusedError{Message: fmt.Sprintf("The scene was not drawn within %s, which is all that a "+
				"preview may take; submit it as a job, or make it lighter.", limit)}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// settle waits until nothing of the last scene is left in the browser, and removes its files. It reports whether all of it is gone.
func (r *renderer) settle(ctx context.Context) bool {
	timer := time.NewTimer(settleLimit)
	defer timer.Stop()
	for {
		select {
		case reply := <-r.replies:
			if reply.Cleared == r.order {
				return r.removeFiles() == nil
			}
			if reply.Failed == r.order {
				return false
			}
		case <-r.done:
			return false
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// putScene leaves a scene where the program reads it. Links that a program may have made lead nowhere.
func (r *renderer) putScene(scene []byte) error {
	root, err := os.OpenRoot(string(r.dir))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(warm.SceneFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return root.WriteFile(warm.SceneFile, scene, 0o444)
}

func (r *renderer) removeFiles() error {
	root, err := os.OpenRoot(string(r.dir))
	if err != nil {
		return err
	}
	defer root.Close()
	return errors.Join(root.Remove(warm.SceneFile), root.Remove(path.Join("out", warm.PictureFile)))
}

// picture reads what was drawn. It is a picture of the size that was asked for, or an error.
func (r *renderer) picture(request preview.Request) ([]byte, error) {
	content, err := readOutput(r.dir, warm.PictureFile, preview.MaxPictureBytes)
	if err != nil {
		return nil, fmt.Errorf("read a preview: %w", err)
	}
	head, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("read a preview: %w", err)
	}
	if head.Width != request.WidthPixels || head.Height != request.HeightPixels {
		return nil, fmt.Errorf("the renderer left a picture of %d × %d pixels, %d × %d were asked for", head.Width, head.Height,
			request.WidthPixels, request.HeightPixels)
	}
	return content, nil
}

// refusal is what the program says of a scene that it could not draw. What is not about the scene itself is for the log.
func refusal(reply warm.Reply) error {
	if reply.Class == engines.UserInput {
		return &preview.RefusedError{Message: reply.Message}
	}
	return errors.Join(&preview.RefusedError{Message: "The viewer failed on this scene; a job may say more."},
		fmt.Errorf("%s: %s", reply.Code, reply.Message))
}

// brokenOff is the error of a scene whose renderer ended while it drew.
func (r *renderer) brokenOff() error {
	switch r.outcome.Reason {
	case sandbox.OutOfMemory:
		return &preview.RefusedError{Message: fmt.Sprintf("The scene needs more than the %d GiB of memory that a preview may "+
			"take; submit it as a job, or make it lighter.", warm.Needs.MemoryBytes>>30)}
	case sandbox.TimedOut, sandbox.Cancelled, "":
		return &preview.UnavailableError{RetryAfter: time.Second, Reason: "The renderer has just ended"}
	}
	return errors.Join(&preview.RefusedError{Message: "The renderer broke down over this scene; submit it as a job, or make it " +
		"lighter."}, r.err)
}

// readOutput reads a whole file that a program has left.
func readOutput(dir engines.Dir, name string, most int64) ([]byte, error) {
	file, err := sandbox.OpenOutput(dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return content, err
}
