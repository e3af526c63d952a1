package credits_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/credits"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	// patience bounds every wait of a test.
	patience      = 20 * time.Second
	secretKey     = "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc"
	webhookSecret = "whsec_" + "0123456789abcdef"
	publicURL     = "https://app.molfabric.test"
	friend        = "https://studio.example.org"
)

// shop is a front door on a real socket that sells credit.
type shop struct {
	t      testing.TB
	db     *sqlx.DB
	ledger *billing.Ledger
	base   string
	log    *logText
}

// open starts a front door with the given payments.
func open(t testing.TB, payments credits.Payments) *shop {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, db: pgtest.New(t), ledger: billing.NewLedger(book, id.New), log: &logText{}}
	server, err := api.New(api.Deps{
		DB: s.db, Redis: rdb, Ledger: s.ledger, Metrics: prometheus.NewRegistry(), Now: time.Now,
		Log: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Config: api.Config{
			Version: "test", KeySecret: []byte(strings.Repeat("k", 32)), RedisPrefix: prefix,
			PublicURL: publicURL, Origins: []string{friend}, Payments: payments,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(server.Shutdown(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	s.base = "http://" + ln.Addr().String()
	return s
}

// logText is a log that a test reads.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	text   string
}

// send sends a request; header is a list of names and values.
func (s *shop) send(client *http.Client, method, path, body string, header ...string) answer {
	s.t.Helper()
	got, err := s.try(client, method, path, body, header...)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *shop) try(client *http.Client, method, path, body string, header ...string) (answer, error) {
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

// signUp opens an account and returns its id with the browser that is signed in.
func (s *shop) signUp() (accountID string, browser *http.Client) {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	browser = &http.Client{Timeout: patience, Jar: jar}
	got := s.send(browser, "POST", "/api/v1/auth/sign-up", `{"email":"`+id.New("ada-")+`@example.org","password":"correct horse"}`)
	var made struct{ AccountID string }
	if err := json.Unmarshal([]byte(got.text), &made); err != nil || got.status != 201 {
		s.t.Fatalf("sign-up: %d %s", got.status, got.text)
	}
	return made.AccountID, browser
}

func (s *shop) topUp(browser *http.Client, body string) answer {
	s.t.Helper()
	return s.send(browser, "POST", "/api/v1/credits/topup", body)
}

// wallet is what the account owns beside its monthly credit, as the API tells it.
func (s *shop) wallet(browser *http.Client) int64 {
	s.t.Helper()
	got := s.send(browser, "GET", "/api/v1/credits/balance", "")
	var balance credits.Balance
	if err := json.Unmarshal([]byte(got.text), &balance); err != nil || got.status != 200 {
		s.t.Fatalf("balance: %d %s", got.status, got.text)
	}
	return balance.WalletCents
}

func (s *shop) wantClean() {
	s.t.Helper()
	violations, err := s.ledger.Audit(context.Background(), s.db)
	if err != nil || len(violations) > 0 {
		s.t.Errorf("audit: %v %v", violations, err)
	}
}

// wantRefusal checks a failure's status, code and message.
func wantRefusal(t testing.TB, got answer, status int, code, inMessage string) {
	t.Helper()
	var members struct{ Error, Code string }
	if err := json.Unmarshal([]byte(got.text), &members); err != nil {
		t.Fatalf("answer %d %q is not JSON", got.status, got.text)
	}
	if got.status != status || members.Code != code || !strings.Contains(members.Error, inMessage) {
		t.Errorf("got %d %s, want %d %s with %q", got.status, got.text, status, code, inMessage)
	}
}

// stripeMock starts Stripe's own mock server, which checks every request against Stripe's OpenAPI document, and returns its
// address. The test's end stops it.
func stripeMock(t testing.TB) string {
	t.Helper()
	program := os.Getenv("MOLFABRIC_STRIPE_MOCK")
	if program == "" {
		program = filepath.Join("..", "..", "bin", "tools", "stripe-mock")
	}
	if _, err := os.Stat(program); err != nil {
		if serverstest.Required() {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: stripe-mock is missing; build it with: make bin/tools/stripe-mock")
	}
	// Each protocol has a default port, so both are named.
	command := exec.Command(program, "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0")
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	// The kill ends the output, and with it the reading below, in time.
	dog := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), "Listening for HTTP at address: "); found {
			dog.Stop()
			read := make(chan struct{})
			go func() {
				defer close(read)
				_, _ = io.Copy(io.Discard, output)
			}()
			t.Cleanup(func() {
				_ = command.Process.Kill()
				<-read
				_ = command.Wait() // killed: always an error
			})
			return "http://" + address
		}
	}
	_ = command.Process.Kill()
	t.Fatal(fmt.Errorf("stripe-mock does not listen: %w", errors.Join(lines.Err(), command.Wait())))
	return ""
}
