package cli

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	// guessAfter and guessPercent are what must have passed before the time left is worth a guess.
	guessAfter   = 5 * time.Second
	guessPercent = 2.0
	// maxStretches bounds the stretches of progress that are told apart; with more, two become one.
	maxStretches = 256
	// What is unknown of a guess beside the pace so far: little at the end, and half as much again at the beginning, when stages
	// may follow that nobody has seen.
	leastDoubt, startDoubt = 0.1, 0.5
)

// pace knows how far a thing is and guesses how long the rest will take.
type pace struct {
	now     func() time.Time
	start   time.Time // of the thing
	seen    time.Time // of the watching: what came before it says nothing about speed
	first   float64   // percent when the watching began; below 0 before
	percent float64
	message string
	past    []stretch // of the watching, one behind the other, up to the last time that percent rose
}

// stretch is some progress and the time that it took.
type stretch struct {
	percent float64
	took    time.Duration
}

func (p *pace) update(percent float64, message string) {
	percent = min(max(percent, 0), 100)
	switch {
	case p.first < 0:
		p.first = percent
	case percent < p.percent: // begun again
		p.first, p.seen, p.past = percent, p.now(), nil
	case percent > p.percent:
		p.past = append(p.past, stretch{percent - p.percent, p.now().Sub(p.seen) - p.spent()})
		p.thin()
	}
	p.percent = percent
	p.message = strings.Join(strings.Fields(message), " ")
}

// spent is the time of all stretches.
func (p *pace) spent() (sum time.Duration) {
	for _, s := range p.past {
		sum += s.took
	}
	return sum
}

// thin makes one stretch of every two when there are too many.
func (p *pace) thin() {
	if len(p.past) <= maxStretches {
		return
	}
	halved := p.past[:0]
	for i := 0; i+1 < len(p.past); i += 2 {
		halved = append(halved, stretch{p.past[i].percent + p.past[i+1].percent, p.past[i].took + p.past[i+1].took})
	}
	p.past = append(halved, p.past[len(p.past)/2*2:]...)
}

// times is the time that has passed, and how much longer it will take, as surely as that is known.
func (p *pace) times() string {
	text := duration(p.now().Sub(p.start))
	if p.percent >= 100 {
		return text
	}
	low, high, ok := p.left()
	if !ok {
		return text + ", cannot say yet how much longer"
	}
	return text + ", " + rangeText(low, high) + " left"
}

// left guesses between what and what the rest takes; ok is false where there is too little to go by. The middle is the pace since
// the watching began, the time without progress until now included. What lies between low and high is twice the error of that
// pace, from how unevenly the stretches went, and the doubt about what is to come; it is never less than the longest of them.
func (p *pace) left() (low, high time.Duration, ok bool) {
	watched, done := p.now().Sub(p.seen), p.percent-p.first
	if watched < guessAfter || done < guessPercent {
		return 0, 0, false
	}
	rest := 100 - p.percent
	mean := watched.Seconds() / done           // a percent
	longest := (watched - p.spent()).Seconds() // of what may come once more
	var squares, weights float64
	for _, s := range p.past {
		slower := s.took.Seconds()/s.percent - mean
		squares += s.percent * slower * slower
		weights += s.percent * s.percent
		longest = max(longest, s.took.Seconds()*min(rest/s.percent, 1))
	}
	usual := weights / done // percent of a stretch
	uneven := math.Sqrt(squares/done*(usual/done+usual/rest)) / mean
	doubt := 1 + 2*uneven + leastDoubt + startDoubt*rest/100
	middle := mean * rest
	return seconds(middle / doubt), seconds(max(middle*doubt, longest)), true
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// rangeText writes a range of times with the unit that suits it: about 2 to 5 minutes.
func rangeText(low, high time.Duration) string {
	unit, step, name := time.Second, 10.0, "second"
	switch {
	case high > 3*time.Hour:
		unit, step, name = time.Hour, 1, "hour"
	case high > 2*time.Minute:
		unit, step, name = time.Minute, 1, "minute"
	case high < 20*time.Second:
		step = 1
	}
	round := func(d time.Duration) float64 { return max(math.Round(float64(d)/float64(unit)/step), 1) * step }
	from, to := round(low), round(high)
	if to > 1 {
		name += "s"
	}
	if from == to {
		return fmt.Sprintf("about %.0f %s", to, name)
	}
	return fmt.Sprintf("about %.0f to %.0f %s", from, to, name)
}

// duration is m:ss, or h:mm:ss.
func duration(d time.Duration) string {
	seconds := int(max(d, 0).Round(time.Second) / time.Second)
	if seconds < 3600 {
		return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}
