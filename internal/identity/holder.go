package identity

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// askPatience bounds one request.
	askPatience = 15 * time.Second
	// retryPause is between requests that were not answered, and the least between those that Redis's refusals cause.
	retryPause = time.Second
	// renewAfter divides a grant's time: the next one is asked for after that part at the latest, and the rest is for an API that
	// is away. spread divides that part again: workers that began together ask at some moment of its last fifth, and not together.
	renewAfter, spread = 2, 5
)

// ErrEnded is for a worker whose access was ended: it gets no credentials any more.
var ErrEnded = errors.New("the deployment gives this worker no credentials")

// awayError says that the API did not answer as it should, which may be another time.
type awayError struct{ error }

func (e awayError) Unwrap() error { return e.error }

// Timeout and Temporary make it an error of the network, which it mostly is: who waits for stores waits for the API.
func (awayError) Timeout() bool   { return true }
func (awayError) Temporary() bool { return true }

// Config is what a worker asks with.
type Config struct {
	API      string // its address, such as https://molfabric.example.org
	Token    string // of the enrolment
	WorkerID string
	Host     string
	Name     string // what who started the worker calls it
	Client   *http.Client
	Log      *slog.Logger
}

// Holder has a worker's key and its newest credentials. Its methods may be called concurrently.
type Holder struct {
	Config
	key     ed25519.PrivateKey
	refused chan struct{} // holds an element when Redis has refused the credentials

	asking sync.Mutex // one request at a time, so that serials arrive in their order

	mu     sync.Mutex
	serial int64
	grant  Grant
	until  time.Time
}

// New makes a key. It asks for nothing yet. Errors name the setting that is wrong.
func New(cfg Config) (*Holder, error) {
	address, err := url.Parse(cfg.API)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" || address.User != nil {
		return nil, errors.New("MOLFABRIC_WORKER_API (workerApi): give the address of the API that hands out credentials, such " +
			"as https://molfabric.example.org")
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a worker's key: %w", err)
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: askPatience,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return &Holder{Config: cfg, key: key, refused: make(chan struct{}, 1)}, nil
}

// Renew asks for credentials. Errors: ErrEnded when there are none for this worker; an error of the network when the API is away.
func (h *Holder) Renew(ctx context.Context) (Grant, error) {
	h.asking.Lock()
	defer h.asking.Unlock()
	asked := time.Now()
	grant, err := h.ask(ctx, false)
	if err != nil {
		return Grant{}, err
	}
	if grant.User == "" || grant.Password == "" || grant.Redis == "" || grant.Seconds < 1 {
		return Grant{}, errors.New("the API's answer holds no credentials; is MOLFABRIC_WORKER_API the address of a molfabric?")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grant, h.until = grant, asked.Add(grant.Good())
	return grant, nil
}

// Leave gives the credentials up.
func (h *Holder) Leave(ctx context.Context) error {
	h.asking.Lock()
	defer h.asking.Unlock()
	_, err := h.ask(ctx, true)
	return err
}

// Credentials are the newest ones, as a client of Redis asks for them when it connects.
func (h *Holder) Credentials(context.Context) (user, password string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.grant.User == "" {
		return "", "", errors.New("this worker has no credentials yet")
	}
	return h.grant.User, h.grant.Password, nil
}

// Until is when the newest credentials end.
func (h *Holder) Until() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

// Refused says that Redis took the credentials for none: it has forgotten them with its memory, or they were ended.
func (h *Holder) Refused() {
	select {
	case h.refused <- struct{}{}:
	default: // it is known
	}
}

// Keep renews the credentials until the context ends, which returns nil, or the API gives this worker none any more: ErrEnded.
// While the API is away it goes on asking.
func (h *Holder) Keep(ctx context.Context) error {
	for {
		wait := time.Until(h.Until()) / renewAfter
		timer := time.NewTimer(wait - rand.N(max(wait/spread, 1))) //nolint:gosec // G404: nothing is to be kept from a guess
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-h.refused:
			h.Log.Warn("Redis refused this worker's credentials; asking for new ones")
		}
		timer.Stop()
		if err := h.renewUntilAnswered(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// renewUntilAnswered returns nil when there are new credentials or the context has ended.
func (h *Holder) renewUntilAnswered(ctx context.Context) error {
	for told := false; ctx.Err() == nil; told = true {
		_, err := h.Renew(ctx)
		if errors.Is(err, ErrEnded) {
			return err
		}
		if err != nil && !told && ctx.Err() == nil {
			h.Log.Warn("this worker's credentials were not renewed; trying again", "end", h.Until(), "error", err)
		}
		select { // also after an answer, so that refusals do not make a storm of requests
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
		if err == nil {
			select {
			case <-h.refused: // of what was there before
			default:
			}
			return nil
		}
	}
	return nil
}

// ask sends one request. The token goes along until there was an answer.
func (h *Holder) ask(ctx context.Context, leave bool) (grant Grant, err error) {
	h.mu.Lock()
	h.serial++
	request := Request{WorkerID: h.WorkerID, PublicKey: h.key.Public().(ed25519.PublicKey), Serial: h.serial, Host: h.Host,
		Name: h.Name, Leave: leave}
	if h.grant.User == "" {
		request.Token = h.Token
	}
	h.mu.Unlock()
	body, proof, err := request.Sign(h.key)
	if err != nil {
		return grant, err
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(h.API, "/")+Path, bytes.NewReader(body))
	if err != nil {
		return grant, fmt.Errorf("ask for credentials: %w", err)
	}
	call.Header.Set("Content-Type", "application/json")
	call.Header.Set(ProofHeader, proof)
	answer, err := h.Client.Do(call)
	if err != nil {
		return grant, awayError{fmt.Errorf("ask for credentials: %w", err)}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, MaxBodyBytes))
	if err != nil {
		return grant, awayError{fmt.Errorf("read the answer to a request for credentials: %w", err)}
	}
	if err := refusal(answer.StatusCode, text); err != nil || leave {
		return grant, err
	}
	if err := json.Unmarshal(text, &grant); err != nil {
		return grant, fmt.Errorf("read the answer to a request for credentials: %w", err)
	}
	return grant, nil
}

// refusal is what an answer's status says: nil for a good one.
func refusal(status int, text []byte) error {
	if status < http.StatusMultipleChoices {
		return nil
	}
	var envelope struct{ Error, Code string }
	_ = json.Unmarshal(text, &envelope) // a proxy's page is none
	told := fmt.Errorf("%s answered %d: %.300s", Path, status, envelope.Error)
	switch {
	case status == http.StatusUnauthorized && envelope.Code == string(fault.Unauthorized):
		return fmt.Errorf("%w: %.300s", ErrEnded, envelope.Error)
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return awayError{told}
	}
	return told
}
