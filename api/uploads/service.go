// Package uploads is the API group that takes files in: it gives out presigned URLs, for a file in one piece or in parts, knows
// which files belong to which account, and cleans up what nobody finished or used. The bytes go from the client to the object
// store and never through this service, but for a file in parts whose SHA-256 was stated, which is read back.
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

// Service holds the rules of the group. It is safe for concurrent use, also by several instances.
type Service struct {
	store   store
	objects *object.Store
	now     func() time.Time
	quota   Quota
	// short and long bound the locks that this instance holds for moments, and for as long as a file is being completed.
	short, long chan struct{}
}

// New returns a Service. Run is to be called beside its operations, or nothing is cleaned up.
func New(db *sqlx.DB, objects *object.Store, now func() time.Time) *Service {
	return &Service{store: store{db: db}, objects: objects, now: now, short: make(chan struct{}, maxHeld), long: make(chan struct{}, maxHeld)}
}

// Create reserves a storage key and signs the PUT that fills it. Every call makes a new key, but for a path of a project
// package, which is the end of its key: there the newer file takes the place of one that no submission has found, and a PUT is
// taken once.
//
// Errors: fault.Validation for a path that cannot be, or that a submitted job's file has, and for a file beyond the account's quota;
// fault.ProviderUnavailable.
func (s *Service) Create(ctx context.Context, accountID string, request UploadURLRequest) (UploadURLResponse, error) {
	at, err := placeOf(request.ProjectID, request.LogicalPath)
	if err != nil {
		return UploadURLResponse{}, err
	}
	now := s.now().UTC()
	u := upload{
		StorageKey: keyFor(accountID, id.New("upl_"), request.Filename, at), AccountID: accountID,
		Filename: request.Filename, ContentType: request.ContentType, ByteSize: request.Size, SHA256: stated(request.SHA256),
		ProjectID: nullable(at.projectID), LogicalPath: nullable(at.logicalPath),
		CreatedAt: now, ExpiresAt: now.Add(urlLifetime),
	}
	sign := s.objects.PresignPut
	if at != (place{}) {
		sign = s.objects.PresignCreate
	}
	url, headers, err := sign(ctx, u.StorageKey, u.ContentType, u.ByteSize, u.SHA256.String, urlLifetime)
	if err != nil {
		return UploadURLResponse{}, fmt.Errorf("signing upload %s: %w", u.StorageKey, err)
	}
	if at == (place{}) {
		err = s.reserve(ctx, accountID, newFile{byteSize: u.ByteSize}, func(tx *sqlx.Tx) error { return put(ctx, tx, u) })
	} else {
		err = s.putInProject(ctx, u, at)
	}
	if err != nil {
		return UploadURLResponse{}, err
	}
	return UploadURLResponse{
		UploadURL: url, S3Key: u.StorageKey, Method: "PUT", ExpiresIn: int(urlLifetime / time.Second),
		Provider: provider, Headers: headers,
	}, nil
}

// putInProject stores an upload whose key may be another's already, and empties the key.
func (s *Service) putInProject(ctx context.Context, u upload, at place) error {
	release, err := s.store.hold(ctx, s.short, u.StorageKey)
	if err != nil {
		return err
	}
	defer release()
	file := newFile{byteSize: u.ByteSize, storageKey: u.StorageKey}
	if err := s.room(ctx, s.store.db, u.AccountID, file); err != nil { // before an earlier file goes
		return err
	}
	if err := s.claimPath(ctx, u.AccountID, at, u.StorageKey); err != nil {
		return err
	}
	if err := s.objects.Delete(ctx, u.StorageKey); err != nil {
		return away(err)
	}
	return s.reserve(ctx, u.AccountID, file, func(tx *sqlx.Tx) error { return put(ctx, tx, u) })
}

// claimPath makes sure that a path of a package can be written, and makes the file that it replaces as if absent. The caller
// holds the key's lock. Errors: fault.Validation.
func (s *Service) claimPath(ctx context.Context, accountID string, at place, storageKey string) error {
	crossing, err := s.store.crossing(ctx, accountID, at)
	if err != nil {
		return err
	}
	if crossing != "" {
		return errPathCrosses
	}
	used, err := s.store.withdraw(ctx, storageKey)
	if err != nil || !used {
		return err
	}
	return s.checkUsed(ctx, storageKey)
}

var errPathCrosses = fault.New(fault.Validation, "logicalPath: this project has a file whose path is a directory of this one, or the other way round")

// checkUsed refuses to replace a file that a submission has found, unless it was only announced and never sent: then no job can
// have read it.
func (s *Service) checkUsed(ctx context.Context, storageKey string) error {
	_, err := s.objects.Head(ctx, storageKey)
	switch {
	case errors.Is(err, object.ErrNotFound):
		return nil
	case err != nil:
		return away(err)
	}
	return fault.New(fault.Validation, "logicalPath: a submitted job refers to this project's file of this path, which therefore stays as it is; use another path or a new projectId")
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

// OwnedAll finds those of the keys that Owned would find, for a submission: what it finds, and the whole package of a file that
// belongs to one, is from then on kept as it is. SHA256 is set where the store has enforced it, or it was found by reading.
// Errors: fault.ProviderUnavailable when the object store is away.
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
	arrived, err := s.arrived(ctx, announced)
	if err != nil {
		return nil, err
	}
	kept, err := s.keep(ctx, accountID, arrived)
	if err != nil {
		return nil, err
	}
	found := make(map[string]engines.Object, len(kept))
	for _, u := range kept {
		found[u.StorageKey] = engines.Object{StorageKey: u.StorageKey, SHA256: u.SHA256.String, ByteSize: u.ByteSize}
	}
	return found, nil
}

// keep marks files as used and returns those that nobody has replaced or removed in between.
func (s *Service) keep(ctx context.Context, accountID string, files []upload) ([]upload, error) {
	var fresh []string
	for _, u := range files {
		if !u.UsedAt.Valid {
			fresh = append(fresh, u.StorageKey)
		}
	}
	projects := projectsOf(files)
	if len(fresh)+len(projects) == 0 {
		return files, nil
	}
	still, err := s.store.use(ctx, accountID, fresh, projects, s.now().UTC())
	if err != nil {
		return nil, err
	}
	var kept []upload
	for _, u := range files {
		if now, ok := still[u.StorageKey]; u.UsedAt.Valid || ok && now.CreatedAt.Equal(u.CreatedAt) {
			kept = append(kept, u)
		}
	}
	return kept, nil
}

// arrived keeps the uploads whose object lies in the store with the announced size.
func (s *Service) arrived(ctx context.Context, announced []upload) ([]upload, error) {
	var found []upload
	var mu sync.Mutex
	heads, ctx := errgroup.WithContext(ctx)
	heads.SetLimit(maxHeads)
	for _, u := range announced {
		heads.Go(func() error {
			info, err := s.objects.Head(ctx, u.StorageKey)
			switch {
			case errors.Is(err, object.ErrNotFound), err == nil && info.ByteSize != u.ByteSize:
				return nil
			case err != nil:
				return away(err)
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, u)
			return nil
		})
	}
	if err := heads.Wait(); err != nil {
		return nil, fmt.Errorf("looking for uploads: %w", err)
	}
	return found, nil
}

// away says to the caller that the object store is away, when that is what err says.
func away(err error) error {
	if errors.Is(err, object.ErrUnavailable) {
		return fault.Wrap(err, fault.ProviderUnavailable, "the object store is away for the moment; try again")
	}
	return err
}

// keyFor is where a file goes.
func keyFor(accountID, uploadID, filename string, at place) string {
	if at == (place{}) {
		return storageKey(accountID, uploadID, filename)
	}
	return projectKey(accountID, at)
}

// stated is a SHA-256 that a request may state, in lower case.
func stated(sha256 string) sql.NullString { return nullable(strings.ToLower(sha256)) }

func nullable(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }
