package docking

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

const (
	// verifyEvery is how often a file is looked at: often enough for whoever is about to use it, seldom enough that reading a
	// page of files again costs nothing.
	verifyEvery = time.Hour
	// verifyPatience bounds one look, of which the reading of a file without a digest of the store's own is the longest.
	verifyPatience = 30 * time.Second
	// downloadLifetime is how long an address of a file is good: long enough to begin a download, short enough that a leaked one
	// is soon worthless.
	downloadLifetime = 15 * time.Minute
)

// States of a verification.
const (
	verificationPending  = "PENDING"
	verificationVerified = "VERIFIED"
	verificationFailed   = "FAILED"
)

// Artifact reads a file of one of the account's docking jobs, and looks whether it still is what its digest says, at most once an
// hour. Errors: fault.NotFound.
func (s *Service) Artifact(ctx context.Context, accountID, id string) (contract.DockingArtifact, error) {
	row, err := s.verified(ctx, accountID, id)
	if err != nil {
		return contract.DockingArtifact{}, err
	}
	return row.view(), nil
}

// Download gives a short-lived address of a file of one of the account's docking jobs. Errors: fault.NotFound;
// fault.ChecksumMismatch for a file that is gone or has other bytes.
func (s *Service) Download(ctx context.Context, accountID, id string) (contract.DockingDownload, error) {
	row, err := s.verified(ctx, accountID, id)
	if err != nil {
		return contract.DockingDownload{}, err
	}
	if row.Failed {
		return contract.DockingDownload{}, fault.New(fault.ChecksumMismatch,
			"artifactId: the stored file is gone, or is not what its "+
				"SHA-256 says; run the docking again (POST …/runs/{id}/reproduce)")
	}
	url, err := s.deps.Objects.PresignGet(ctx, row.StorageKey, path.Base(row.Name), downloadLifetime)
	if err != nil {
		return contract.DockingDownload{}, fmt.Errorf("signing artifact %s: %w", id, err)
	}
	return contract.DockingDownload{URL: url, ExpiresAt: s.deps.Now().UTC().Add(downloadLifetime).Truncate(time.Second),
		Artifact: row.view()}, nil
}

// verified reads a file with the outcome of a look at it that is no older than verifyEvery. While the store is away there is none.
func (s *Service) verified(ctx context.Context, accountID, id string) (artifactRow, error) {
	if err := checkID("art_", "artifact", id); err != nil {
		return artifactRow{}, err
	}
	row, err := s.store.artifact(ctx, accountID, id, string(engines.RoleIntermediate))
	if err != nil {
		return artifactRow{}, err
	}
	now := s.deps.Now().UTC().Truncate(time.Microsecond) // as it comes back from the database
	if row.VerifiedAt.Valid && now.Sub(row.VerifiedAt.Time) < verifyEvery {
		return row, nil
	}
	sound, err := s.sound(ctx, row)
	if err != nil {
		if ctx.Err() != nil {
			return artifactRow{}, ctx.Err()
		}
		s.deps.Log.Warn("an artifact could not be verified", "artifact", id, "error", err)
		row.VerifiedAt, row.Failed = sql.NullTime{}, false
		return row, nil
	}
	row.VerifiedAt, row.Failed = sql.NullTime{Time: now, Valid: true}, !sound
	return row, s.store.noteVerification(ctx, id, now, row.Failed)
}

// sound asks the store whether a file has the bytes that it had when it was made: by the store's own digest where it keeps one,
// else by reading the file. Errors: those that say nothing about the file.
func (s *Service) sound(ctx context.Context, row artifactRow) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyPatience)
	defer cancel()
	info, err := s.deps.Objects.Head(ctx, row.StorageKey)
	if err == nil && info.SHA256 == "" && info.ByteSize == row.ByteSize {
		info, err = s.deps.Objects.Measure(ctx, row.StorageKey)
	}
	switch {
	case errors.Is(err, object.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return info.ByteSize == row.ByteSize && info.SHA256 == row.SHA256, nil
}
