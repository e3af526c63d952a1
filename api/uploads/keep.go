package uploads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
)

// keptPrefix begins the part of a key that stands for the upload's id, of files that the service has made for an account. No upload
// id looks like it.
const keptPrefix = "kept_"

// Keep stores a file that this service has made for an account, as if it had uploaded it. The same content under the same name has
// the same key, so that it may be repeated. It counts among the account's files, and is swept like those that no job reads.
//
// Errors: fault.Validation for a file beyond the account's quota; fault.ProviderUnavailable.
func (s *Service) Keep(ctx context.Context, accountID, name, mediaType string, content []byte) (engines.Object, error) {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	now := s.now().UTC()
	u := upload{
		StorageKey: keyFor(accountID, keptPrefix+digest[:32], name, place{}), AccountID: accountID, Filename: name,
		ContentType: mediaType, ByteSize: int64(len(content)), SHA256: sql.NullString{String: digest, Valid: true},
		CreatedAt: now, ExpiresAt: now.Add(urlLifetime), // until when it may be on its way
	}
	kept := engines.Object{StorageKey: u.StorageKey, SHA256: digest, ByteSize: u.ByteSize}
	known, err := s.store.find(ctx, accountID, []string{u.StorageKey})
	if err != nil {
		return kept, err
	}
	if there, err := s.arrived(ctx, known); err != nil || len(there) > 0 {
		return kept, err
	}
	if err := s.reserve(ctx, accountID, newFile{byteSize: u.ByteSize, storageKey: u.StorageKey}, func(tx *sqlx.Tx) error {
		return put(ctx, tx, u)
	}); err != nil {
		return kept, err
	}
	if _, err := s.objects.Put(ctx, u.StorageKey, bytes.NewReader(content), mediaType, digest); err != nil {
		return kept, fmt.Errorf("store %s: %w", u.StorageKey, away(err))
	}
	return kept, nil
}
