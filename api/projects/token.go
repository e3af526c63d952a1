package projects

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/secret"
)

// tokens makes and reads the capabilities of shares. A token is the id of its share and a MAC of it, in base64url: it cannot be
// made up, a made-up one is refused without asking the database, and a thief of the database alone holds no token. Since it is
// worked out anew whenever it is shown, nothing secret is stored. A link is good for as long as the secret that it was made under
// is one of the deployment's.
type tokens struct{ secrets secret.Ring }

// tokenPurpose separates these MACs from all else that is made with the same secret.
const tokenPurpose = "project share\x00"

// tokenBytes is the length of a token before base64url: 16 of the id and 32 of the MAC, 64 characters without padding.
const tokenBytes = len(uuid.UUID{}) + sha256.Size

func (t tokens) make(share uuid.UUID) string {
	return base64.RawURLEncoding.EncodeToString(append(share[:], mac(t.secrets.Sealing(), share)...))
}

// read returns the share that a token was made for. The comparison takes the same time wherever the difference is.
func (t tokens) read(token string) (uuid.UUID, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != tokenBytes {
		return uuid.UUID{}, false
	}
	share := uuid.UUID(raw[:len(uuid.UUID{})])
	return share, slices.ContainsFunc(t.secrets.All(), func(one []byte) bool {
		return hmac.Equal(raw[len(share):], mac(one, share))
	})
}

func mac(secret []byte, share uuid.UUID) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(tokenPurpose))
	mac.Write(share[:])
	return mac.Sum(nil)
}

// pageOf is the address of a share's page, relative to the host.
func pageOf(token string) string { return "/shared/" + token }
