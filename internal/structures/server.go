package structures

import (
	"context"
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
	// tries of a request in all: the second rides out a dropped connection, not an outage.
	tries = 2
	// pause lies between them.
	pause = 250 * time.Millisecond
	// tryTimeout bounds a transfer; the largest entries take seconds.
	tryTimeout = 30 * time.Second
	// dialTimeout and answerTimeout bound a server that is silent.
	dialTimeout   = 5 * time.Second
	answerTimeout = 15 * time.Second
	// restFor is how long a server is left alone that could not be connected to, so that callers are not kept waiting for it
	// one after the other.
	restFor = 30 * time.Second
	// maxRedirects is more than any of the known servers needs.
	maxRedirects = 3
	// drained is what is read of an answer that nobody wants, to use its connection again.
	drained = 64 << 10
	// userAgent tells the operators of the server who asks.
	userAgent = "molfabric (structure look-up)"
)

// rcsb is the host that serves entries in one layout alone.
const rcsb = "://files.rcsb.org"

// server is a web server with entries and components.
type server struct {
	base   string // without a slash at its end
	client *http.Client
	now    func() time.Time

	mu        sync.Mutex
	restUntil time.Time
}

func newServer(base string, now func() time.Time) *server {
	return &server{base: strings.TrimRight(base, "/"), now: now, client: &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout:   dialTimeout,
			ResponseHeaderTimeout: answerTimeout,
			IdleConnTimeout:       time.Minute,
			MaxIdleConnsPerHost:   maxFetches,
			DisableCompression:    true, // what is gzip'd is unpacked under a bound of ours
			ForceAttemptHTTP2:     true,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			switch {
			case len(via) > maxRedirects:
				return fmt.Errorf("more than %d redirects", maxRedirects)
			case via[0].URL.Scheme == "https" && next.URL.Scheme != "https":
				return errors.New("a redirect that gives up encryption")
			case next.URL.Host != via[0].URL.Host: // could lead to what only this machine reaches: its loopback, a cloud's metadata
				return fmt.Errorf("a redirect to another server, %q", next.URL.Host)
			}
			return nil
		},
	}}
}

// entry asks for an entry where files.rcsb.org has it and, of another server, where the wwPDB archive has it.
func (s *server) entry(ctx context.Context, id string, take func(io.Reader) error) (string, error) {
	lower := strings.ToLower(id)
	places := []string{"/download/" + id + ".cif.gz"}
	if !strings.Contains(s.base, rcsb) {
		places = append(places, "/data/structures/divided/mmCIF/"+lower[1:3]+"/"+lower+".cif.gz")
	}
	for _, place := range places {
		err := s.get(ctx, place, MaxEntryBytes, take)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		return s.base + place, err
	}
	return "", ErrNotFound
}

// component asks for the definition of a component.
func (s *server) component(ctx context.Context, id string, take func(io.Reader) error) (origin string, err error) {
	place := "/ligands/download/" + id + ".cif"
	return s.base + place, s.get(ctx, place, maxComponentBytes, take)
}

// get fetches a file and hands it to take, unpacked. Errors: ErrNotFound, ErrTooLarge, errAway, those of take.
func (s *server) get(ctx context.Context, place string, limit int64, take func(io.Reader) error) error {
	if s.isResting() {
		return fmt.Errorf("%w: it could not be connected to a moment ago", errAway)
	}
	var err error
	for try := 1; ; try++ {
		if err = s.try(ctx, place, limit, take); !errors.Is(err, errAway) || try == tries {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func (s *server) try(ctx context.Context, place string, limit int64, take func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+place, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", place, err)
	}
	request.Header.Set("User-Agent", userAgent)
	response, err := s.client.Do(request)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			s.rest()
		}
		return fmt.Errorf("%w: %w", errAway, err)
	}
	defer func() {
		_, _ = io.CopyN(io.Discard, response.Body, drained) // as good as it can be
		_ = response.Body.Close()
	}()
	switch {
	case response.StatusCode == http.StatusNotFound, response.StatusCode == http.StatusGone:
		return ErrNotFound
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: %s answered %s", errAway, place, response.Status)
	}
	return unpack(away{response.Body}, limit, take)
}

// rest leaves the server alone for a while.
func (s *server) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restUntil = s.now().Add(restFor)
}

func (s *server) isResting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Before(s.restUntil)
}
