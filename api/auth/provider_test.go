package auth

import (
	"encoding/json"
	"testing"
)

// TestEmailVerifiedAsText reads the claim as providers write it.
func TestEmailVerifiedAsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`true`: true, `"true"`: true, `false`: false, `"false"`: false, `null`: false, `1`: false, `"yes"`: false, `{}`: false,
	} {
		var claims struct {
			EmailVerified saidTrue `json:"email_verified"`
		}
		if err := json.Unmarshal([]byte(`{"email_verified":`+text+`}`), &claims); err != nil || bool(claims.EmailVerified) != want {
			t.Errorf("%s: got %v (%v), want %v", text, claims.EmailVerified, err, want)
		}
	}
}
