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

	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
)

// urlLifetime is how long an upload URL is good (doc/contract.md §8).
const urlLifetime = time.Hour

// provider is the storage provider that answers name: every deployment speaks S3.
const provider = "s3"

// maxHeads bounds the requests to the object store that one look-up has open: a library of 10,000 ligand files is found in
// seconds and leaves the store room for others.
const maxHeads = 16

// emptyPatience bounds the deletion of a file that another one replaces: the account's other files wait meanwhile.
const emptyPatience = 10 * time.Second

// Service holds the rules of the group. It is safe for concurrent use, also by several instances.
type Service struct {
	store   store
	objects *object.Store
	now     func() time.Time
	quota   Quota
	// short and long bound the locks that this instance holds for moments, and for as long as a file is being completed.
	short, long chan struct{}
	turns       *throttle.Turns // at the quota of an account
}

// New returns a Service. Run is to be called beside its operations, or nothing is cleaned up.
func New(db *sqlx.DB, objects *object.Store, now func() time.Time) *Service {
	return &Service{store: store{db: db}, objects: objects, now: now,
		short: make(chan struct{}, maxHeld), long: make(chan struct{}, maxHeld),
		turns: throttle.NewTurns("uploads", maxWaiting, turnPatience)}
}

// Create reserves a storage key and signs the PUT that fills it. Every call makes a new key, but for a path of a project
// package, which is the end of its key: there the newer file takes the place of one that no submission has found, and a PUT is
// taken once.
//
// Errors: fault.Validation for a path that cannot be, or that a submitted job's file has, and for a file beyond the account's
// quota; fault.RateLimited for too many at once; fault.ProviderUnavailable.
func (s *Service) Create(
	ctx context.Context, accountID string, request contract.UploadURLRequest,
) (contract.UploadURLResponse, error) {
	at, err := placeOf(request.ProjectID, request.LogicalPath)
	if err != nil {
		return contract.UploadURLResponse{}, err
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
		return contract.UploadURLResponse{}, fmt.Errorf("signing upload %s: %w", u.StorageKey, err)
	}
	if at == (place{}) {
		err = s.reserve(ctx, accountID, newFile{byteSize: u.ByteSize}, func(tx *sqlx.Tx) error { return put(ctx, tx, u) })
	} else {
		err = s.putInProject(ctx, u, at)
	}
	if err != nil {
		return contract.UploadURLResponse{}, err
	}
	return contract.UploadURLResponse{
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
	return s.reserve(ctx, u.AccountID, file, func(tx *sqlx.Tx) error {
		return s.replace(ctx, tx, u.AccountID, at, u.StorageKey, func() error { return put(ctx, tx, u) })
	})
}

// replace lets write put something in the place of a package's file, and then deletes that. The deletion is the transaction's last
// step: until then every error leaves the earlier file as it was, and after it only the commit can fail. A removal that its owner
// had asked for is done with, since what comes to the key from now on is new. The caller holds the key's lock.
//
// Errors: fault.Validation; fault.ProviderUnavailable.
func (s *Service) replace(
	ctx context.Context, tx *sqlx.Tx, accountID string, at place, storageKey string, write func() error,
) error {
	crosses, err := crossing(ctx, tx, accountID, at)
	if err != nil {
		return err
	}
	if crosses != "" {
		return errPathCrosses
	}
	used, err := lockFile(ctx, tx, storageKey)
	if err == nil && used {
		err = s.checkUsed(ctx, storageKey)
	}
	if err != nil {
		return err
	}
	if err := endRemoval(ctx, tx, storageKey); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return s.empty(ctx, storageKey)
}

// empty deletes what is at a key, within emptyPatience.
func (s *Service) empty(ctx context.Context, storageKey string) error {
	bounded, cancel := context.WithTimeout(ctx, emptyPatience)
	defer cancel()
	err := s.objects.Delete(bounded, storageKey)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = fmt.Errorf("%w: %w", object.ErrUnavailable, err)
	}
	return away(err)
}

var errPathCrosses = fault.New(fault.Validation, "logicalPath: this project has a file whose path is a directory of this one, or "+
	"the other way round")

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
	return fault.New(fault.Validation, "logicalPath: a submitted job refers to this project's file of this path, which therefore "+
		"stays as it is; use another path or a new projectId")
}

// OwnedAll finds those of the keys whose files the account has uploaded and that lie in the store with the announced size, for a
// submission: what it finds, and the whole package of a file that belongs to one, is from then on kept as it is. SHA256 is set
// where the store has enforced it, or it was found by reading. Errors: fault.ProviderUnavailable when the object store is away.
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
