package uploads

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
)

// What an upload's integrity rests on (doc/contract.md §2.6).
const (
	integrityParts = "parts-sha256" // the store has held every part against its SHA-256
	integritySize  = "size"         // the bytes were counted
)

// checksumSHA256 is the one checksum algorithm for parts.
const checksumSHA256 = "sha256"

// multipartLifetime is how long an upload in parts may take: 5 TiB in a week is 73 Mbit/s. Then it is cleaned up.
const multipartLifetime = 7 * 24 * time.Hour

// Init begins an upload in parts. Nothing is at its key, and an earlier file of its project path stays, until Complete.
//
// Errors: as for Create.
func (s *Service) Init(
	ctx context.Context, accountID string, request contract.MultipartInitRequest,
) (contract.MultipartInitResponse, error) {
	at, err := placeOf(request.ProjectID, request.LogicalPath)
	if err != nil {
		return contract.MultipartInitResponse{}, err
	}
	now, plan, uploadID := s.now().UTC(), planParts(request.Size, request.PartSize), id.New("upl_")
	m := multipart{
		ID: uploadID, AccountID: accountID, StorageKey: keyFor(accountID, uploadID, request.Filename, at),
		Filename: request.Filename, ContentType: request.ContentType, ByteSize: request.Size, SHA256: stated(request.SHA256),
		ProjectID: nullable(at.projectID), LogicalPath: nullable(at.logicalPath),
		PartBytes: plan.partBytes, PartCount: plan.partCount, Checksummed: request.ChecksumAlgorithm != "", State: stateOpen,
		CreatedAt: now, ExpiresAt: now.Add(multipartLifetime),
	}
	if at != (place{}) {
		if err := s.checkPath(ctx, accountID, at, m.StorageKey); err != nil {
			return contract.MultipartInitResponse{}, err
		}
	}
	file := newFile{byteSize: m.ByteSize}
	if m.ProjectID.Valid {
		file.storageKey = m.StorageKey
	}
	if err := s.room(ctx, s.store.db, accountID, file); err != nil { // before the store is asked
		return contract.MultipartInitResponse{}, err
	}
	if m.StoreHandle, err = s.objects.StartMultipart(ctx, m.StorageKey, m.ContentType, m.Checksummed); err != nil {
		return contract.MultipartInitResponse{}, away(err)
	}
	err = s.reserve(ctx, accountID, file, func(tx *sqlx.Tx) error { return insertMultipart(ctx, tx, m) })
	if err != nil {
		return contract.MultipartInitResponse{}, errors.Join(err, s.objects.AbortMultipart(context.WithoutCancel(ctx), m.StorageKey,
			m.StoreHandle))
	}
	return s.opened(ctx, m)
}

// checkPath refuses a path that replace would refuse, for a file that comes later.
func (s *Service) checkPath(ctx context.Context, accountID string, at place, storageKey string) error {
	crosses, err := crossing(ctx, s.store.db, accountID, at)
	if err != nil {
		return err
	}
	if crosses != "" {
		return errPathCrosses
	}
	files, err := s.store.find(ctx, accountID, []string{storageKey})
	if err != nil || len(files) == 0 || !files[0].UsedAt.Valid {
		return err
	}
	return s.checkUsed(ctx, storageKey)
}

// opened is the answer for a new upload, with the first page of URLs unless every one needs a checksum.
func (s *Service) opened(ctx context.Context, m multipart) (contract.MultipartInitResponse, error) {
	answer := contract.MultipartInitResponse{
		UploadID: m.ID, Key: m.StorageKey, PartSize: m.PartBytes, PartCount: m.PartCount, Parts: []contract.UploadPartURL{},
		Headers: map[string]string{}, ExpiresIn: int(urlLifetime / time.Second), Provider: provider,
	}
	if m.Checksummed {
		algorithm := checksumSHA256
		answer.ChecksumAlgorithm = &algorithm
		return answer, nil
	}
	for number := 1; number <= min(m.PartCount, pageParts); number++ {
		signed, err := s.sign(ctx, m, contract.UploadPartRequest{PartNumber: number})
		if err != nil {
			return contract.MultipartInitResponse{}, err
		}
		answer.Parts = append(answer.Parts, contract.UploadPartURL{PartNumber: number, URL: signed.URL})
		answer.Headers = signed.Headers // the same for every part
	}
	return answer, nil
}

// sign signs the PUT of one part.
func (s *Service) sign(ctx context.Context, m multipart, part contract.UploadPartRequest) (contract.UploadPartSigned, error) {
	url, headers, err := s.objects.PresignPart(ctx, m.StorageKey, m.StoreHandle, part.PartNumber,
		m.plan().sizeOf(part.PartNumber, m.ByteSize), hexOf(part.ChecksumSHA256), urlLifetime)
	if err != nil {
		return contract.UploadPartSigned{}, fmt.Errorf("signing part %d of upload %s: %w", part.PartNumber, m.ID, err)
	}
	return contract.UploadPartSigned{PartNumber: part.PartNumber, URL: url, Headers: headers}, nil
}

// SignParts gives out URLs for parts, for the first time or anew; a part may be sent again until the upload is complete.
//
// Errors: fault.NotFound, fault.UploadExpired, fault.Validation.
func (s *Service) SignParts(
	ctx context.Context, accountID, uploadID string, request contract.PartURLsRequest,
) (contract.PartURLsResponse, error) {
	m, err := s.store.multipart(ctx, accountID, uploadID)
	if err == nil {
		err = s.open(m)
	}
	if err == nil && m.State != stateOpen {
		err = fault.New(fault.Validation, "uploadId: this upload is complete and takes no more parts")
	}
	if err != nil {
		return contract.PartURLsResponse{}, err
	}
	seen := make(map[int]bool, len(request.Parts))
	for i, part := range request.Parts {
		if err := m.checkPart(i, part.PartNumber, part.ChecksumSHA256); err != nil {
			return contract.PartURLsResponse{}, err
		}
		if seen[part.PartNumber] {
			return contract.PartURLsResponse{}, fault.New(fault.Validation, "parts[%d].partNumber: every part may be named once", i)
		}
		seen[part.PartNumber] = true
	}
	answer := contract.PartURLsResponse{UploadID: m.ID, PartSize: m.PartBytes, PartCount: m.PartCount,
		ExpiresIn: int(urlLifetime / time.Second), Provider: provider}
	for _, part := range request.Parts {
		signed, err := s.sign(ctx, m, part)
		if err != nil {
			return contract.PartURLsResponse{}, err
		}
		answer.Parts = append(answer.Parts, signed)
	}
	return answer, nil
}

// Status says what has arrived, as the store tells it. Errors: fault.NotFound, fault.UploadExpired, fault.ProviderUnavailable.
func (s *Service) Status(ctx context.Context, accountID, uploadID string) (contract.MultipartStatus, error) {
	m, err := s.store.multipart(ctx, accountID, uploadID)
	if err == nil {
		err = s.open(m)
	}
	if err != nil {
		return contract.MultipartStatus{}, err
	}
	parts := m.recorded()
	if m.State == stateOpen {
		if parts, err = s.objects.Parts(ctx, m.StorageKey, m.StoreHandle); errors.Is(err, object.ErrNotFound) {
			// Completed or aborted a moment ago, or cleaned up by the store's own rules.
			if m, err = s.store.multipart(ctx, accountID, uploadID); err == nil && m.State == stateOpen {
				err = errExpired
			}
			parts = m.recorded()
		}
		if err != nil {
			return contract.MultipartStatus{}, away(err)
		}
	}
	return m.status(parts), nil
}

// status is the answer for an upload of which the store has these parts, ascending.
func (m multipart) status(parts []object.Part) contract.MultipartStatus {
	answer := contract.MultipartStatus{
		UploadID: m.ID, Key: m.StorageKey, PartSize: m.PartBytes, PartCount: m.PartCount,
		Received: []contract.UploadPartReceived{}, Missing: []int{}, Complete: m.State == stateCompleted, Provider: provider,
	}
	next := 1
	for _, part := range parts {
		for ; next < part.Number; next++ {
			answer.Missing = append(answer.Missing, next)
		}
		next = part.Number + 1
		answer.Received = append(answer.Received,
			contract.UploadPartReceived{PartNumber: part.Number, ETag: part.ETag, Size: part.ByteSize})
	}
	for ; next <= m.PartCount; next++ {
		answer.Missing = append(answer.Missing, next)
	}
	return answer
}

// recorded is what the file was made of, once that is settled.
func (m multipart) recorded() []object.Part {
	parts := make([]object.Part, len(m.PartETags))
	for i, etag := range m.PartETags {
		parts[i] = object.Part{Number: i + 1, ETag: etag, ByteSize: m.plan().sizeOf(i+1, m.ByteSize)}
	}
	return parts
}

// Abort ends an upload and frees its parts. It may be repeated; a completed upload has nothing left to abort, and its file
// stays. Errors: fault.NotFound, fault.ProviderUnavailable.
func (s *Service) Abort(ctx context.Context, accountID, uploadID string) error {
	m, err := s.store.multipart(ctx, accountID, uploadID)
	if err != nil || m.over() {
		return err
	}
	release, err := s.store.hold(ctx, s.short, m.StorageKey)
	if err != nil {
		return err
	}
	defer release()
	if m, err = s.store.multipart(ctx, accountID, uploadID); err != nil || m.over() {
		return err
	}
	return s.end(ctx, m, stateAborted)
}

// end frees what an upload has in the store. The caller holds the key's lock.
func (s *Service) end(ctx context.Context, m multipart, state string) error {
	if err := s.objects.AbortMultipart(ctx, m.StorageKey, m.StoreHandle); err != nil {
		return away(err)
	}
	if m.State == stateCompleting { // whoever completed it may have died after making the object
		known, err := s.store.holdsKey(ctx, m.StorageKey)
		if err != nil {
			return err
		}
		if !known {
			if err := s.objects.Delete(ctx, m.StorageKey); err != nil {
				return away(err)
			}
		}
	}
	return s.store.setState(ctx, m, state)
}

// over tells whether an upload has come to an end.
func (m multipart) over() bool { return m.State != stateOpen && m.State != stateCompleting }

var errExpired = fault.New(fault.UploadExpired, "uploadId: this upload is over without a file; begin a new one (POST /v1/uploads)")

// open says what speaks against working on an upload. One that is complete has not expired.
func (s *Service) open(m multipart) error {
	switch {
	case m.State == stateCompleted:
		return nil
	case m.State == stateAborted:
		return errNoUpload
	case m.State == stateExpired, m.State == stateFailed, !s.now().Before(m.ExpiresAt):
		return errExpired
	}
	return nil
}

// checkPart holds one part of a request against the upload; i is its place in the request.
func (m multipart) checkPart(i, number int, checksum string) error {
	switch {
	case number > m.PartCount:
		return fault.New(fault.Validation, "parts[%d].partNumber: is %d, but this upload has the parts 1 to %d", i, number,
			m.PartCount)
	case m.Checksummed && checksum == "":
		return fault.New(fault.Validation, "parts[%d].checksumSha256: is required, as the upload was begun with "+
			"checksumAlgorithm sha256", i)
	case !m.Checksummed && checksum != "":
		return fault.New(fault.Validation, "parts[%d].checksumSha256: is not allowed, as the upload was begun without "+
			"checksumAlgorithm", i)
	case checksum != "" && hexOf(checksum) == "":
		return fault.New(fault.Validation, "parts[%d].checksumSha256: must be the base64 of 32 bytes", i)
	}
	return nil
}

// hexOf turns the base64 of a SHA-256 into hex; what is none, or is written in more than one way, gives "".
func hexOf(checksum string) string {
	raw, err := base64.StdEncoding.Strict().DecodeString(checksum)
	if err != nil || len(raw) != 32 {
		return ""
	}
	return hex.EncodeToString(raw)
}
