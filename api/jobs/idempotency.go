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
		{headerPlace, header},
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
		if !soundKey(place.key) {
			return "", unsoundKey(place.name)
		}
		if found != "" && found != place.key {
			return "", fault.New(fault.IdempotencyKeyMismatch, "%s and %s differ: send one key, or the same in both places", where,
				place.name)
		}
		found, where = place.key, place.name
	}
	return found, nil
}

// headerPlace names the header in messages.
const headerPlace = "the header Idempotency-Key"

func soundKey(key string) bool {
	chars := utf8.RuneCountInString(key)
	return chars >= idempotency.MinKeyChars && chars <= idempotency.MaxKeyChars && printable(key)
}

func unsoundKey(place string) error {
	return fault.New(fault.Validation, "%s: %d to %d characters, none of them a control character", place, idempotency.MinKeyChars,
		idempotency.MaxKeyChars)
}

// printable reports whether a text is UTF-8 without control characters, so that it can be stored and shown.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f })
}
