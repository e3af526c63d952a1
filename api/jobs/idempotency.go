package jobs

import (
	"strings"
	"unicode/utf8"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/idempotency"
)

// idempotencyKey is the one key of a submission, which may stand in the header, in the body and in dockingRequest; "" when it
// stands nowhere. Two that differ are fault.IdempotencyKeyMismatch, one of the wrong length fault.Validation.
func idempotencyKey(header string, body SubmitRequest) (string, error) {
	places := []struct{ name, key string }{
		{"the header Idempotency-Key", header},
		{"idempotencyKey", body.IdempotencyKey},
	}
	if body.DockingRequest != nil {
		places = append(places, struct{ name, key string }{"dockingRequest.idempotencyKey", body.DockingRequest.IdempotencyKey})
	}
	found, where := "", ""
	for _, place := range places {
		if place.key == "" {
			continue
		}
		if n := utf8.RuneCountInString(place.key); n < idempotency.MinKeyChars || n > idempotency.MaxKeyChars || !printable(place.key) {
			return "", fault.New(fault.Validation, "%s: %d to %d characters, none of them a control character", place.name, idempotency.MinKeyChars, idempotency.MaxKeyChars)
		}
		if found != "" && found != place.key {
			return "", fault.New(fault.IdempotencyKeyMismatch, "%s and %s differ: send one key, or the same in both places", where, place.name)
		}
		found, where = place.key, place.name
	}
	return found, nil
}

// printable reports whether a text is UTF-8 without control characters, so that it can be stored and shown.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f })
}
