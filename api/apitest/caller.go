package apitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/id"
)

// Caller sends requests with one credential: a bearer key, the cookies of a browser, or neither.
type Caller struct {
	Client    *http.Client // follows no redirect
	Header    http.Header  // of every request
	AccountID string       // of whom SignUp has signed up

	door *Door
}

// Answer is a response with its body read.
type Answer struct {
	*http.Response
	Text string
}

// Decode decodes an answer in JSON, or ends the test.
func (a Answer) Decode(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Text), into); err != nil {
		t.Fatalf("answer %d %q is not JSON: %v", a.StatusCode, a.Text, err)
	}
}

// Anonymous is a caller without a credential.
func (d *Door) Anonymous() *Caller {
	return &Caller{door: d, Client: &http.Client{Timeout: Patience, CheckRedirect: stay}, Header: http.Header{}}
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// WithKey is a caller with a bearer key.
func (d *Door) WithKey(key string) *Caller {
	c := d.Anonymous()
	c.Header.Set("Authorization", "Bearer "+key)
	return c
}

// Browser is a caller with a cookie jar, signed in nowhere.
func (d *Door) Browser() *Caller {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	c := d.Anonymous()
	c.Client.Jar = jar
	return c
}

// SignUp opens an account and returns the browser that is signed in to it.
func (d *Door) SignUp() *Caller {
	d.t.Helper()
	c := d.Browser()
	got := c.Send("POST", "/api/v1/auth/sign-up", `{"email":"`+id.New("ada-")+`@example.org","password":"correct horse"}`)
	if got.StatusCode != http.StatusCreated {
		d.t.Fatalf("sign-up: %d %s", got.StatusCode, got.Text)
	}
	var made struct{ AccountID string }
	got.Decode(d.t, &made)
	c.AccountID = made.AccountID
	return c
}

// Key makes a key for the browser's account.
func (c *Caller) Key(environment string, scopes ...string) (keyID, key string) {
	c.door.t.Helper()
	body, err := json.Marshal(map[string]any{"name": "test", "environment": environment, "scopes": scopes})
	if err != nil {
		c.door.t.Fatal(err)
	}
	got := c.Send("POST", "/api/v1/keys", string(body))
	if got.StatusCode != http.StatusCreated {
		c.door.t.Fatalf("create key: %d %s", got.StatusCode, got.Text)
	}
	var made struct{ ID, Key string }
	got.Decode(c.door.t, &made)
	return made.ID, made.Key
}

// Send sends a request; header is a list of names and values. A body is JSON unless the header says otherwise.
func (c *Caller) Send(method, path, body string, header ...string) Answer {
	c.door.t.Helper()
	got, err := c.Try(method, path, body, header...)
	if err != nil {
		c.door.t.Fatal(err)
	}
	return got
}

// SendFrom is Send with a body that is read while it is sent.
func (c *Caller) SendFrom(method, path string, body io.Reader, header ...string) Answer {
	c.door.t.Helper()
	got, err := c.try(method, path, body, header)
	if err != nil {
		c.door.t.Fatal(err)
	}
	return got
}

// Try is Send for goroutines, which must not end a test.
func (c *Caller) Try(method, path, body string, header ...string) (Answer, error) {
	if body == "" {
		return c.try(method, path, nil, header)
	}
	return c.try(method, path, strings.NewReader(body), header)
}

func (c *Caller) try(method, path string, body io.Reader, header []string) (Answer, error) {
	request, err := http.NewRequestWithContext(c.door.t.Context(), method, c.door.Base+path, body)
	if err != nil {
		return Answer{}, err
	}
	for name, values := range c.Header {
		request.Header[name] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.Client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return Answer{Response: response, Text: string(text)}, nil
}
