package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
)

// flowLife is how long somebody may take at the identity provider: a password manager and a second factor fit.
const flowLife = 10 * time.Minute

// flow is a sign-in that is at the identity provider. It travels in a cookie, so that the same browser has to come back, and
// whichever instance it comes back to knows it.
type flow struct {
	State    string    `json:"state"`    // goes through the provider's address; ties its answer to this browser
	Nonce    string    `json:"nonce"`    // comes back inside the identity token; ties it to this flow
	Verifier string    `json:"verifier"` // whose hash the provider has (PKCE, RFC 7636); ties the code to this flow
	Next     string    `json:"next"`
	Until    time.Time `json:"until"`
}

// flowKeys derives the keys of the cookie, that of the sealing secret first, so that it and an API key's digest can never stand for
// each other.
func flowKeys(secrets secret.Ring) [][]byte {
	keys := make([][]byte, len(secrets.All()))
	for i, one := range secrets.All() {
		keys[i] = sign(one, "sign-in at an identity provider")
	}
	return keys
}

// seal writes the flow with a signature.
func (f flow) seal(key []byte) (string, error) {
	plain, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(plain)
	return text + "." + base64.RawURLEncoding.EncodeToString(sign(key, text)), nil
}

// unseal reads a flow that seal has written under one of the keys and that is not over. Errors: fault.Validation.
func unseal(keys [][]byte, sealed string, now time.Time) (flow, error) {
	text, signature, _ := strings.Cut(sealed, ".")
	got, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !slices.ContainsFunc(keys, func(key []byte) bool { return hmac.Equal(got, sign(key, text)) }) {
		return flow{}, startAgain()
	}
	var f flow
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(plain, &f)
	}
	if err != nil || !now.Before(f.Until) {
		return flow{}, startAgain()
	}
	return f, nil
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func startAgain() error {
	return fault.New(fault.Validation, "this sign-in was not started in this browser, or took longer than %d minutes: start "+
		"it again",
		int(flowLife/time.Minute))
}

// localPath accepts the path of a page of this service, with its query, and nothing that a browser could take for another
// site: "//evil.example", "/\evil.example", "https:…", or those hidden behind tabs and newlines, which browsers drop.
func localPath(next string) (string, error) {
	parsed, err := url.Parse(next)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.User != nil || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsRune(next, '\\') || strings.ContainsFunc(next, unicode.IsControl) {
		return "", fault.New(fault.Validation, "query.next: must be a path of this service, like /studio")
	}
	return parsed.String(), nil
}
