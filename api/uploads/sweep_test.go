package uploads

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

// after returns another instance whose clock is ahead.
func after(s *Service, d time.Duration) *Service {
	return New(s.store.db, s.objects, func() time.Time { return time.Now().Add(d) })
}

func sweep(t *testing.T, s *Service, want Swept) {
	t.Helper()
	if got, err := s.Sweep(t.Context()); err != nil || got != want {
		t.Errorf("Sweep = %+v, %v; want %+v", got, err, want)
	}
}

func TestAbandonedUploadsAreAborted(t *testing.T) { onEach(t, testAbandonedUploadsAreAborted) }

func testAbandonedUploadsAreAborted(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	abandoned, completed := begin(t, s, account, twoParts()), begin(t, s, account, contract.MultipartInitRequest{Size: 3})
	request := sendAll(t, abandoned, full, tail)
	answer, err := s.Complete(t.Context(), account, completed.UploadID, sendAll(t, completed, tail))
	if err != nil {
		t.Fatal(err)
	}
	sweep(t, s, Swept{})
	late := after(s, multipartLifetime+time.Minute)
	for name, call := range map[string]func() error{
		"Status": func() error { _, err := late.Status(t.Context(), account, abandoned.UploadID); return err },
		"SignParts": func() error {
			_, err := late.SignParts(t.Context(), account, abandoned.UploadID,
				contract.PartURLsRequest{Parts: []contract.UploadPartRequest{{PartNumber: 1}}})
			return err
		},
		"Complete": func() error { _, err := late.Complete(t.Context(), account, abandoned.UploadID, request); return err },
	} {
		if err := call(); !fault.Is(err, fault.UploadExpired) {
			t.Errorf("%s when it has expired = %v, want %s", name, err, fault.UploadExpired)
		}
	}
	m, err := s.store.multipart(t.Context(), account, abandoned.UploadID)
	if err != nil {
		t.Fatal(err)
	}
	sweep(t, late, Swept{Aborted: 1})
	if _, err := s.objects.Parts(t.Context(), m.StorageKey, m.StoreHandle); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("after the sweep the store answers %v, want %v", err, object.ErrNotFound)
	}
	// The small part: a store may close the connection in the middle of a large body that it refuses.
	if status, _ := sendPart(t, abandoned.Parts[1].URL, nil, tail); status != http.StatusNotFound {
		t.Errorf("PUT after the sweep answered %d, want 404", status)
	}
	if again, err := late.Complete(t.Context(), account, completed.UploadID, listed(1)); err != nil || again != answer {
		t.Errorf("Complete of a completed upload that would have expired = %+v, %v; want %+v", again, err, answer)
	}
	if err := late.Abort(t.Context(), account, abandoned.UploadID); err != nil {
		t.Errorf("Abort of an expired upload = %v, want nil", err)
	}
	sweep(t, after(s, multipartLifetime+recordRetention+time.Hour), Swept{Removed: 1, Records: 2})
	if _, err := late.Status(t.Context(), account, abandoned.UploadID); !fault.Is(err, fault.NotFound) {
		t.Errorf("Status of a forgotten upload = %v, want %s", err, fault.NotFound)
	}
}

// TestHalfCompletedUploadIsCleanedUp sweeps what an instance left that died after the store made the object.
func TestHalfCompletedUploadIsCleanedUp(t *testing.T) { onEach(t, testHalfCompletedUpload) }

func testHalfCompletedUpload(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	begun := begin(t, s, account, contract.MultipartInitRequest{Size: 3})
	request := sendAll(t, begun, tail)
	m, err := s.store.multipart(t.Context(), account, begun.UploadID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.assemble(t.Context(), &m, request); err != nil {
		t.Fatal(err)
	}
	sweep(t, after(s, multipartLifetime+time.Minute), Swept{Aborted: 1})
	if _, err := s.objects.Head(t.Context(), begun.Key); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("the object that nobody owns: Head = %v, want %v", err, object.ErrNotFound)
	}
}

func TestUnusedFilesAreRemoved(t *testing.T) { onEach(t, testUnusedFilesAreRemoved) }

func testUnusedFilesAreRemoved(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	single := func(sent bool) string {
		created, err := s.Create(t.Context(), account, contract.UploadURLRequest{Filename: "r.pdb", ContentType: "text/plain",
			Size: 4})
		if err != nil {
			t.Fatal(err)
		}
		if sent && send(t, created, "ATOM") != http.StatusOK {
			t.Fatal("PUT was refused")
		}
		return created.S3Key
	}
	used, unused, unsent := single(true), single(true), single(false)
	scene, texture := storeInProject(t, s, account, "scene", "scene"), storeInProject(t, s, account, "wood", "wood")
	if found, err := s.OwnedAll(t.Context(), account, []string{used, scene, unsent}); err != nil || len(found) != 2 {
		t.Fatalf("OwnedAll = %v, %v", found, err)
	}
	sweep(t, after(s, FileRetention-time.Minute), Swept{Unseen: 1})
	late := after(s, FileRetention+time.Minute)
	sweep(t, late, Swept{Removed: 1})
	sweep(t, late, Swept{})
	if _, err := s.objects.Head(t.Context(), unused); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("the unused file: Head = %v, want %v", err, object.ErrNotFound)
	}
	if found, err := late.OwnedAll(t.Context(), account, []string{used, unused, unsent, scene, texture}); err != nil ||
		len(found) != 3 {
		t.Errorf("left are %v, %v; want the used file and the whole package", found, err)
	}
}

func TestOneInstanceSweeps(t *testing.T) { onEach(t, testOneInstanceSweeps) }

func testOneInstanceSweeps(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	begun := begin(t, s, account, contract.MultipartInitRequest{Size: 3})
	late := after(s, multipartLifetime+time.Minute)
	held, err := s.store.try(t.Context(), sweepLock)
	if err != nil || held == nil {
		t.Fatalf("the lock is %v, %v", held, err)
	}
	sweep(t, late, Swept{})
	held.release()
	// A file that a request works on is left for the next sweep.
	held, err = s.store.try(t.Context(), keyLock, begun.Key)
	if err != nil || held == nil {
		t.Fatalf("the lock is %v, %v", held, err)
	}
	sweep(t, late, Swept{})
	held.release()
	sweep(t, late, Swept{Aborted: 1})
}
