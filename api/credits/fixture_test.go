package credits_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/credits"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	secretKey     = "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc"
	webhookSecret = "whsec_" + "0123456789abcdef"
	publicURL     = "https://app.molfabric.test"
	friend        = "https://studio.example.org"
)

// shop is a front door that sells credit.
type shop struct {
	*apitest.Door
	t testing.TB
}

// open starts a front door with the given payments.
func open(t testing.TB, payments credits.Payments) *shop {
	t.Helper()
	return &shop{t: t, Door: apitest.Open(t, func(deps *api.Deps) {
		deps.Config.PublicURL, deps.Config.Origins, deps.Config.Payments = publicURL, []string{friend}, payments
	})}
}

func topUp(browser *apitest.Caller, body string) apitest.Answer {
	return browser.Send("POST", "/api/v1/credits/topup", body)
}

// wallet is what the account owns beside its monthly credit, as the API tells it.
func (s *shop) wallet(browser *apitest.Caller) int64 {
	s.t.Helper()
	got := browser.Send("GET", "/api/v1/credits/balance", "")
	var balance contract.Balance
	if err := json.Unmarshal([]byte(got.Text), &balance); err != nil || got.StatusCode != 200 {
		s.t.Fatalf("balance: %d %s", got.StatusCode, got.Text)
	}
	return balance.WalletCents
}

func (s *shop) wantClean() {
	s.t.Helper()
	violations, err := s.Deps.Ledger.Audit(context.Background(), s.DB)
	if err != nil || len(violations) > 0 {
		s.t.Errorf("audit: %v %v", violations, err)
	}
}

// wantRefusal checks a failure's status, code and message.
func wantRefusal(t testing.TB, got apitest.Answer, status int, code, inMessage string) {
	t.Helper()
	var members struct{ Error, Code string }
	if err := json.Unmarshal([]byte(got.Text), &members); err != nil {
		t.Fatalf("answer %d %q is not JSON", got.StatusCode, got.Text)
	}
	if got.StatusCode != status || members.Code != code || !strings.Contains(members.Error, inMessage) {
		t.Errorf("got %d %s, want %d %s with %q", got.StatusCode, got.Text, status, code, inMessage)
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
	dog := time.AfterFunc(apitest.Patience, func() { _ = command.Process.Kill() })
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
