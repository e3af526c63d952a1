package receipt

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/molfabric/molfabric/internal/secret"
)

// keyPurpose separates the keys of receipts from every other key that is derived from the deployment's secrets.
const keyPurpose = "molfabric receipts v1"

// pemType is how PEM names a public key.
const pemType = "PUBLIC KEY"

// Algorithm is that of every key.
const Algorithm = "ed25519"

// Key is a public key that checks signatures.
type Key struct {
	public ed25519.PublicKey
	id     string
}

// NewKey takes the 32 bytes of a public key.
func NewKey(public []byte) (Key, error) {
	if len(public) != ed25519.PublicKeySize {
		return Key{}, fmt.Errorf("a public key has %d bytes; those of Ed25519 have %d", len(public), ed25519.PublicKeySize)
	}
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(public))
	if err != nil {
		return Key{}, fmt.Errorf("writing a public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return Key{public: public, id: hex.EncodeToString(sum[:])}, nil
}

// ParseKey reads a public key from PEM.
func ParseKey(text string) (Key, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != pemType {
		return Key{}, fmt.Errorf("is no PEM block of the type %s", pemType)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return Key{}, fmt.Errorf("cannot be read: %w", err)
	}
	public, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return Key{}, errors.New("is no key of Ed25519")
	}
	return NewKey(public)
}

// ID is the SHA-256 of the key as PKIX writes it in DER, in hexadecimal digits.
func (k Key) ID() string { return k.id }

// Bytes are the 32 bytes of the key.
func (k Key) Bytes() []byte { return k.public }

// PEM is the key as PKIX has it.
func (k Key) PEM() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(k.public)
	if err != nil {
		return "", fmt.Errorf("writing a public key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})), nil
}

// Signer signs with the key that is derived from the deployment's sealing secret. It is safe for concurrent use.
type Signer struct {
	private ed25519.PrivateKey
	key     Key
}

// NewSigner derives the key. The same secret gives the same key on every instance.
func NewSigner(secrets secret.Ring) (*Signer, error) {
	if secrets.IsZero() {
		return nil, errors.New("receipts need the key secret of the deployment")
	}
	seeds, err := secrets.Derive(keyPurpose)
	if err != nil {
		return nil, fmt.Errorf("the key of receipts: %w", err)
	}
	private := ed25519.NewKeyFromSeed(seeds[0])
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("the key of receipts has no public half")
	}
	key, err := NewKey(public)
	return &Signer{private: private, key: key}, err
}

// Key is the public half.
func (s *Signer) Key() Key { return s.key }

// Sign returns the signature over a written statement. The same statement gives the same signature.
func (s *Signer) Sign(ctx context.Context, statement []byte) ([]byte, error) {
	signer, err := dsse.NewEnvelopeSigner(signing{s})
	if err != nil {
		return nil, fmt.Errorf("signing a receipt: %w", err)
	}
	envelope, err := signer.SignPayload(ctx, PayloadType, statement)
	if err != nil {
		return nil, fmt.Errorf("signing a receipt: %w", err)
	}
	return base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
}

// signing is a Signer as DSSE wants it.
type signing struct{ *Signer }

func (s signing) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(s.private, data), nil
}

func (s signing) KeyID() (string, error) { return s.key.id, nil }

// checking is a Key as DSSE wants it.
type checking struct{ key Key }

func (c checking) Verify(_ context.Context, data, signature []byte) error {
	if !ed25519.Verify(c.key.public, data, signature) {
		return errors.New("the signature is not of this key")
	}
	return nil
}

func (c checking) KeyID() (string, error) { return c.key.id, nil }

func (c checking) Public() crypto.PublicKey { return c.key.public }

var (
	_ dsse.Signer   = signing{}
	_ dsse.Verifier = checking{}
)

// Opened is a receipt whose signature and root hold.
type Opened struct {
	Statement Statement
	KeyID     string // of the key that signed it
}

// Error says what of a receipt does not hold.
type Error struct{ Reason string }

func (e *Error) Error() string { return "the receipt does not hold: " + e.Reason }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Open checks an envelope against keys, and its Merkle root. Errors: *Error.
func Open(ctx context.Context, text []byte, keys []Key) (Opened, error) {
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil || envelope.PayloadType == "" {
		return Opened{}, wrong("it is no DSSE envelope in JSON")
	}
	if envelope.PayloadType != PayloadType {
		return Opened{}, wrong("its payload is of the type %q; a receipt's is %s", envelope.PayloadType, PayloadType)
	}
	verifiers := make([]dsse.Verifier, len(keys))
	for i, key := range keys {
		verifiers[i] = checking{key}
	}
	verifier, err := dsse.NewEnvelopeVerifier(verifiers...)
	if err != nil {
		return Opened{}, wrong("there is no key to check it with")
	}
	accepted, payload, err := verifier.VerifyAndDecode(ctx, &envelope)
	if err != nil {
		return Opened{}, wrong("its signature is of none of the %d keys, or something in it was changed", len(keys))
	}
	opened := Opened{KeyID: accepted[0].KeyID}
	if err := json.Unmarshal(payload, &opened.Statement); err != nil {
		return Opened{}, wrong("its payload is no statement: %v", err)
	}
	return opened, opened.Statement.check(payload)
}

// check looks whether a statement is one that is known here, and its root that of what it says.
func (s Statement) check(text []byte) error {
	if s.Type != StatementType || s.PredicateType != PredicateType {
		return wrong("it is a %q of %q; this program knows %s of %s", s.PredicateType, s.Type, PredicateType, StatementType)
	}
	root, err := rootOf(text)
	if err != nil {
		return wrong("%v", err)
	}
	if root != s.Predicate.Merkle {
		return wrong("its Merkle root is %s over %d leaves, and it states %s over %d", root.Root, root.Leaves,
			s.Predicate.Merkle.Root, s.Predicate.Merkle.Leaves)
	}
	return nil
}
