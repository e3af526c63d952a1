// Package confirmation makes and checks the tokens by which a ligand look-up is confirmed: a caller who docks what a look-up has
// shown sends the token back, and the service knows that it was this account that was shown this structure for this query. A
// token is no secret and no permission; it holds nothing but a time and keyed digests. The package keeps nothing.
package confirmation

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/secret"
)

// Lifetime is how long a token is good: a working day and the night behind it.
const Lifetime = 24 * time.Hour

// keyPurpose separates the key of the tokens from every other key that is derived from the deployment's secret.
const keyPurpose = "molfabric ligand confirmations v1"

const (
	// version begins every token, so that tokens of another making can be told.
	version = "lc1_"
	// expiryBytes and tagBytes are the parts of a token; a tag of 128 bits cannot be found by trying.
	expiryBytes = 8
	tagBytes    = 16
	// tokenBytes are the expiry, the tags of query, source id, component and SMILES, and the one over everything.
	tokenBytes = expiryBytes + 5*tagBytes
)

// Candidate is what a look-up has shown an account.
type Candidate struct {
	AccountID   string
	Query       string // exactly as it was sent
	SourceID    string
	ComponentID string // in any case; "" when the candidate is no component of a dictionary, or the ligand is not given as one
	SMILES      string // "" when the ligand is not given as SMILES
}

// Part is a part of what a token confirms.
type Part string

// The parts of which an Error tells.
const (
	Token    Part = "token"    // not one that this account was given
	Expired  Part = "expired"  // it was, too long ago
	Query    Part = "query"    // given for another query
	SourceID Part = "sourceId" // given for another candidate
	Source   Part = "source"   // given for another structure
)

// Error says what a token does not fit, and nothing of what it was given for.
type Error struct{ Part Part }

func (e *Error) Error() string { return "the confirmation does not fit: " + string(e.Part) }

// Signer makes and checks tokens. It is safe for concurrent use.
type Signer struct {
	keys []key // the first signs
	now  func() time.Time
}

// key makes the tags of tokens.
type key []byte

// NewSigner returns a Signer whose keys are derived from the deployment's secrets: instances accept the tokens of each other whose
// sealing secret is one of theirs.
func NewSigner(secrets secret.Ring, now func() time.Time) (*Signer, error) {
	derived, err := secrets.Derive(keyPurpose)
	if err != nil {
		return nil, fmt.Errorf("the keys of ligand confirmations: %w", err)
	}
	s := &Signer{now: now}
	for _, one := range derived {
		s.keys = append(s.keys, one)
	}
	return s, nil
}

// Sign returns a token for a candidate, of letters, digits, "_" and "-", and when it expires.
func (s *Signer) Sign(c Candidate) (token string, expiresAt time.Time) {
	expiresAt = s.now().UTC().Truncate(time.Second).Add(Lifetime)
	raw := binary.BigEndian.AppendUint64(make([]byte, 0, tokenBytes), uint64(expiresAt.Unix()))
	for _, one := range c.tagged() {
		raw = append(raw, s.keys[0].tag(c.AccountID, string(one.part), one.value)...)
	}
	raw = append(raw, s.keys[0].tag(c.AccountID, "whole", string(raw))...)
	return version + base64.RawURLEncoding.EncodeToString(raw), expiresAt
}

// Verify checks that a token was given to the account for this query, source id and structure: the component or the SMILES that
// the ligand is given as, or both. Errors: *Error, which names the first part that does not fit.
func (s *Signer) Verify(token string, c Candidate) error {
	text, ours := strings.CutPrefix(token, version)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	// decoding skips line ends
	if !ours || err != nil || len(raw) != tokenBytes || base64.RawURLEncoding.EncodeToString(raw) != text {
		return &Error{Token}
	}
	signed, whole := raw[:tokenBytes-tagBytes], raw[tokenBytes-tagBytes:]
	i := slices.IndexFunc(s.keys, func(k key) bool { return hmac.Equal(whole, k.tag(c.AccountID, "whole", string(signed))) })
	if i < 0 {
		return &Error{Token}
	}
	signedBy := s.keys[i]
	if s.now().Unix() >= int64(binary.BigEndian.Uint64(signed)) {
		return &Error{Expired}
	}
	if c.ComponentID == "" && c.SMILES == "" {
		return &Error{Source} // a file, which no look-up shows
	}
	for i, one := range c.tagged() {
		if one.part == Source && one.value == "" {
			continue // the ligand is given in the other form
		}
		tag := signed[expiryBytes+i*tagBytes:][:tagBytes]
		if !hmac.Equal(tag, signedBy.tag(c.AccountID, string(one.part), one.value)) {
			return &Error{one.part}
		}
	}
	return nil
}

// tagged is a value that a tag stands for.
type tagged struct {
	part  Part
	value string
}

// tagged lists the values of a candidate in the order of their tags. The prefixes keep a component from being taken for a SMILES.
func (c Candidate) tagged() []tagged {
	all := []tagged{{Query, c.Query}, {SourceID, c.SourceID}, {Source, ""}, {Source, ""}}
	if c.ComponentID != "" {
		all[2].value = "component " + strings.ToUpper(c.ComponentID)
	}
	if c.SMILES != "" {
		all[3].value = "smiles " + c.SMILES
	}
	return all
}

// tag is a keyed digest of a value for an account and a purpose. The lengths keep the three apart.
func (k key) tag(accountID, purpose, value string) []byte {
	mac := hmac.New(sha256.New, k)
	for _, part := range []string{accountID, purpose, value} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		_, _ = mac.Write(length[:]) // never fails
		_, _ = mac.Write([]byte(part))
	}
	return mac.Sum(nil)[:tagBytes]
}
