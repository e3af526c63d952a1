package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

const (
	// lineEvery is how often a log, which is no terminal, gets a line of progress.
	lineEvery = 5 * time.Second
	// bestEvery is how often it gets the best ligand so far.
	bestEvery = 10 * time.Second
	// barParts is how finely a bar is divided: permille, as the API's percent has one decimal.
	barParts = 1000
	barWidth = 30
	// barColumns is the narrowest terminal that a bar and its times fit on.
	barColumns = 60
)

// display shows the progress of one thing. update and leaders may be called at any rate, also at the same time; close must be
// called once, after them, and says whether the thing was finished.
type display interface {
	update(percent float64, message string)
	leaders(leaders leaders)
	close(finished bool)
}

// newDisplay shows a bar on a terminal that is wide enough, and lines elsewhere. since is how long the thing has been going on
// already.
func newDisplay(w io.Writer, now func() time.Time, since time.Duration) display {
	pace := &pace{now: now, start: now().Add(-since), seen: now(), first: -1}
	if terminal := terminalOf(w); terminal != nil {
		if columns, rows, err := term.GetSize(int(terminal.Fd())); err == nil && columns >= barColumns {
			return newBar(w, pace, rows-1)
		}
	}
	return &lines{w: w, pace: pace}
}

// lines is a display for logs: a line when something has changed, and not more often than lineEvery, or bestEvery for the best.
type lines struct {
	w        io.Writer
	mu       sync.Mutex
	pace     *pace
	last     time.Time
	text     string
	lastBest time.Time
	best     string
}

func (l *lines) update(percent float64, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace.update(percent, message)
	if l.pace.now().Sub(l.last) >= lineEvery {
		l.write()
	}
}

// write writes how far the thing is, unless the last line says so.
func (l *lines) write() {
	text := fmt.Sprintf("%5.1f %%  %s", l.pace.percent, l.pace.message)
	if text == l.text {
		return
	}
	l.text, l.last = text, l.pace.now()
	fmt.Fprintf(l.w, "%s  (%s)\n", text, l.pace.times())
}

func (l *lines) leaders(leaders leaders) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := leaders.line()
	if text == "" || text == l.best || l.pace.now().Sub(l.lastBest) < bestEvery {
		return
	}
	l.best, l.lastBest = text, l.pace.now()
	fmt.Fprintln(l.w, text)
}

// close has a log end with the whole of what it has shown in part.
func (l *lines) close(finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if finished && l.text != "" {
		l.pace.percent = 100
		l.write()
	}
}

// bar is a display for terminals.
type bar struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	mu       sync.Mutex // the terminal is drawn from a goroutine of mpb's, which close waits for
	pace     *pace
	rows     int      // below the bar
	below    []string // what stands there
}

// newBar draws a bar, and what stands below it in at most so many rows.
func newBar(w io.Writer, pace *pace, rows int) *bar {
	b := &bar{pace: pace, rows: max(rows, 0), progress: mpb.New(mpb.WithOutput(w))}
	look := mpb.BarStyle().Lbound("▕").Rbound("▏").Filler("█").Tip("█").Padding("░")
	b.bar = b.progress.New(barParts, look, mpb.BarWidth(barWidth), mpb.BarExtender(mpb.BarFillerFunc(b.fillBelow), false),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			b.mu.Lock()
			defer b.mu.Unlock()
			return fmt.Sprintf("%5.1f %% ", b.pace.percent)
		})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			b.mu.Lock()
			defer b.mu.Unlock()
			return strings.TrimRight(" "+b.pace.times()+" · "+b.pace.message, " ·")
		})))
	return b
}

// fillBelow writes the rows below the bar; mpb calls it for each picture.
func (b *bar) fillBelow(w io.Writer, _ decor.Statistics) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, row := range b.below {
		if _, err := fmt.Fprintln(w, row); err != nil {
			return err
		}
	}
	return nil
}

func (b *bar) leaders(leaders leaders) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := leaders.rows()
	b.below = rows[:min(len(rows), b.rows)]
}

func (b *bar) update(percent float64, message string) {
	b.mu.Lock()
	b.pace.update(percent, message)
	parts := int64(math.Floor(b.pace.percent * barParts / 100))
	b.mu.Unlock()
	b.bar.SetCurrent(min(parts, barParts-1)) // the last part is close's: a full bar ends itself
}

// close leaves the bar on the terminal, and nothing below it.
func (b *bar) close(finished bool) {
	b.mu.Lock()
	b.below = nil
	b.mu.Unlock()
	if finished {
		b.mu.Lock()
		b.pace.percent = 100
		b.mu.Unlock()
		b.bar.SetCurrent(barParts)
	} else {
		b.bar.Abort(false)
	}
	b.progress.Wait()
}

// noDisplay is for output that programs read.
type noDisplay struct{}

func (noDisplay) update(float64, string) {}
func (noDisplay) leaders(leaders)        {}
func (noDisplay) close(bool)             {}
