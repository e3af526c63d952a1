// Package id makes the identifiers of everything that users see: a prefix that names the kind and a UUID version 7, so that
// ids sort by the time they were made and keyset lists need no other order. It holds no parsing: an id is opaque.
package id

import (
	"encoding/hex"

	"github.com/google/uuid"
)

// New returns prefix followed by the 32 lower-case hex digits of a new UUID version 7 (RFC 9562, section 5.7). The prefix
// includes its separator: New("job_"). Ids made by one process ascend strictly. It may be called concurrently and panics
// only when the operating system has no random numbers to give.
func New(prefix string) string {
	u := uuid.Must(uuid.NewV7())
	return prefix + hex.EncodeToString(u[:])
}
