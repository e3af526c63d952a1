package webhook

import (
	"encoding/json"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/molfabric/molfabric/internal/contract"
)

// TestSign holds signatures against the library that receivers use.
func TestSign(t *testing.T) {
	t.Parallel()
	secret, at := NewSecret(), time.Now()
	ended := Ended{JobID: "job_1", Run: 1, Status: "COMPLETED"}
	body, err := Message{Type: contract.EventJobEnded, Timestamp: at, Data: ended}.Body()
	if err != nil {
		t.Fatal(err)
	}
	header, err := Sign(secret, "msg_1", at, body)
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Verify(body, header); err != nil {
		t.Error(err)
	}
	changed := append([]byte(" "), body...)
	if receiver.Verify(changed, header) == nil {
		t.Error("a changed body is believed")
	}
	other, _ := standardwebhooks.NewWebhook(NewSecret())
	if other.Verify(body, header) == nil {
		t.Error("another secret's signature is believed")
	}
	if _, err := Sign("whsec_%", "msg_1", at, body); err == nil {
		t.Error("signed with a secret that is none")
	}
	var read struct {
		Type      string
		Timestamp time.Time
		Data      struct{ JobID string }
	}
	if err := json.Unmarshal(body, &read); err != nil || read.Type != contract.EventJobEnded || read.Data.JobID != "job_1" {
		t.Errorf("got %s, %v", body, err)
	}
}

// TestAgain wants longer and longer pauses, and an end.
func TestAgain(t *testing.T) {
	t.Parallel()
	var all time.Duration
	for sent := 1; ; sent++ {
		pause, more := Again(sent)
		if !more {
			if sent != len(pauses)+1 {
				t.Errorf("given up after %d", sent)
			}
			break
		}
		all += pause
	}
	if all < 48*time.Hour || all > 72*time.Hour {
		t.Errorf("it is tried for %s, want two to three days", all)
	}
	if _, more := Again(0); more {
		t.Error("what was never sent is sent again")
	}
}
