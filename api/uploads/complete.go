package uploads

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/postgres"
)

const (
	// completionPatience and slowestStore bound one completion: some stores copy every part, and a stated SHA-256 has the file
	// read back. Beyond 20 MB/s downwards something is stuck.
	completionPatience = 2 * time.Minute
	slowestStore       = 20 << 20 // bytes a second
	// maxNamed bounds how many missing parts one message names.
	maxNamed = 5
)

var errNotAsStated = fault.New(fault.ChecksumMismatch, "sha256: the stored file is not the one that was stated; it has been "+
	"removed, begin a new upload (POST /v1/uploads)")

// Complete makes the file of its parts, once the store has them all, and verifies what can be: the size always, each part in
// checksum mode, the whole file when its SHA-256 was stated. It may be repeated and called concurrently: one call works, all get
// its answer. A caller that gives up does not end the work.
//
// Errors: fault.NotFound, fault.UploadExpired, fault.Validation, fault.UploadIncomplete, fault.ChecksumMismatch,
// fault.ProviderUnavailable.
func (s *Service) Complete(
	ctx context.Context, accountID, uploadID string, request contract.MultipartCompleteRequest,
) (contract.MultipartCompleteResponse, error) {
	m, err := s.store.multipart(ctx, accountID, uploadID)
	if err != nil {
		return contract.MultipartCompleteResponse{}, err
	}
	if answer, done, err := s.settled(m); done {
		return answer, err
	}
	if err := m.check(request); err != nil {
		return contract.MultipartCompleteResponse{}, err
	}
	release, err := s.store.hold(ctx, s.long, m.StorageKey)
	if err != nil {
		return contract.MultipartCompleteResponse{}, err
	}
	defer release()
	if m, err = s.store.multipart(ctx, accountID, uploadID); err != nil {
		return contract.MultipartCompleteResponse{}, err
	}
	if answer, done, err := s.settled(m); done {
		return answer, err
	}
	if request.SHA256 != "" {
		m.SHA256 = stated(request.SHA256)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx),
		completionPatience+time.Duration(m.ByteSize/slowestStore)*time.Second)
	defer cancel()
	if err := s.fits(ctx, m); err != nil {
		return contract.MultipartCompleteResponse{}, err
	}
	etag, err := s.assemble(ctx, &m, request)
	if err != nil {
		return contract.MultipartCompleteResponse{}, err
	}
	return s.finish(ctx, m, etag)
}

// fits holds an upload against the quota once more, which may be smaller by now; its parts have the sizes that were stated, or the
// completion fails. One whose object may have been made already goes on.
func (s *Service) fits(ctx context.Context, m multipart) error {
	if m.State == stateCompleting {
		return nil
	}
	file := newFile{byteSize: m.ByteSize, uploadID: m.ID}
	if m.ProjectID.Valid {
		file.storageKey = m.StorageKey
	}
	return s.room(ctx, s.store.db, m.AccountID, file)
}

// settled is the answer for an upload that has come to an end.
func (s *Service) settled(m multipart) (answer contract.MultipartCompleteResponse, done bool, err error) {
	switch m.State {
	case stateCompleted:
		if err := json.Unmarshal(m.Answer, &answer); err != nil {
			return answer, true, fmt.Errorf("reading the answer of upload %s: %w", m.ID, err)
		}
		return answer, true, nil
	case stateFailed:
		return answer, true, errNotAsStated
	}
	err = s.open(m)
	return answer, err != nil, err
}

// check holds a completion against the upload, before the store is asked.
func (m multipart) check(request contract.MultipartCompleteRequest) error {
	if request.SHA256 != "" && m.SHA256.Valid && !strings.EqualFold(m.SHA256.String, request.SHA256) {
		return fault.New(fault.Validation, "sha256: is not the one that the upload was begun with")
	}
	last, missing := 0, []int{}
	for i, part := range request.Parts {
		if err := m.checkPart(i, part.PartNumber, part.ChecksumSHA256); err != nil {
			return err
		}
		if part.PartNumber <= last {
			return fault.New(fault.Validation, "parts[%d].partNumber: parts must ascend, each once", i)
		}
		for n := last + 1; n < part.PartNumber; n++ {
			missing = append(missing, n)
		}
		last = part.PartNumber
	}
	for n := last + 1; n <= m.PartCount; n++ {
		missing = append(missing, n)
	}
	return m.incomplete("not listed", missing)
}

// incomplete names what is missing; nil when nothing is.
func (m multipart) incomplete(how string, missing []int) error {
	if len(missing) == 0 {
		return nil
	}
	first := strings.Trim(fmt.Sprint(missing[:min(len(missing), maxNamed)]), "[]")
	return fault.New(fault.UploadIncomplete, "parts: %d of %d are %s, the first: %s", len(missing), m.PartCount, how,
		strings.ReplaceAll(first, " ", ", "))
}

// assemble has the store make the object, unless an earlier call that died has done so, and returns its ETag when that is
// known. From then on m says what the file is made of.
func (s *Service) assemble(ctx context.Context, m *multipart, request contract.MultipartCompleteRequest) (etag string, err error) {
	parts, err := s.objects.Parts(ctx, m.StorageKey, m.StoreHandle)
	switch {
	case errors.Is(err, object.ErrNotFound) && m.State == stateCompleting:
		return "", s.resume(ctx, *m)
	case errors.Is(err, object.ErrNotFound): // cleaned up by the store's own rules
		return "", errors.Join(s.store.setState(ctx, *m, stateExpired), errExpired)
	case err != nil:
		return "", away(err)
	}
	if err := m.compare(parts, request); err != nil {
		return "", err
	}
	m.PartETags, m.Integrity = nil, nullable(integrityOf(*m, parts))
	for _, part := range parts {
		m.PartETags = append(m.PartETags, part.ETag)
	}
	if err := s.completing(ctx, *m); err != nil {
		return "", err
	}
	m.State = stateCompleting
	etag, err = s.objects.CompleteMultipart(ctx, m.StorageKey, m.StoreHandle, parts)
	switch {
	case errors.Is(err, object.ErrNotFound): // done by a try of this request whose answer was lost
		return "", nil
	case errors.Is(err, object.ErrBadParts): // replaced since they were listed
		return "", fault.Wrap(err, fault.UploadIncomplete, "parts: some were sent again while the upload was being completed; "+
			"repeat the completion")
	}
	return etag, away(err)
}

// completing writes down what the file is about to be made of. Whatever is at the key of a package's file after this is the new
// one.
func (s *Service) completing(ctx context.Context, m multipart) error {
	return postgres.InTx(ctx, s.store.db, func(tx *sqlx.Tx) error {
		if !m.ProjectID.Valid {
			return completing(ctx, tx, m)
		}
		at := place{projectID: m.ProjectID.String, logicalPath: m.LogicalPath.String}
		return s.replace(ctx, tx, m.AccountID, at, m.StorageKey, func() error {
			if err := withdraw(ctx, tx, m.StorageKey); err != nil {
				return err
			}
			return completing(ctx, tx, m)
		})
	})
}

// resume makes sure that what is at the key is this upload's: of a project's path another may have taken the place.
func (s *Service) resume(ctx context.Context, m multipart) error {
	replaced, err := s.store.holdsKey(ctx, m.StorageKey)
	if err != nil || !replaced {
		return err
	}
	return errors.Join(s.store.setState(ctx, m, stateExpired), errExpired)
}

// compare holds what the store has against the plan and against what the client says it sent.
func (m multipart) compare(parts []object.Part, request contract.MultipartCompleteRequest) error {
	missing := []int{}
	stored := make(map[int]object.Part, len(parts))
	for _, part := range parts {
		stored[part.Number] = part
	}
	for number := 1; number <= m.PartCount; number++ {
		if stored[number].ByteSize != m.plan().sizeOf(number, m.ByteSize) {
			missing = append(missing, number)
		}
	}
	if err := m.incomplete("not there in full", missing); err != nil {
		return err
	}
	for i, part := range request.Parts {
		there := stored[part.PartNumber]
		if etag := strings.Trim(part.ETag, `"`); etag != "" && etag != there.ETag {
			return fault.New(fault.Validation, "parts[%d].etag: is not that of the stored part; send the part again, or name the "+
				"ETag of its last PUT", i)
		}
		if sum := hexOf(part.ChecksumSHA256); there.SHA256 != "" && sum != "" && sum != there.SHA256 {
			return fault.New(fault.ChecksumMismatch, "parts[%d].checksumSha256: is not that of the stored part; send the "+
				"part again", i)
		}
	}
	return nil
}

// integrityOf tells what the parts were held against: by their SHA-256 only when the store says so of every one.
func integrityOf(m multipart, parts []object.Part) string {
	for _, part := range parts {
		if !m.Checksummed || part.SHA256 == "" {
			return integritySize
		}
	}
	return integrityParts
}

// finish verifies the object and makes it the account's file.
func (s *Service) finish(ctx context.Context, m multipart, etag string) (contract.MultipartCompleteResponse, error) {
	info, err := s.verify(ctx, m)
	var mismatch *object.MismatchError
	switch {
	case errors.Is(err, object.ErrNotFound):
		return contract.MultipartCompleteResponse{}, errors.Join(s.store.setState(ctx, m, stateExpired), errExpired)
	case errors.As(err, &mismatch):
		if err := s.objects.Delete(ctx, m.StorageKey); err != nil {
			return contract.MultipartCompleteResponse{}, away(err)
		}
		if err := s.store.setState(ctx, m, stateFailed); err != nil {
			return contract.MultipartCompleteResponse{}, err
		}
		return contract.MultipartCompleteResponse{}, errNotAsStated
	case err != nil:
		return contract.MultipartCompleteResponse{}, away(err)
	}
	answer := contract.MultipartCompleteResponse{
		Key: m.StorageKey, Size: info.ByteSize, Verified: true, Integrity: m.Integrity.String, Provider: provider, ETag: etag,
	}
	if m.Answer, err = json.Marshal(answer); err != nil {
		return contract.MultipartCompleteResponse{}, fmt.Errorf("writing the answer of upload %s: %w", m.ID, err)
	}
	now := s.now().UTC()
	return answer, s.store.complete(ctx, m, upload{
		StorageKey: m.StorageKey, AccountID: m.AccountID, Filename: m.Filename, ContentType: m.ContentType, ByteSize: m.ByteSize,
		SHA256: m.SHA256, ProjectID: m.ProjectID, LogicalPath: m.LogicalPath, CreatedAt: now, ExpiresAt: now,
		ArrivedAt: sql.NullTime{Time: now, Valid: true},
	})
}

// verify holds the object against the announced size and the stated SHA-256. Errors: object.MismatchError.
func (s *Service) verify(ctx context.Context, m multipart) (object.Info, error) {
	info, err := s.objects.Head(ctx, m.StorageKey)
	if err == nil && info.ByteSize == m.ByteSize && m.SHA256.Valid {
		info, err = s.objects.Measure(ctx, m.StorageKey)
	}
	if err != nil {
		return info, err
	}
	if info.ByteSize != m.ByteSize || m.SHA256.Valid && info.SHA256 != m.SHA256.String {
		return info, &object.MismatchError{
			Key: m.StorageKey, WantSHA256: m.SHA256.String, GotSHA256: info.SHA256, WantByteSize: m.ByteSize,
			GotByteSize: info.ByteSize,
		}
	}
	return info, nil
}
