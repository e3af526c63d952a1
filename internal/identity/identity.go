// Package identity is what a worker is known by: a key that it makes at its start. With the key it asks the deployment's API for a
// user of Redis of its own, again and again, because each is good for minutes alone. It holds what the two say to each other, and
// the worker's side; who is given credentials, api/workers decides.
package identity

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// Path is where the API takes requests.
	Path = "/fleet/credentials"
	// ProofHeader has the signature of a request's body, in base64.
	ProofHeader = "Molfabric-Proof"
	// MaxBodyBytes bounds a request and an answer: the longest part is the certificates of Redis's authorities.
	MaxBodyBytes = 64 << 10
	// maxTextBytes bounds what a worker says about itself.
	maxTextBytes = 200
	// maxSerial is the largest number that every reader of JSON takes as it is.
	maxSerial = 1 << 53
	// mark keeps a signature from being taken for one of something else.
	mark = "molfabric worker credentials\n"
)

// workerForm is the form of a worker's id. It becomes a part of rules of Redis, so that nothing else may be in it.
var workerForm = regexp.MustCompile(`^wrk_[0-9a-f]{32}$`)

// Request asks for credentials, or gives them up.
type Request struct {
	WorkerID  string `json:"workerId"`
	PublicKey []byte `json:"publicKey"` // Ed25519
	// Serial grows with every request of a worker: one that was overheard cannot be sent again.
	Serial int64  `json:"serial"`
	Token  string `json:"token,omitempty"` // of the enrolment; in a worker's first request alone
	Host   string `json:"host"`
	Name   string `json:"name,omitempty"`
	// Leave gives the credentials up: the worker has ended.
	Leave bool `json:"leave,omitempty"`
}

// Grant is a user of Redis for one worker.
type Grant struct {
	User     string `json:"user"`
	Password string `json:"password"`
	// Redis is its address as workers see it, without a user.
	Redis string `json:"redis"`
	// Authorities are certificates (PEM) that alone are believed of it; "" for those of the system.
	Authorities string `json:"authorities,omitempty"`
	Prefix      string `json:"prefix"` // before every key and queue name
	Seconds     int64  `json:"seconds"`
}

// Good is how long the grant is good for.
func (g Grant) Good() time.Duration { return time.Duration(g.Seconds) * time.Second }

// Sign writes a request down and signs it.
func (r Request) Sign(key ed25519.PrivateKey) (body []byte, proof string, err error) {
	if body, err = json.Marshal(r); err != nil {
		return nil, "", fmt.Errorf("encode a request for credentials: %w", err)
	}
	return body, base64.StdEncoding.EncodeToString(ed25519.Sign(key, append([]byte(mark), body...))), nil
}

// Open reads a request that was signed with the key that it names. Whose key that is, it does not say.
func Open(body []byte, proof string) (Request, error) {
	var r Request
	if err := json.Unmarshal(body, &r); err != nil {
		return r, errors.New("the body is not a worker's request for credentials")
	}
	if err := r.check(); err != nil {
		return r, err
	}
	signature, err := base64.StdEncoding.DecodeString(proof)
	if err != nil || !ed25519.Verify(r.PublicKey, append([]byte(mark), body...), signature) {
		return r, fmt.Errorf("%s: is not the body's signature under publicKey", ProofHeader)
	}
	return r, nil
}

func (r Request) check() error {
	switch {
	case !workerForm.MatchString(r.WorkerID):
		return errors.New("workerId: must be wrk_ and 32 hexadecimal digits")
	case len(r.PublicKey) != ed25519.PublicKeySize:
		return fmt.Errorf("publicKey: must be an Ed25519 key of %d bytes", ed25519.PublicKeySize)
	case r.Serial < 1 || r.Serial > maxSerial:
		return errors.New("serial: must be at least 1, and grow with each request")
	case !sound(r.Host) || !sound(r.Name) || !sound(r.Token):
		return fmt.Errorf("host, name, token: must be text of at most %d bytes", maxTextBytes)
	}
	return nil
}

func sound(text string) bool {
	return len(text) <= maxTextBytes && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}
