package queue

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// All workers of a deployment share one Redis and read what the others write there. So a report does not quote the secret of its
// attempt, it is signed with it; and the secret leaves Redis with the one who claims the attempt.

// WitnessBytes is the length of what the scheduler keeps of a claim.
const WitnessBytes = ed25519.PublicKeySize

const (
	// claimTTL is how long an attempt may wait to be claimed. One that waits longer is handed out again as a new attempt.
	claimTTL = 7 * 24 * time.Hour
	// hidden stands for a secret wherever a claim is printed.
	hidden = "[hidden]"
	// The marks keep a signature of one kind of message from being one of another kind.
	reportMark, heldMark, beatMark = "molfabric report\n", "molfabric held\n", "molfabric heartbeat\n"
)

// Claim is the secret of one attempt: who has it answers for the attempt. The zero value is none. It prints, logs and encodes as
// "[hidden]".
type Claim struct {
	*secret // a pointer, so that a struct which holds a claim prints an address and no secret
}

// secret is the key of a claim, and what was last signed with it as being held: that is said again in every heartbeat.
type secret struct {
	key ed25519.PrivateKey

	mu    sync.Mutex
	held  string
	proof []byte
}

// NewClaim makes a secret of 32 random bytes.
func NewClaim(random io.Reader) (Claim, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return Claim{}, fmt.Errorf("make a claim secret: %w", err)
	}
	return claimOf(seed), nil
}

func claimOf(seed []byte) Claim {
	return Claim{&secret{key: ed25519.NewKeyFromSeed(seed)}}
}

// IsZero reports whether there is no secret.
func (c Claim) IsZero() bool { return c.secret == nil }

// Witness tells proofs from forgeries and makes none itself, as a hash of the secret would. It is nil for no secret.
func (c Claim) Witness() []byte {
	if c.IsZero() {
		return nil
	}
	return []byte(c.key.Public().(ed25519.PublicKey))
}

// Format keeps the secret out of messages.
func (c Claim) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// LogValue keeps the secret out of logs.
func (c Claim) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText keeps the secret out of JSON.
func (c Claim) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// prove signs a text of one kind; nil without a secret.
func (c Claim) prove(mark string, text []byte) []byte {
	if c.IsZero() {
		return nil
	}
	return ed25519.Sign(c.key, append([]byte(mark), text...))
}

// proveHeld is prove for what is held, and signs the same only once.
func (c Claim) proveHeld(text []byte) []byte {
	if c.IsZero() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held != string(text) {
		c.held, c.proof = string(text), c.prove(heldMark, text)
	}
	return c.proof
}

// proven reports whether a text was signed with the secret of a witness. An attempt without a witness was handed out by a release
// that knew no claims, and needs no proof.
func proven(witness []byte, mark string, text, proof []byte) bool {
	if len(witness) == 0 {
		return true
	}
	return len(witness) == WitnessBytes && ed25519.Verify(witness, append([]byte(mark), text...), proof)
}

// Proven returns the attempt signed by who has claimed it: the worker that signs its heartbeats with self answers for it. It need
// be signed, and looked at, once.
func (h Held) Proven(claim, self Claim) Held {
	h.Proof = claim.proveHeld(heldText(h.Ref, self.Witness()))
	return h
}

// ProvenBy reports whether the attempt that the witness belongs to was claimed by the worker whose heartbeats have this key.
func (h Held) ProvenBy(witness, key []byte) bool {
	return proven(witness, heldMark, heldText(h.Ref, key), h.Proof)
}

func heldText(ref Ref, key []byte) []byte {
	return fmt.Appendf(nil, "%q %d %x", ref.TaskID, ref.Attempt, key)
}

// Signed returns the heartbeat signed with the secret of its worker, which is a claim like those of attempts, but made by itself.
func (hb Heartbeat) Signed(self Claim) Heartbeat {
	hb.Held = slices.Clone(hb.Held)
	for i := range hb.Held {
		hb.Held[i].Message = cleanText(hb.Held[i].Message) // as it reads after its way through JSON
	}
	hb.Key = self.Witness()
	hb.Proof = self.prove(beatMark, hb.signedText())
	return hb
}

// Genuine reports whether the heartbeat was signed by who has its Key. Whoever that is.
func (hb Heartbeat) Genuine() bool {
	return len(hb.Key) > 0 && proven(hb.Key, beatMark, hb.signedText(), hb.Proof)
}

// signedText is what of a heartbeat somebody else must not change: that the worker lives, and what it says of attempts.
func (hb Heartbeat) signedText() []byte {
	text := fmt.Appendf(nil, "%q %d", hb.WorkerID, hb.Seq)
	for _, h := range hb.Held {
		text = fmt.Appendf(text, "\n%q %d %q %q %b %q %d %d", h.TaskID, h.Attempt, h.JobID, h.Phase, h.Progress, h.Message,
			h.Used.CPUMicroseconds, h.Used.GPUMicroseconds)
	}
	return text
}

// ProvenBy reports whether the report was signed by who has claimed the attempt that the witness belongs to.
func (d Delivery) ProvenBy(witness []byte) bool { return proven(witness, reportMark, d.body, d.proof) }

// Disown has nobody told that the report was taken.
func (d *Delivery) Disown() { d.WorkerID = "" }

func (q *Queue) claimKey(queue string, ref Ref) string { return q.key("claim", queue, ref.String()) }

// TakeClaim takes the secret of an attempt out of Redis, with the permit that lies beside it: whoever does so first has claimed it.
// The zero value means that somebody has, or that Redis has lost it. permit is nil when there is none.
func (q *Queue) TakeClaim(ctx context.Context, queue string, ref Ref) (claim Claim, permit []byte, err error) {
	pipe := q.rdb.Pipeline()
	taken, beside := pipe.GetDel(ctx, q.claimKey(queue, ref)), pipe.GetDel(ctx, q.permitKey(queue, ref))
	_, _ = pipe.Exec(ctx) // each tells for itself: they may lie on different servers of a cluster
	seed, err := taken.Bytes()
	if err != nil && !errors.Is(err, redis.Nil) {
		return Claim{}, nil, fmt.Errorf("claim %s: %w", ref, err)
	}
	if len(seed) != ed25519.SeedSize {
		return Claim{}, nil, nil
	}
	claim = claimOf(seed)
	return claim, claim.open([]byte(beside.Val())), nil
}

// LookForClaims looks at a claim that is none: who may do that reads the claims of others without taking them.
func (q *Queue) LookForClaims(ctx context.Context) error {
	return q.rdb.Exists(ctx, q.key("claim", "molfabric-doctor-looks")).Err()
}

// leaveClaims puts the secrets of attempts, and their permits, where their workers will take them, in one round trip.
func (q *Queue) leaveClaims(ctx context.Context, orders []WorkOrder) error {
	pipe := q.rdb.Pipeline()
	for _, order := range orders {
		if order.Claim.IsZero() {
			continue
		}
		if len(order.Permit) > 0 { // before the claim: who takes that wants both
			pipe.Set(ctx, q.permitKey(order.Queue, order.Ref()), order.Claim.seal(order.Permit), permitTTL)
		}
		pipe.Set(ctx, q.claimKey(order.Queue, order.Ref()), order.Claim.key.Seed(), claimTTL)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("leave the claims of %d attempts: %w", len(orders), err)
	}
	return nil
}

// dropClaim removes what nobody is to take any more.
func (q *Queue) dropClaim(ctx context.Context, queue string, ref Ref) error {
	pipe := q.rdb.Pipeline() // of two commands, because a cluster may keep the keys apart
	pipe.Del(ctx, q.claimKey(queue, ref))
	pipe.Del(ctx, q.permitKey(queue, ref))
	_, err := pipe.Exec(ctx)
	return err
}
