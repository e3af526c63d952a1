// Package webhook holds the form of what an account's own server is told: how a message is signed (Standard
// Webhooks 1.0), and when it is sent again. It stores and sends nothing.
package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// secretBytes is within what Standard Webhooks allows: 24 to 64.
const secretBytes = 32

// NewSecret makes a secret that signs messages, as receivers of Standard Webhooks take it.
func NewSecret() string {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}

// Message is what is sent.
type Message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of the event
	Data      any       `json:"data"`
}

// Ended is the data of contract.EventJobEnded. The job itself, under its id, says the rest.
type Ended struct {
	JobID        string    `json:"jobId"`
	JobName      string    `json:"jobName,omitempty"`
	JobType      string    `json:"jobType"`
	Run          int       `json:"run"` // 1, and one more with each retry
	Status       string    `json:"status"`
	FinishedAt   time.Time `json:"finishedAt"`
	ChargedPence int64     `json:"chargedPence"`
}

// Low is the data of contract.EventCreditLow.
type Low struct {
	AvailablePence int64 `json:"availablePence"`
	ThresholdPence int64 `json:"thresholdPence"`
}

// Moved is the data of contract.EventKeyNewNetwork: which key, as the list of keys shows it, and from where it was used.
type Moved struct {
	KeyID     string    `json:"keyId"`
	KeyName   string    `json:"keyName"`
	KeyPrefix string    `json:"keyPrefix"`
	KeyLast4  string    `json:"keyLast4"`
	Network   string    `json:"network"` // 198.51.100.0/24 or 2001:db8:1::/48
	UsedAt    time.Time `json:"usedAt"`
}

// Body writes a message.
func (m Message) Body() ([]byte, error) {
	m.Timestamp = m.Timestamp.UTC()
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("writing a message of the type %s: %w", m.Type, err)
	}
	return body, nil
}

// Sign returns the headers of a message: its id, which stays the same however often it is sent, the time of this sending, and the
// signature over both and the body.
func Sign(secret, messageID string, at time.Time, body []byte) (http.Header, error) {
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, fmt.Errorf("reading the secret of a webhook: %w", err)
	}
	signature, err := signer.Sign(messageID, at, body)
	if err != nil {
		return nil, fmt.Errorf("signing a message: %w", err)
	}
	header := http.Header{}
	header.Set(standardwebhooks.HeaderWebhookID, messageID)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return header, nil
}

// pauses are those before a message is sent again; all of them take two and a half days.
var pauses = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	16 * time.Hour,
}

// Again tells when a message is sent again that was sent so many times in vain; false when it is given up.
func Again(sent int) (time.Duration, bool) {
	if sent < 1 || sent > len(pauses) {
		return 0, false
	}
	return pauses[sent-1], true
}
