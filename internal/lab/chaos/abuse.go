package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/molfabric/molfabric/internal/client"
)

// abuse lists the rows of the scorecard that misuse the API: R7 to R9, R11, R13, R14 and R18 to R20.
func abuse() []Test {
	return []Test{
		{ID: "R7", Fault: "1,000 concurrent submits with one idempotency key over 3 APIs", Short: true, Run: oneKey,
			Passes: "one job; others replay or 409; another body 422"},
		{ID: "R8", Fault: "100 submits race for the credit of 10", Short: true, Run: lastCredit,
			Passes: "exactly 10; no balance below zero at any moment"},
		{ID: "R9", Fault: "50 concurrent saves with one expectedVersion", Short: true, Run: oneVersion, //nolint:gosec // G101: Passes holds no password
			Passes: "1 wins, 49 get 409 with the right currentVersion; no gap"},
		{ID: "R11", Fault: "a key revoked under load", Short: true, Run: keyRevoked,
			Passes: "the handling instance at once, the others within 2 s; then only 401"},
		{ID: "R13", Fault: "two tenants, every route, every id", Short: true, Run: twoTenants, //nolint:gosec // G101: Passes holds no password
			Passes: "a foreign id answers as an unknown one, byte for byte"},
		{ID: "R14", Fault: "scope × route × key environment × session, and cross-site requests", Short: true, Run: everyCaller,
			Passes: "the table is exact (generated from the OpenAPI document)"},
		{ID: "R18", Fault: "a tenant with 10,000 tasks beside one with 10", Short: true, Run: besideACrowd,
			Passes: "the small one's p95 wait ≤ 2 × idle"},
		{ID: "R19", Fault: "multipart: short part, wrong digest, wrong order, stale URL, complete twice; payment events twice and out of order", Short: true, Run: badUploadsAndPayments, //nolint:gosec // G101: Passes holds no password
			Passes: "refused as S3 does; credited once"},
		{ID: "R20", Fault: "a schema-driven API fuzzer plus random faults for 30 minutes", Short: true, Run: fuzzedAndBroken, //nolint:gosec // G101: Passes holds no password
			Passes: "no 5xx, no answer outside the OpenAPI document, oracle holds"},
	}
}

// maxFailures bounds how many of the failures of many equal calls an error shows.
const maxFailures = 5

// atOnce makes n calls at the same moment, each told its number, and returns what went wrong.
func atOnce(n int, call func(i int) error) error {
	start := make(chan struct{})
	failures := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			failures[i] = call(i)
		})
	}
	close(start)
	running.Wait()
	return someOf(failures)
}

// atMost makes n calls, so many of them at a time, and returns what went wrong.
func atMost(width, n int, call func(i int) error) error {
	failures := make([]error, n)
	next := make(chan int)
	var running sync.WaitGroup
	for range min(width, n) {
		running.Go(func() {
			for i := range next {
				failures[i] = call(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	running.Wait()
	return someOf(failures)
}

// someOf is an error with the first few of many, and their number; nil when there is none.
func someOf(failures []error) error {
	failures = slices.DeleteFunc(failures, func(err error) bool { return err == nil })
	if len(failures) <= maxFailures {
		return errors.Join(failures...)
	}
	return errors.Join(append(slices.Clone(failures[:maxFailures]), fmt.Errorf("… %d failures in all", len(failures)))...)
}

// code is the machine's word of a failure; "" when the answer has none.
func (a Answer) code() string {
	var failure struct{ Code string }
	if json.Unmarshal(a.Body, &failure) != nil {
		return ""
	}
	return failure.Code
}

// read decodes the answer, which must have one of the statuses.
func (a Answer) read(into any, statuses ...int) error {
	if !slices.Contains(statuses, a.Status) {
		return fmt.Errorf("answered %s, want %v", a, statuses)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("answered %s: %w", a, err)
	}
	return nil
}

// refuses expects a failure with this status and code.
func (a Answer) refuses(status int, code string) error {
	if a.Status != status || a.code() != code {
		return fmt.Errorf("answered %s, want %d %s", a, status, code)
	}
	return nil
}

// shownBytes is what a message shows of an answer's body.
const shownBytes = 300

func (a Answer) String() string {
	return fmt.Sprintf("%d %s", a.Status, bytes.TrimSpace(a.Body[:min(len(a.Body), shownBytes)]))
}

// caller is somebody who sends requests: with a key, with a browser's session, with both or with nothing.
type caller struct {
	name    string
	key     string   // sent as Authorization: Bearer
	session string   // sent as the cookie
	header  []string // pairs of a name and a value, beside
}

// sessionCookie is where a browser keeps its session.
const sessionCookie = "molfabric_session"

// send sends one request to an API, once. path begins with the API's prefix or is a page's; body may be nil.
func (c caller) send(ctx context.Context, api *Process, method, path string, body []byte, header ...string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, api.URL+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.session != "" {
		request.AddCookie(&http.Cookie{Name: sessionCookie, Value: c.session}) //nolint:gosec // G124: it goes to a server, whose own cookies have the attributes
	}
	for _, pairs := range [][]string{c.header, header} {
		for i := 0; i+1 < len(pairs); i += 2 {
			request.Header.Set(pairs[i], pairs[i+1])
		}
	}
	return send(request)
}

// everyScope are the scopes that a key can have.
var everyScope = []string{"jobs:read", "jobs:write", "credits:read", "convert", "molecular:chat", "projects:read", "projects:write"}

// browser signs the account in at an API. The caller closes the client.
func (a *Account) browser(ctx context.Context, api *Process) (*client.Client, error) {
	visitor, err := client.New(client.Options{Server: api.URL})
	if err != nil {
		return nil, err
	}
	if _, err := visitor.SignIn(ctx, a.Email, password); err != nil {
		visitor.Close()
		return nil, fmt.Errorf("sign in: %w", err)
	}
	return visitor, nil
}

// encode writes a request of maps, texts and numbers, which always can be.
func encode(request any) []byte {
	body, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	return body
}
