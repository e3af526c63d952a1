package projects

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/internal/contract"
)

// etagBytes is how much of a digest an ETag carries: it tells apart the few states that one version of a project can have.
const etagBytes = 8

// etag is the entity tag of a project (RFC 9110, section 8.8.3): its version, by which If-Match knows it, and a digest of
// everything beside the content, which changes with the share too.
func etag(p contract.ProjectSummary) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write project %s: %w", p.ProjectID, err)
	}
	digest := sha256.Sum256(text)
	return fmt.Sprintf(`"%d-%s"`, p.CurrentVersion, hex.EncodeToString(digest[:etagBytes])), nil
}

// revisionTag is the entity tag of what never changes.
func revisionTag(version int64) string { return fmt.Sprintf(`"%d"`, version) }
