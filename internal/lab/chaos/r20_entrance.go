package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// entrancePatience is how long a request is repeated that no API has answered for good.
	entrancePatience = 45 * time.Second
	// entrancePause lies between two tries.
	entrancePause = 100 * time.Millisecond
	// maxEntranceBytes bounds a request's and an answer's body, which are kept for a repetition.
	maxEntranceBytes = 64 << 20
	// settling is how long after the end of a fault a store may still seem away: connections that it has broken are found one by
	// one.
	settling = 5 * time.Second
	// maxNoted bounds what is kept of answers that should not have been.
	maxNoted = 100
)

// span is a time in which a fault lasts; to is zero until it has ended.
type span struct{ from, to time.Time }

// entrance stands before the APIs, as a careful client would: a request that broke off, or was answered that a store is away, is
// sent again, so that whoever stands outside sees a service that is slow at worst. It notes every answer that should not have been.
type entrance struct {
	world  *World
	server *http.Server
	url    string
	served sync.WaitGroup

	mu                     sync.Mutex
	faults                 []span
	away                   []time.Time // of answers that a store is away
	wrong                  []error
	requests, broken, turn int
}

// openEntrance listens on a free port of loopback.
func (w *World) openEntrance() (*entrance, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open an entrance: %w", err)
	}
	e := &entrance{world: w, url: "http://" + listener.Addr().String()}
	e.server = &http.Server{Handler: http.HandlerFunc(e.serve), ReadHeaderTimeout: entrancePatience,
		MaxHeaderBytes: maxEntranceBytes}
	e.served.Go(func() { _ = e.server.Serve(listener) }) // it always ends with an error
	return e, nil
}

func (e *entrance) close() {
	_ = e.server.Close()
	e.served.Wait()
}

// begins and ends mark a fault.
func (e *entrance) begins() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = append(e.faults, span{from: time.Now()})
}

func (e *entrance) ends() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults[len(e.faults)-1].to = time.Now()
}

// serve passes a request on until it is answered for good.
func (e *entrance) serve(out http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(io.LimitReader(in.Body, maxEntranceBytes))
	if err != nil {
		return // whoever asked has gone
	}
	e.mu.Lock()
	e.requests++
	e.mu.Unlock()
	for until := time.Now().Add(entrancePatience); ; {
		answer, err := e.pass(in, body)
		switch {
		case err != nil && (in.Context().Err() != nil || time.Now().After(until)):
			out.WriteHeader(http.StatusBadGateway)
			return
		case err != nil:
			e.count(&e.broken)
		case answer.StatusCode == http.StatusServiceUnavailable && e.noteAway(in, answer) && time.Now().Before(until):
		default:
			e.hand(out, in, answer)
			return
		}
		timer := time.NewTimer(entrancePause)
		select {
		case <-timer.C:
		case <-in.Context().Done():
			timer.Stop()
			return
		}
	}
}

func (e *entrance) count(counter *int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*counter++
}

// pick takes the running APIs in turn.
func (e *entrance) pick() (*Process, error) {
	apis := e.world.APIs()
	e.mu.Lock()
	defer e.mu.Unlock()
	for range apis {
		e.turn++
		if api := apis[e.turn%len(apis)]; api.Running() {
			return api, nil
		}
	}
	return nil, errors.New("no API runs")
}

// hopHeaders belong to one connection.
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// direct asks without unpacking answers and without following where they lead.
var direct = &http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: entrancePatience}

// pass sends a request to one API and reads the answer, but for a stream of events, to its end.
func (e *entrance) pass(in *http.Request, body []byte) (*http.Response, error) {
	api, err := e.pick()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(in.Context(), in.Method, api.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	target := *in.URL
	target.Scheme, target.Host = request.URL.Scheme, request.URL.Host
	request.URL, request.Header = &target, in.Header.Clone()
	for _, name := range hopHeaders {
		request.Header.Del(name)
	}
	if _, named := in.Header["User-Agent"]; !named {
		request.Header.Set("User-Agent", "")
	}
	answer, err := direct.RoundTrip(request)
	if err != nil || streams(answer) {
		return answer, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxEntranceBytes))
	err = errors.Join(err, answer.Body.Close())
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, err
}

func streams(answer *http.Response) bool {
	return strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")
}

// noteAway keeps the moment of an answer that a store is away; false when the answer is not as the document says.
func (e *entrance) noteAway(in *http.Request, answer *http.Response) bool {
	text, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(text))
	var envelope struct{ Error, Code string }
	sound := err == nil && json.Unmarshal(text, &envelope) == nil && envelope.Error != "" &&
		envelope.Code == "PROVIDER_UNAVAILABLE" && answer.Header.Get("Retry-After") != ""
	e.mu.Lock()
	defer e.mu.Unlock()
	e.away = append(e.away, time.Now())
	if !sound {
		e.note(fmt.Errorf("%s %s was answered 503 with %q and Retry-After %q", in.Method, in.URL.Path, text,
			answer.Header.Get("Retry-After")))
	}
	return sound
}

// note keeps an answer that should not have been. The caller holds e.mu.
func (e *entrance) note(err error) {
	if len(e.wrong) < maxNoted {
		e.wrong = append(e.wrong, err)
	}
}

// hand gives an answer to whoever asked.
func (e *entrance) hand(out http.ResponseWriter, in *http.Request, answer *http.Response) {
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusInternalServerError && answer.StatusCode != http.StatusServiceUnavailable {
		text, _ := io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(bytes.NewReader(text))
		e.mu.Lock()
		e.note(fmt.Errorf("%s %s was answered %d %s", in.Method, in.URL.Path, answer.StatusCode, text))
		e.mu.Unlock()
	}
	for name, values := range answer.Header {
		out.Header()[name] = values
	}
	for _, name := range hopHeaders {
		out.Header().Del(name)
	}
	out.WriteHeader(answer.StatusCode)
	flow := http.NewResponseController(out)
	buffer := make([]byte, 32<<10)
	for {
		n, err := answer.Body.Read(buffer)
		if n > 0 {
			if _, err := out.Write(buffer[:n]); err != nil {
				return
			}
			if streams(answer) {
				_ = flow.Flush() // whoever asked may have gone
			}
		}
		if err != nil {
			return // a stream that breaks off ends: its reader comes back with the last event's id
		}
	}
}

// verdict is every answer that should not have been: failures of the service's own, and that a store is away while none was.
func (e *entrance) verdict(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	failures := append([]error(nil), e.wrong...)
	for _, at := range e.away {
		if !e.during(at) {
			failures = append(failures, fmt.Errorf("at %s the service said that a store is away, and none was",
				at.Format(time.TimeOnly)))
		}
	}
	e.world.Figure("requests_count", float64(e.requests))
	e.world.Figure("broken_connections_count", float64(e.broken))
	e.world.Figure("unavailable_answers_count", float64(len(e.away)))
	return someOf(failures)
}

// during tells whether a fault lasted at a moment, or had just ended. The caller holds e.mu.
func (e *entrance) during(at time.Time) bool {
	for _, fault := range e.faults {
		if !at.Before(fault.from) && (fault.to.IsZero() || at.Before(fault.to.Add(e.world.Bound(settling)))) {
			return true
		}
	}
	return false
}
