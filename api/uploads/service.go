// Package uploads is the API group that takes files in: it gives out presigned URLs and knows which files belong to which
// account. The bytes go from the client to the object store and never through this service.
package uploads

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
)

// maxHeads bounds the requests to the object store that one look-up has open: a library of 10,000 ligand files is found in
// seconds and leaves the store room for others.
const maxHeads = 16

// Service holds the rules of the group. It is safe for concurrent use.
type Service struct {
	store   store
	objects *object.Store
	now     func() time.Time
}

// New returns a Service.
func New(db *sqlx.DB, objects *object.Store, now func() time.Time) *Service {
	return &Service{store: store{db: db}, objects: objects, now: now}
}

// Create reserves a storage key and signs the PUT that fills it. Every call makes a new key.
func (s *Service) Create(ctx context.Context, accountID string, request UploadURLRequest) (UploadURLResponse, error) {
	now := s.now().UTC()
	u := upload{
		StorageKey: storageKey(accountID, id.New("upl_"), request.Filename), AccountID: accountID,
		Filename: request.Filename, ContentType: request.ContentType, ByteSize: request.Size,
		SHA256:    sql.NullString{String: strings.ToLower(request.SHA256), Valid: request.SHA256 != ""},
		CreatedAt: now, ExpiresAt: now.Add(urlLifetime),
	}
	url, headers, err := s.objects.PresignPut(ctx, u.StorageKey, u.ContentType, u.ByteSize, u.SHA256.String, urlLifetime)
	if err != nil {
		return UploadURLResponse{}, fmt.Errorf("signing upload %s: %w", u.StorageKey, err)
	}
	if err := s.store.insert(ctx, u); err != nil {
		return UploadURLResponse{}, err
	}
	return UploadURLResponse{
		UploadURL: url, S3Key: u.StorageKey, Method: "PUT", ExpiresIn: int(urlLifetime / time.Second),
		Provider: provider, Headers: headers,
	}, nil
}

// Owned finds a file that the account has uploaded and that lies in the store with the announced size. Errors:
// fault.NotFound, alike for an unknown key, another account's, and a file that has not arrived.
func (s *Service) Owned(ctx context.Context, accountID, storageKey string) (engines.Object, error) {
	found, err := s.OwnedAll(ctx, accountID, []string{storageKey})
	if err != nil {
		return engines.Object{}, err
	}
	file, ok := found[storageKey]
	if !ok {
		return engines.Object{}, fault.New(fault.NotFound, "storageKey: this account has no stored file with this key")
	}
	return file, nil
}

// OwnedAll finds those of the keys that Owned would find. SHA256 is set where it was announced: the store has then refused
// other bytes. Errors: fault.ProviderUnavailable when the object store is away.
func (s *Service) OwnedAll(ctx context.Context, accountID string, keys []string) (map[string]engines.Object, error) {
	var own []string
	for _, key := range keys {
		if strings.HasPrefix(key, namespace(accountID)) {
			own = append(own, key)
		}
	}
	if len(own) == 0 {
		return map[string]engines.Object{}, nil
	}
	announced, err := s.store.find(ctx, accountID, own)
	if err != nil {
		return nil, err
	}
	return s.arrived(ctx, announced)
}

// arrived keeps the uploads whose object lies in the store with the announced size.
func (s *Service) arrived(ctx context.Context, announced []upload) (map[string]engines.Object, error) {
	found := make(map[string]engines.Object, len(announced))
	var mu sync.Mutex
	heads, ctx := errgroup.WithContext(ctx)
	heads.SetLimit(maxHeads)
	for _, u := range announced {
		heads.Go(func() error {
			info, err := s.objects.Head(ctx, u.StorageKey)
			switch {
			case errors.Is(err, object.ErrNotFound), err == nil && info.ByteSize != u.ByteSize:
				return nil
			case errors.Is(err, object.ErrUnavailable):
				return fault.Wrap(err, fault.ProviderUnavailable, "the object store is away for the moment; try again")
			case err != nil:
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			found[u.StorageKey] = engines.Object{StorageKey: u.StorageKey, SHA256: u.SHA256.String, ByteSize: u.ByteSize}
			return nil
		})
	}
	if err := heads.Wait(); err != nil {
		return nil, fmt.Errorf("looking for uploads: %w", err)
	}
	return found, nil
}
