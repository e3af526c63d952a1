package queue

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/nacl/box"
	"golang.org/x/crypto/nacl/secretbox"
)

// What an attempt may do in the object store is a secret as well. At the hand-out it lies beside the claim, sealed with that: who
// has not claimed the attempt reads nothing. When it gets old the worker's heartbeat asks for another one, which only that worker
// can open, and which only the scheduler can have made for that attempt: a forged one would send the outputs to somebody else's
// store. Of those who speak through Redis, none but the scheduler and who has claimed the attempt knows its witness, which is sent
// nowhere; it is the key of the seal.

const (
	// permitTTL is longer than any permit is good for. Who claims an attempt later asks for one.
	permitTTL = time.Hour
	// The marks keep a claim's uses apart.
	permitMark, askMark, sealMark = "molfabric permit\n", "molfabric ask\n", "molfabric new permit\n"
	// permitNews begins a line among a worker's acknowledgements that is none, but a permit: no event's id has a NUL.
	permitNews = "permit\x00"
	nonceBytes = 24
)

// Ask is what a heartbeat says of an attempt's permit, so that the scheduler makes another one in time.
type Ask struct {
	Until time.Time `json:"until,omitzero"` // when the permit that the worker has expires, as it says itself; zero for none
	// Refused says that the object store has refused it.
	Refused bool   `json:"refused,omitempty"`
	Box     []byte `json:"box"` // where a new one is to be put; see Letterbox
	Proof   []byte `json:"proof"`
}

// Proven returns what is asked, signed by who has claimed the attempt.
func (a Ask) Proven(ref Ref, claim Claim) Ask {
	a.Proof = claim.prove(askMark, a.text(ref))
	return a
}

// ProvenBy reports whether it was asked by who has claimed the attempt that the witness belongs to.
func (a Ask) ProvenBy(ref Ref, witness []byte) bool {
	return len(witness) > 0 && proven(witness, askMark, a.text(ref), a.Proof)
}

func (a Ask) text(ref Ref) []byte {
	return fmt.Appendf(nil, "%q %d %d %t %x", ref.TaskID, ref.Attempt, a.Until.UnixMicro(), a.Refused, a.Box)
}

// Letterbox is where a worker gets what nobody else is to read. Everybody may put something in.
type Letterbox struct{ private, public *[32]byte }

// NewLetterbox makes one with a random key.
func NewLetterbox() (Letterbox, error) {
	public, private, err := box.GenerateKey(rand.Reader)
	if err != nil {
		return Letterbox{}, fmt.Errorf("make a key for permits: %w", err)
	}
	return Letterbox{private, public}, nil
}

// Public is what an Ask says of it.
func (l Letterbox) Public() []byte { return l.public[:] }

// Open returns the permit that was sealed for it and for an attempt by who knows the attempt's witness; ok is false for everything
// else.
func (l Letterbox) Open(ref Ref, witness, sealed []byte) (permit []byte, ok bool) {
	if len(witness) == 0 || len(sealed) < sha256.Size {
		return nil, false
	}
	mark, sealed := sealed[:sha256.Size], sealed[sha256.Size:]
	if !hmac.Equal(mark, sealMAC(ref, witness, l.Public(), sealed)) {
		return nil, false
	}
	return box.OpenAnonymous(nil, sealed, l.public, l.private)
}

// Seal seals the permit that was asked for, of the attempt with a witness. Errors: for an Ask whose Box is none.
func (a Ask) Seal(ref Ref, witness, permit []byte) ([]byte, error) {
	if _, err := ecdh.X25519().NewPublicKey(a.Box); err != nil {
		return nil, fmt.Errorf("seal a permit: %w", err)
	}
	sealed, err := box.SealAnonymous(nil, permit, (*[32]byte)(a.Box), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("seal a permit: %w", err)
	}
	return append(sealMAC(ref, witness, a.Box, sealed), sealed...), nil
}

// sealMAC binds what is sealed to its attempt and to the Letterbox.
func sealMAC(ref Ref, witness, public, sealed []byte) []byte {
	mac := hmac.New(sha256.New, witness)
	fmt.Fprintf(mac, "%s%q %d %x\n", sealMark, ref.TaskID, ref.Attempt, public)
	mac.Write(sealed)
	return mac.Sum(nil)
}

// seal hides a text from everybody without the claim.
func (c Claim) seal(text []byte) []byte {
	var nonce [nonceBytes]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key := c.sealKey()
	return secretbox.Seal(nonce[:], text, &nonce, &key)
}

// open returns what seal has hidden; nil for everything else.
func (c Claim) open(sealed []byte) []byte {
	if len(sealed) < nonceBytes {
		return nil
	}
	key := c.sealKey()
	text, ok := secretbox.Open(nil, sealed[nonceBytes:], (*[nonceBytes]byte)(sealed), &key)
	if !ok {
		return nil
	}
	return text
}

func (c Claim) sealKey() [32]byte {
	return sha256.Sum256(append([]byte(permitMark), c.key.Seed()...))
}

// permitKey lies among those of claims, which the user of workers in Redis may take.
func (q *Queue) permitKey(queue string, ref Ref) string {
	return q.key("claim", queue, ref.String(), "permit")
}

// LeavePermit gives a worker a new permit for an attempt that it holds, with its acknowledgements. When it gets lost the worker
// asks again.
func (q *Queue) LeavePermit(ctx context.Context, workerID string, ref Ref, sealed []byte) error {
	pipe := q.rdb.Pipeline()
	pipe.RPush(ctx, q.key("acks", workerID), permitNews+ref.TaskID+"\x00"+strconv.Itoa(ref.Attempt)+"\x00"+string(sealed))
	pipe.Expire(ctx, q.key("acks", workerID), ackTTL)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("leave a permit for %s: %w", ref, err)
	}
	return nil
}

// apart tells a worker's acknowledgements from its new permits. Of two for one attempt the later one counts.
func apart(lines []string) (acked []string, permits map[Ref][]byte) {
	permits = map[Ref][]byte{}
	for _, line := range lines {
		news, isPermit := strings.CutPrefix(line, permitNews)
		if !isPermit {
			acked = append(acked, line)
			continue
		}
		parts := bytes.SplitN([]byte(news), []byte{0}, 3)
		if len(parts) < 3 {
			continue
		}
		if attempt, err := strconv.Atoi(string(parts[1])); err == nil {
			permits[Ref{TaskID: string(parts[0]), Attempt: attempt}] = parts[2]
		}
	}
	return acked, permits
}
