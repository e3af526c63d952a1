package uploads

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

// wantFull checks a refusal for want of room.
func wantFull(t *testing.T, err error, inMessage string) {
	t.Helper()
	if !fault.Is(err, fault.Validation) || !strings.Contains(err.Error(), inMessage) {
		t.Errorf("got %v, want %s with %q", err, fault.Validation, inMessage)
	}
}

func single(size int64) contract.UploadURLRequest {
	return contract.UploadURLRequest{Filename: "l.sdf", ContentType: "text/plain", Size: size}
}

func TestFilesBeyondTheQuota(t *testing.T) { onEach(t, testFilesBeyondTheQuota) }

func testFilesBeyondTheQuota(t *testing.T, s *Service, db *sqlx.DB) {
	account, other := newAccount(t, db), newAccount(t, db)
	s.Bound(Quota{Bytes: 100, Objects: 4})
	ctx := t.Context()
	_, err := s.Init(ctx, account, contract.MultipartInitRequest{Filename: "huge.dcd", ContentType: "application/octet-stream",
		Size: object.MaxMultipartBytes})
	wantFull(t, err, "size: 5497558138880 bytes do not fit: the account's files may take 100 bytes together and take 0, 0 of "+
		"them in unfinished uploads")
	if _, err := s.Create(ctx, account, single(60)); err != nil { // an announced file counts
		t.Fatal(err)
	}
	begun := begin(t, s, account, contract.MultipartInitRequest{Size: 40}) // as does one on its way
	_, err = s.Create(ctx, account, single(1))
	wantFull(t, err, "take 100, 40 of them in unfinished uploads: abort uploads")
	if _, err := s.Create(ctx, other, single(100)); err != nil {
		t.Errorf("another account: %v", err)
	}
	if err := s.Abort(ctx, account, begun.UploadID); err != nil {
		t.Fatal(err)
	}
	begun = begin(t, s, account, contract.MultipartInitRequest{Size: 3})
	if got, err := s.Usage(ctx, account); err != nil || got != (Usage{Bytes: 63, Objects: 2, UnfinishedBytes: 3}) {
		t.Errorf("usage %+v, %v", got, err)
	}
	parts := sendAll(t, begun, tail)
	s.Bound(Quota{Bytes: 50, Objects: 4}) // the operator has less room by now
	_, err = s.Complete(ctx, account, begun.UploadID, parts)
	wantFull(t, err, "size: 3 bytes do not fit")
	s.Bound(Quota{Bytes: 63, Objects: 2})
	if _, err := s.Complete(ctx, account, begun.UploadID, parts); err != nil {
		t.Errorf("a file that fits exactly: %v", err)
	}
	if got, err := s.Usage(ctx, account); err != nil || got != (Usage{Bytes: 63, Objects: 2}) {
		t.Errorf("usage %+v, %v", got, err)
	}
	s.Bound(Quota{Objects: 2})
	_, err = s.Create(ctx, account, single(1))
	wantFull(t, err, "size: there is no place for another file: the account may have 2 files and has 2")
	s.Bound(Quota{})
	if _, err := s.Create(ctx, account, single(1000)); err != nil {
		t.Errorf("without a quota: %v", err)
	}
}

// TestAReplacedFileTakesItsPlace: a file of a project that is written again does not count beside itself.
func TestAReplacedFileTakesItsPlace(t *testing.T) { onEach(t, testAReplacedFileTakesItsPlace) }

func testAReplacedFileTakesItsPlace(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	s.Bound(Quota{Bytes: 10, Objects: 1})
	request := single(8)
	request.ProjectID, request.LogicalPath = "0190b8a4-7d7c-7c3e-8f6b-2f1d6c0a9e11", "a.sdf"
	for _, size := range []int64{8, 10} {
		request.Size = size
		if _, err := s.Create(t.Context(), account, request); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	request.Size = 11
	_, err := s.Create(t.Context(), account, request)
	wantFull(t, err, "size: 11 bytes do not fit")
	if got, err := s.Usage(t.Context(), account); err != nil || got != (Usage{Bytes: 10, Objects: 1}) {
		t.Errorf("a refused file has changed what is there: %+v, %v", got, err)
	}
}

// TestManyAtOnceKeepToTheQuota: of twenty files at the same moment as many are taken as fit.
func TestManyAtOnceKeepToTheQuota(t *testing.T) { onEach(t, testManyAtOnceKeepToTheQuota) }

func testManyAtOnceKeepToTheQuota(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	s.Bound(Quota{Bytes: 70, Objects: 1000})
	var group sync.WaitGroup
	refused := make([]bool, 20)
	for i := range refused {
		group.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = s.Create(t.Context(), account, single(10))
			} else {
				_, err = s.Init(t.Context(), account, contract.MultipartInitRequest{Filename: "a", ContentType: "text/plain",
					Size: 10})
			}
			if refused[i] = fault.Is(err, fault.Validation); err != nil && !refused[i] {
				t.Errorf("file %d: %v", i, err)
			}
		})
	}
	group.Wait()
	got, err := s.Usage(t.Context(), account)
	if err != nil || got.Bytes != 70 || got.Objects != 7 {
		t.Errorf("usage %+v, %v; want 70 bytes in 7 files", got, err)
	}
}

// TestAnAccountThatWaitsKeepsNobodyOut: while another instance keeps an account's quota locked, the account's files wait
// without the connections that others need, and are refused after a while.
func TestAnAccountThatWaitsKeepsNobodyOut(t *testing.T) {
	onEach(t, testAnAccountThatWaitsKeepsNobodyOut)
}

func testAnAccountThatWaitsKeepsNobodyOut(t *testing.T, s *Service, db *sqlx.DB) {
	account, other := newAccount(t, db), newAccount(t, db)
	s.Bound(Quota{Bytes: 1 << 40, Objects: 1 << 20})
	db.SetMaxOpenConns(4)
	elsewhere, err := db.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := lockQuota(t.Context(), elsewhere, account); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range maxWaiting + 6 {
		group.Go(func() {
			if _, err := s.Create(t.Context(), account, single(1)); !fault.Is(err, fault.RateLimited) {
				t.Errorf("got %v, want %s", err, fault.RateLimited)
			}
		})
	}
	begun := time.Now()
	for begun := time.Now(); time.Since(begun) < time.Second; { // all of them come meanwhile
		if _, err := s.Create(t.Context(), other, single(1)); err != nil {
			t.Fatalf("another account: %v", err)
		}
	}
	if used := db.Stats().InUse; used > 2 {
		t.Errorf("%d connections are taken, want the lock's and one that waits for it", used)
	}
	if took := time.Since(begun); took > 1800*time.Millisecond {
		t.Errorf("another account's files took %s", took)
	}
	group.Wait()
	if took := time.Since(begun); took > 2*turnPatience {
		t.Errorf("the refusals took %s", took)
	}
	if err := elsewhere.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), account, single(1)); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

// TestAnnouncedFilesThatNeverCome are forgotten when their URL has long expired; those that came stay.
func TestAnnouncedFilesThatNeverCome(t *testing.T) { onEach(t, testAnnouncedFilesThatNeverCome) }

func testAnnouncedFilesThatNeverCome(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	if _, err := s.Create(t.Context(), account, single(60)); err != nil {
		t.Fatal(err)
	}
	came, err := s.Create(t.Context(), account, single(3))
	if err != nil {
		t.Fatal(err)
	}
	if status := send(t, came, tail); status != 200 {
		t.Fatalf("PUT answered %d", status)
	}
	sweep(t, after(s, urlLifetime+unseenGrace-time.Minute), Swept{})
	late := after(s, urlLifetime+unseenGrace+time.Minute)
	sweep(t, late, Swept{Unseen: 1})
	sweep(t, late, Swept{})
	if got, err := s.Usage(t.Context(), account); err != nil || got != (Usage{Bytes: 3, Objects: 1}) {
		t.Errorf("usage %+v, %v", got, err)
	}
	if _, err := s.Owned(t.Context(), account, came.S3Key); err != nil {
		t.Errorf("the file that came: %v", err)
	}
}
