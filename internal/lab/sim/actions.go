package sim

import (
	"context"
	"slices"
	"time"
)

// action is something that may happen next, and how likely it is beside the others. It may find that it has nothing to do.
type action struct {
	name   string
	weight int
	do     func(*history)
	beside bool // it makes sense only where several processes are under way
}

// actions is the alphabet of histories. (A function: the list refers to what refers to it.)
func actions() []action {
	return []action{
		{name: "submit", weight: 4, do: (*history).submit}, {name: "submit again", weight: 2, do: (*history).submitAgain},
		{name: "cancel", weight: 2, do: (*history).cancel}, {name: "retry", weight: 3, do: (*history).retry},
		{name: "dispatch", weight: 8, do: func(h *history) { i := h.leading(); h.step(i, "dispatch", i.leader.Dispatch) }},
		{name: "collect", weight: 8, do: func(h *history) { i := h.leading(); h.step(i, "collect", i.leader.Collect) }},
		{name: "watch", weight: 6, do: func(h *history) { i := h.leading(); h.step(i, "watch", i.leader.Watch) }},
		{name: "claim", weight: 12, do: (*history).claim}, {name: "claim twice", weight: 1, do: (*history).claimTwice},
		{name: "start", weight: 4, do: (*history).startSome}, {name: "give back", weight: 1, do: (*history).giveBack},
		{name: "save", weight: 4, do: (*history).save}, {name: "end", weight: 12, do: (*history).endSome},
		{name: "deliver", weight: 14, do: (*history).deliver}, {name: "deliver twice", weight: 3, do: (*history).deliverTwice},
		{name: "forge", weight: 2, do: (*history).forge},
		{name: "lose a report", weight: 1, do: (*history).loseReport},
		{name: "beat", weight: 3, do: (*history).beatAll}, {name: "tick", weight: 4, do: (*history).tick},
		{name: "hours pass", weight: 1, do: (*history).letHoursPass},
		{name: "hire", weight: 2, do: (*history).hire}, {name: "kill", weight: 1, do: (*history).killWorker},
		{name: "silence", weight: 2, do: (*history).silence}, {name: "flush", weight: 1,
			do: func(h *history) { h.transport.flush() }}, {name: "lose an order", weight: 1, do: (*history).loseOrder},
		{name: "stray stop", weight: 1, do: (*history).strayStop}, {name: "reseat", weight: 2, do: (*history).reseat},
		{name: "crash", weight: 2, do: (*history).crash, beside: true}, {name: "cut", weight: 3, do: (*history).cut, beside: true},
		{name: "lose the lead", weight: 1, do: (*history).loseLead, beside: true},
		{name: "stall", weight: 2, do: (*history).stall, beside: true},
		{name: "queue away", weight: 1, do: func(h *history) { h.transport.away = true }, beside: true},
		{name: "queue back", weight: 3, do: func(h *history) { h.transport.away = false }, beside: true},
	}
}

// alphabet and weights are made once: a history draws a hundred times.
var alphabet, weightSum = func() ([]action, int) {
	all, sum := actions(), 0
	for _, a := range all {
		sum += a.weight
	}
	return all, sum
}()

// draw picks the next action.
func (h *history) draw() action {
	for {
		n := h.rng.IntN(weightSum)
		for _, a := range alphabet {
			if n -= a.weight; n < 0 {
				if a.beside && !h.threads() {
					break
				}
				return a
			}
		}
	}
}

// leading is one of the two instances that believe that they lead. The election lets them do so one after the other, but for
// the time that one of them does not notice.
func (h *history) leading() *instance { return h.instances[h.rng.IntN(2)] }

// tick turns the clock; whoever can shows that it lives.
func (h *history) tick() {
	h.clock = h.clock.Add(time.Duration(h.between(100, 3000)) * time.Millisecond)
	h.beatAll()
}

// mostHours keep a history within the life of an idempotency key.
const mostHours = 12

// letHoursPass lets hours go by, so that programs that never end use something.
func (h *history) letHoursPass() {
	if hours := h.between(1, 3); h.hours+hours <= mostHours {
		h.hours += hours
		h.clock = h.clock.Add(time.Duration(hours) * time.Hour)
		h.beatAll()
	}
}

// crash kills an instance with everything that it does, and starts it again.
func (h *history) crash() {
	h.crashOf(pick(h, h.instances))
}

func (h *history) crashOf(dead *instance) {
	n := slices.Index(h.instances, dead)
	h.note("crash", dead.name)
	for i := len(h.processes) - 1; i >= 0; i-- {
		if p := h.processes[i]; p.home == dead {
			h.kill(p)
		}
	}
	dead.cancel()
	h.instances[n] = h.boot(dead.name, dead.born+1)
}

// cut loses the connection of a process: what it asks for is not done, or done and not answered.
func (h *history) cut() {
	if len(h.processes) > 0 {
		p := pick(h, h.processes)
		h.note("cut", p.name, p.at)
		p.inject = errConnection
	}
}

// loseLead stops an instance's steps half-way, as the end of its lease does, and lets it lead again.
func (h *history) loseLead() {
	i := h.leading()
	h.note("stop", i.name)
	i.cancel()
	i.ctx, i.cancel = context.WithCancel(context.Background())
}

// stall keeps a process from going on for a while.
func (h *history) stall() {
	if len(h.processes) > 0 {
		p := pick(h, h.processes)
		p.stalled = h.between(5, 40)
		h.note("stall", p.name, p.at)
	}
}

// loseOrder loses an attempt that waits in its queue, as a crash between the commit of a dispatch and the queue does.
func (h *history) loseOrder() {
	if waiting := h.transport.unclaimed(); len(waiting) > 0 {
		order := pick(h, waiting)
		h.transport.claim(order.Ref())
		h.transport.done(order.Ref())
	}
}

// loseReport loses a report that has arrived; its worker keeps it.
func (h *history) loseReport() {
	if q := h.transport; len(q.stream) > 0 {
		n := h.rng.IntN(len(q.stream))
		q.stream = append(q.stream[:n:n], q.stream[n+1:]...)
	}
}

// strayStop is a stop order that outlives its cause.
func (h *history) strayStop() {
	if len(h.order) > 0 {
		h.transport.stops[pick(h, h.order).Ref()] = true
	}
}

// reseat changes the licence server while tasks wait and run.
func (h *history) reseat() {
	h.setSeats(seating{Key: licenseKey, Seats: h.between(1, 3), Enabled: !h.chance(1, 4),
		Enforcement: pick(h, []string{"ENFORCED", "ENFORCED", "ENFORCED", "ADVISORY", "DISABLED"})})
}

// setSeats is a request to the API, as any other.
func (h *history) setSeats(s seating) {
	h.operate(h.instances[2], "reseat", func(ctx context.Context) error {
		return h.ground.Seat(ctx, h.clients[0].id, s)
	}, func(*process, error) {})
}
