package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/molfabric/molfabric/api/access"
)

// The cost of one password, the first choice of the OWASP password storage cheat sheet for argon2id.
const (
	argonMemoryKiB  = 19 * 1024
	argonPasses     = 2
	argonThreads    = 1
	argonSaltBytes  = 16
	argonDigestSize = 32
)

// hasher turns passwords into argon2id's text form ("$argon2id$v=19$m=…,t=…,p=…$salt$digest") and compares them.
type hasher struct {
	turns *turns
	// decoy is compared with when there is no account, so that an unknown address takes as long as a wrong password.
	decoy string
}

func newHasher() *hasher {
	h := &hasher{turns: newTurns()}
	h.decoy = encode(argon2.IDKey([]byte("decoy"), make([]byte, argonSaltBytes), argonPasses, argonMemoryKiB, argonThreads,
		argonDigestSize),
		make([]byte, argonSaltBytes))
	return h
}

// hash returns the text form of a new password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSaltBytes)
	_, _ = rand.Read(salt) // never fails: the runtime ends the process instead
	digest, err := h.digest(ctx, password, salt)
	if err != nil {
		return "", err
	}
	return encode(digest, salt), nil
}

// matches compares a password with a stored text form.
func (h *hasher) matches(ctx context.Context, password, stored string) (bool, error) {
	salt, want, err := decode(stored)
	if err != nil {
		return false, err
	}
	got, err := h.digest(ctx, password, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

func (h *hasher) digest(ctx context.Context, password string, salt []byte) ([]byte, error) {
	release, err := h.turns.take(ctx, access.Address(ctx))
	if err != nil {
		return nil, err
	}
	defer release()
	return argon2.IDKey([]byte(password), salt, argonPasses, argonMemoryKiB, argonThreads, argonDigestSize), nil
}

var textHead = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemoryKiB, argonPasses, argonThreads)

func encode(digest, salt []byte) string {
	return textHead + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(digest)
}

func decode(stored string) (salt, digest []byte, err error) {
	rest, ok := strings.CutPrefix(stored, textHead)
	saltText, digestText, two := strings.Cut(rest, "$")
	if ok && two {
		if salt, err = base64.RawStdEncoding.DecodeString(saltText); err == nil {
			digest, err = base64.RawStdEncoding.DecodeString(digestText)
		}
	}
	if !ok || !two || err != nil {
		return nil, nil, fmt.Errorf("stored password is not in the form %s…", textHead)
	}
	return salt, digest, nil
}
