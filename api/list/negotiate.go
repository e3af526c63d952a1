package list

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

// The media types of lists.
const (
	JSON = "application/json"
	CSV  = "text/csv"
	TSV  = "text/tab-separated-values"
)

// maxAcceptRanges bounds what is read of an Accept header.
const maxAcceptRanges = 32

// Negotiate chooses the media type that an Accept header likes best, JSON or one of the offered; of equals the one that stands
// first in the header, of a range (text/*) the first that is offered. As everywhere in this API, what asks for nothing that there
// is gets JSON. (RFC 9110, section 12.5.1.)
func Negotiate(accept string, offered ...string) string {
	best, liked := JSON, 0.0
	for i, part := range strings.Split(accept, ",") {
		if i == maxAcceptRanges {
			break
		}
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		if name == "*/*" || name == "application/*" {
			name = JSON
		} else if group, ranged := strings.CutSuffix(name, "*"); ranged {
			if of := slices.IndexFunc(offered, func(o string) bool { return strings.HasPrefix(o, group) }); of >= 0 {
				name = offered[of]
			}
		}
		if name != JSON && !slices.Contains(offered, name) {
			continue
		}
		if q := quality(parameters["q"]); q > liked {
			best, liked = name, q
		}
	}
	return best
}

// quality is a weight in [0, 1]; 1 when there is none that can be read.
func quality(text string) float64 {
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || q < 0 || q > 1 {
		return 1
	}
	return q
}
