package confirmation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/secret"
)

var shown = Candidate{AccountID: "acct_a", Query: "Imatinib ", SourceID: "ccd:STI", ComponentID: "STI", SMILES: "Cc1ccc(cc1)C"}

// with is a candidate with one member changed.
func with(change func(*Candidate)) Candidate {
	c := shown
	change(&c)
	return c
}

func signer(t *testing.T, text string, at *time.Time) *Signer {
	t.Helper()
	s, err := NewSigner(secret.One([]byte(text)), func() time.Time { return *at })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVerify(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC)
	s := signer(t, strings.Repeat("k", 32), &now)
	token, expiresAt := s.Sign(shown)
	if want := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC); !expiresAt.Equal(want) {
		t.Errorf("it expires at %s, want %s", expiresAt, want)
	}
	if len(token) < 32 || len(token) > 8192 || strings.Contains(token, "STI") {
		t.Errorf("the token is %q", token)
	}
	for _, c := range []struct {
		name  string
		given Candidate
		want  Part // "" for a fit
	}{
		{"as shown", shown, ""},
		{"as component", with(func(c *Candidate) { c.SMILES = "" }), ""},
		{"as component in lower case", with(func(c *Candidate) { c.ComponentID, c.SMILES = "sti", "" }), ""},
		{"as SMILES", with(func(c *Candidate) { c.ComponentID = "" }), ""},
		{"another account", with(func(c *Candidate) { c.AccountID = "acct_b" }), Token},
		{"another query", with(func(c *Candidate) { c.Query = "Imatinib" }), Query},
		{"another source id", with(func(c *Candidate) { c.SourceID = "ccd:ATP" }), SourceID},
		{"another component", with(func(c *Candidate) { c.ComponentID, c.SMILES = "ATP", "" }), Source},
		{"another SMILES", with(func(c *Candidate) { c.ComponentID, c.SMILES = "", "Cc1ccc(cc1)CC" }), Source},
		{"a SMILES of another component", with(func(c *Candidate) { c.ComponentID = "ATP" }), Source},
		{"a component as SMILES", with(func(c *Candidate) { c.ComponentID, c.SMILES = "", "STI" }), Source},
		{"a file", with(func(c *Candidate) { c.ComponentID, c.SMILES = "", "" }), Source},
	} {
		check(t, c.name, s.Verify(token, c.given), c.want)
	}
	check(t, "another secret", signer(t, strings.Repeat("x", 32), &now).Verify(token, shown), Token)
	check(t, "the same secret", signer(t, strings.Repeat("k", 32), &now).Verify(token, shown), "")
	now = expiresAt.Add(-time.Nanosecond)
	check(t, "in its last second", s.Verify(token, shown), "")
	now = expiresAt
	check(t, "expired", s.Verify(token, shown), Expired)
	check(t, "expired, of another account", s.Verify(token, with(func(c *Candidate) { c.AccountID = "acct_b" })), Token)
}

func check(t *testing.T, name string, err error, want Part) {
	t.Helper()
	got := &Error{}
	if err != nil && !errors.As(err, &got) || got.Part != want {
		t.Errorf("%s: got %v, want %q", name, err, want)
	}
}

// TestEveryCharacterCounts: a token with any one character changed, and any part of it, is refused.
func TestEveryCharacterCounts(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	s := signer(t, strings.Repeat("s", 32), &now)
	token, _ := s.Sign(shown)
	for i := range token {
		for _, other := range []string{"A", "B", "=", "\n"} {
			if changed := token[:i] + other + token[i+1:]; changed != token {
				check(t, changed, s.Verify(changed, shown), Token)
			}
		}
		check(t, token[:i], s.Verify(token[:i], shown), Token)
		check(t, token[i+1:], s.Verify(token[i+1:], shown), Token)
	}
	check(t, "longer", s.Verify(token+"AAAA", shown), Token)
	check(t, "with a line end", s.Verify(token+"\n", shown), Token)
}

func FuzzVerify(f *testing.F) {
	now := time.Unix(0, 0)
	s, err := NewSigner(secret.One([]byte(strings.Repeat("k", 32))), func() time.Time { return now })
	if err != nil {
		f.Fatal(err)
	}
	token, _ := s.Sign(shown)
	f.Add(token[:len(token)-1])
	f.Add("lc1_")
	f.Fuzz(func(t *testing.T, other string) {
		if other != token && s.Verify(other, shown) == nil {
			t.Errorf("%q is accepted", other)
		}
	})
}

// TestTokensOutliveARotation: what a look-up has confirmed is good under the secret that follows, and not without the earlier one.
func TestTokensOutliveARotation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first, second := strings.Repeat("k", 32), strings.Repeat("x", 32)
	ring, err := secret.NewRing([]byte(second), []byte(first))
	if err != nil {
		t.Fatal(err)
	}
	both, err := NewSigner(ring, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	before, after := signer(t, first, &now), signer(t, second, &now)
	early, _ := before.Sign(shown)
	late, _ := both.Sign(shown)
	check(t, "an earlier token in the overlap", both.Verify(early, shown), "")
	check(t, "for another query", both.Verify(early, with(func(c *Candidate) { c.Query = "?" })), Query)
	check(t, "an earlier token after it", after.Verify(early, shown), Token)
	check(t, "a token of the overlap after it", after.Verify(late, shown), "")
}
