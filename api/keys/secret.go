package keys

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"regexp"
	"strings"

	"github.com/molfabric/molfabric/internal/secret"
)

// A key is svc_<environment>_<random><checksum>: 32 base62 characters (190 bits) that cannot be guessed, and the CRC-32 of
// everything before as 6 more, so that a mistyped or made-up key is refused without asking the database, and secret scanners
// can tell a key from a look-alike.
const (
	randomChars   = 32
	checksumChars = 6
	// prefixChars is how much of a key is kept to recognise it: the environment and the first four random characters.
	prefixChars = len("svc_live_") + 4
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var keyForm = regexp.MustCompile(`^svc_(live|test)_[0-9A-Za-z]{38}$`)

// newSecret makes a key of the environment.
func newSecret(environment string) string {
	var b strings.Builder
	b.WriteString("svc_" + environment + "_")
	limit := big.NewInt(int64(len(base62)))
	for range randomChars {
		n, err := rand.Int(rand.Reader, limit)
		if err != nil { // the operating system has no random numbers: nothing secret can be made
			panic(err)
		}
		b.WriteByte(base62[n.Int64()])
	}
	return b.String() + checksum(b.String())
}

// wellFormed reports whether text can be a key that newSecret made.
func wellFormed(text string) bool {
	if !keyForm.MatchString(text) {
		return false
	}
	body := text[:len(text)-checksumChars]
	return checksum(body) == text[len(body):]
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var digits [checksumChars]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[sum%uint32(len(base62))]
		sum /= uint32(len(base62))
	}
	return string(digits[:])
}

// digests are what may be stored of a key, that of the sealing secret first. A thief of the database alone can test no guess.
func digests(secrets secret.Ring, key string) [][]byte {
	made := make([][]byte, len(secrets.All()))
	for i, one := range secrets.All() {
		sealed := seal(one, key)
		made[i] = sealed[:]
	}
	return made
}

// seal is what is stored of a key under one secret.
func seal(secret []byte, key string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(key))
	return [sha256.Size]byte(mac.Sum(nil))
}
