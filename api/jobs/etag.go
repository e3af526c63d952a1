package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// etagBytes is how much of a digest an ETag carries: 16 bytes tell any two states of one job apart.
const etagBytes = 16

// etag is the entity tag of a job as its owner sees it (RFC 9110, section 8.8.3). The address of the picture is left out: it is
// another one at every look. The time at which it ends is not, so that a client is told before its address does.
func etag(view Job) (string, error) {
	if view.Preview != nil {
		view.Preview = &Preview{ExpiresAt: view.Preview.ExpiresAt}
	}
	text, err := json.Marshal(view)
	if err != nil {
		return "", fmt.Errorf("writing job %s: %w", view.JobID, err)
	}
	digest := sha256.Sum256(text)
	return `"` + hex.EncodeToString(digest[:etagBytes]) + `"`, nil
}

// matches reports whether an If-None-Match header names the tag: "*", or a list of tags of which a weak one counts too
// (RFC 9110, section 13.1.2).
func matches(ifNoneMatch, tag string) bool {
	if strings.TrimSpace(ifNoneMatch) == "*" {
		return true
	}
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		if strings.TrimPrefix(strings.TrimSpace(candidate), "W/") == tag {
			return true
		}
	}
	return false
}
