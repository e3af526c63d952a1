package searches

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

// Media types that lists are answered in.
const (
	typeJSON = "application/json"
	typeCSV  = "text/csv"
	typeTSV  = "text/tab-separated-values"
)

// maxAcceptRanges bounds what is read of an Accept header.
const maxAcceptRanges = 32

// negotiate chooses the media type that an Accept header likes best, JSON or one of the offered; of equals the one that stands first.
// As everywhere in this API, what asks for nothing that there is gets JSON. (RFC 9110, section 12.5.1.)
func negotiate(accept string, offered ...string) string {
	best, liked := typeJSON, 0.0
	for i, part := range strings.Split(accept, ",") {
		if i == maxAcceptRanges {
			break
		}
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		switch {
		case name == typeJSON || slices.Contains(offered, name):
		case name == "*/*", name == "application/*":
			name = typeJSON
		case name == "text/*":
			name = typeCSV
		default:
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
