package projects

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/gowebpki/jcs"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// MaxContentBytes bounds a content in its canonical form (doc/contract.md §2.9).
const MaxContentBytes = 5 << 20

// document is a content in its canonical form, with the digest that names it.
type document struct {
	Content contract.Content
	SHA256  string // lower-case hexadecimal
}

// canonical writes a JSON object as RFC 8785 asks: members sorted by their UTF-16 code units, numbers as ECMAScript writes the
// nearest double, nothing escaped without need. Errors: fault.PayloadTooLarge beyond MaxContentBytes, fault.Validation for what
// is no JSON.
func canonical(raw []byte) (document, error) {
	text, err := jcs.Transform(raw)
	if err != nil {
		return document{}, fault.Wrap(err, fault.Validation, "content: it cannot be written as canonical JSON (RFC 8785)")
	}
	if len(text) > MaxContentBytes {
		return document{}, fault.New(fault.PayloadTooLarge, "content: it has %d bytes as canonical JSON (RFC 8785); at most %d "+
			"are allowed", len(text), MaxContentBytes)
	}
	digest := sha256.Sum256(text)
	return document{Content: text, SHA256: hex.EncodeToString(digest[:])}, nil
}
