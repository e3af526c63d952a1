package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/internal/contract"
)

// etagBytes is how much of a digest an ETag carries: 16 bytes tell any two states of one job apart.
const etagBytes = 16

// etag is the entity tag of a job as its owner sees it (RFC 9110, section 8.8.3). The address of the picture is left out: it is
// another one at every look. The time at which it ends is not, so that a client is told before its address does.
func etag(view contract.Job) (string, error) {
	if view.Preview != nil {
		view.Preview = &contract.Preview{ExpiresAt: view.Preview.ExpiresAt}
	}
	text, err := json.Marshal(view)
	if err != nil {
		return "", fmt.Errorf("writing job %s: %w", view.JobID, err)
	}
	digest := sha256.Sum256(text)
	return `"` + hex.EncodeToString(digest[:etagBytes]) + `"`, nil
}
