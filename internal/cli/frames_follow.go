package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// framesEvery is how often a running rendering is looked at, and only when something has happened to it: a preview is made about
// once a second.
const framesEvery = time.Second

// followFrames shows a rendering's progress until it ends, fetches frames and preview into the target meanwhile, and returns the
// job then. An interruption is explained and is errInterrupted.
func (inv *invocation) followFrames(ctx context.Context, jobID string, t renderTarget) (client.Answer[contract.Job], error) {
	j, err := inv.api.Job(ctx, jobID)
	if err != nil {
		return j, inv.explainStop(ctx, jobID, err)
	}
	if preview := t.preview(); preview != "" && !inv.json {
		fmt.Fprintf(inv.err, "%s shows the newest frame while it runs.\n", preview)
	}
	var shown display = noDisplay{}
	if !inv.json {
		shown = newDisplay(inv.err, inv.now, inv.age(j.Body))
	}
	progress := newFrameProgress(j.Body, shown, inv.now)
	fetch := inv.fetchFrames(ctx, jobID, t, progress)
	defer fetch.stop()
	last := ""
	for err == nil && !j.Body.Terminal { // a retry may begin the next run before its end is read here
		if err = inv.api.Events(ctx, jobID, last, func(e client.Event) error {
			progress.take(e)
			fetch.changed()
			last = e.ID
			return nil
		}); err == nil {
			j, err = inv.api.Job(ctx, jobID)
		}
	}
	fetch.stop()
	progress.count(j.Body.Progress)
	shown.close(err == nil && (j.Body.Status == job.Completed || j.Body.Status == job.CompletedWithFailures))
	if err = inv.explainStop(ctx, jobID, err); t.path != "" && (ExitCode(err) == ExitInterrupted ||
		ExitCode(err) == ExitUnavailable) {
		fmt.Fprintf(inv.err, "  molfabric outputs %s -o %s   fetches its files, when it has ended\n", jobID,
			shellWord(filepath.Dir(t.preview())))
	}
	return j, err
}

// frameProgress is how far a rendering is. Its methods may be called at the same time.
type frameProgress struct {
	shown display
	now   func() time.Time

	mu          sync.Mutex
	course      *course
	done, total int       // frames; a total of 0 is not known yet
	first       int       // frames that were done when the watching began
	seen        time.Time // when the first frames were counted
}

func newFrameProgress(j contract.Job, shown display, now func() time.Time) *frameProgress {
	p := &frameProgress{shown: shown, now: now, course: courseOf(j)}
	p.count(j.Progress)
	return p
}

// take learns from an event.
func (p *frameProgress) take(e client.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.course.take(e)
	p.show()
}

// count learns how many frames are done.
func (p *frameProgress) count(progress contract.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if progress.FramesDone != nil && progress.FramesTotal != nil && *progress.FramesTotal > 0 {
		done := int(*progress.FramesDone)
		if p.total == 0 || done < p.first { // a retry begins anew
			p.first, p.seen = done, p.now()
		}
		p.done, p.total = done, int(*progress.FramesTotal)
	}
	p.show()
}

func (p *frameProgress) show() {
	percent := p.course.percent
	if p.total > 0 {
		percent = max(percent, 100*float64(p.done)/float64(p.total))
	}
	p.shown.update(percent, p.text())
}

// text is how many frames are done, how fast they come, and what is being done.
func (p *frameProgress) text() string {
	doing := p.course.text()
	if p.total == 0 {
		return doing
	}
	text := fmt.Sprintf("%d of %s", p.done, counted(p.total, "frame", "frames"))
	if since := p.now().Sub(p.seen); p.done > p.first && since >= rateAfter {
		text += ", " + paceText(since, p.done-p.first)
	}
	if doing != "" {
		text += " · " + doing
	}
	return text
}

// paceText is how fast frames come: "3.2 s a frame", or "4.1 frames a second".
func paceText(spent time.Duration, count int) string {
	if each := spent.Seconds() / float64(count); each >= 1 {
		return fmt.Sprintf("%.1f s a frame", each)
	}
	return fmt.Sprintf("%.1f frames a second", float64(count)/spent.Seconds())
}

// frameFetch fetches what a rendering has finished in a goroutine of its own, so that a slow transfer holds no event up. What it
// misses, the end of the rendering brings: every error is the next look's to overcome.
type frameFetch struct {
	inv      *invocation
	jobID    string
	target   renderTarget
	progress *frameProgress
	news     chan struct{} // holds at most one
	end      context.CancelFunc
	done     sync.WaitGroup

	picture string          // the preview that is there
	counted int64           // frames at the last look
	have    map[string]bool // artifacts that are there
}

// fetchFrames begins to fetch; stop must be called.
func (inv *invocation) fetchFrames(ctx context.Context, jobID string, t renderTarget, progress *frameProgress) *frameFetch {
	ctx, end := context.WithCancel(ctx)
	f := &frameFetch{
		inv: inv, jobID: jobID, target: t, progress: progress, news: make(chan struct{}, 1), end: end, have: map[string]bool{},
	}
	f.done.Go(func() { f.run(ctx) })
	return f
}

// changed says that something has happened to the job.
func (f *frameFetch) changed() {
	select {
	case f.news <- struct{}{}:
	default: // it is known already
	}
}

// stop ends the fetching and waits for it; it may be called again.
func (f *frameFetch) stop() {
	f.end()
	f.done.Wait()
}

func (f *frameFetch) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.news:
		}
		f.look(ctx)
		rest := time.NewTimer(framesEvery)
		select {
		case <-ctx.Done():
			rest.Stop()
			return
		case <-rest.C:
		}
	}
}

// look counts the frames and fetches what is new.
func (f *frameFetch) look(ctx context.Context) {
	j, err := f.inv.api.Job(ctx, f.jobID)
	if err != nil {
		return
	}
	f.progress.count(j.Body.Progress)
	shown, counted := j.Body.Preview, j.Body.Progress.FramesDone
	if preview := f.target.preview(); preview != "" && shown != nil && shown.Picture() != f.picture {
		if f.inv.api.DownloadPreview(ctx, *shown, preview) == nil {
			f.picture = shown.Picture()
		}
	}
	if f.target.kind != targetFolder || f.target.path == "" || counted != nil && *counted == f.counted {
		return
	}
	fresh, err := f.fresh(ctx)
	if err == nil && f.fetch(ctx, fresh) == nil && counted != nil {
		f.counted = *counted
	}
}

// fresh lists the frames that are not there yet: newest first, up to a page that brings nothing new.
func (f *frameFetch) fresh(ctx context.Context) ([]contract.Output, error) {
	var fresh []contract.Output
	page := client.Page{Limit: contract.MaxPage}
	for {
		outputs, err := f.inv.api.Frames(ctx, f.jobID, page)
		if err != nil {
			return nil, err
		}
		before := len(fresh)
		for _, output := range outputs.Body.Outputs {
			if !f.have[output.ArtifactID] {
				fresh = append(fresh, output)
			}
		}
		if len(fresh) == before || outputs.Body.NextCursor == nil {
			return fresh, nil
		}
		page.Cursor = *outputs.Body.NextCursor
	}
}

func (f *frameFetch) fetch(ctx context.Context, fresh []contract.Output) error {
	files, err := downloadsInto(f.jobID, fresh, f.target.path)
	if err != nil {
		return err
	}
	slices.Reverse(files) // in the order in which they were made
	return f.inv.api.Download(ctx, files, nil, func(file client.Download) { f.have[file.ArtifactID] = true })
}
