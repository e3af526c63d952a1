package uploads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// onEach runs a test with a service on a schema and a bucket of its own, in every kind of object store.
func onEach(t *testing.T, test func(t *testing.T, s *Service, db *sqlx.DB)) {
	t.Helper()
	objecttest.OnEach(t, func(t *testing.T, objects *object.Store, _ object.Config) {
		db := pgtest.New(t)
		test(t, New(db, objects, time.Now), db)
	})
}

func newAccount(t *testing.T, db *sqlx.DB) string {
	t.Helper()
	accountID := id.New("acct_")
	db.MustExecContext(t.Context(), `INSERT INTO accounts (id, email, name, password_hash, created_at)
		VALUES ($1, $2, '', '', now())`, accountID, accountID+"@example.org")
	return accountID
}

// send sends body where an answer of Create says, with its headers, and returns the store's status.
func send(t *testing.T, to contract.UploadURLResponse, body string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), to.Method, to.UploadURL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range to.Headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestUploadArrives(t *testing.T) { onEach(t, testUploadArrives) }

func testUploadArrives(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	for _, sha := range []string{"", strings.ToUpper(digest("ATOM"))} {
		created, err := s.Create(t.Context(), account, contract.UploadURLRequest{Filename: "my receptor.pdb",
			ContentType: "chemical/x-pdb",
			Size:        4, SHA256: sha})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(created.S3Key, "accounts/"+account+"/uploads/upl_") ||
			!strings.HasSuffix(created.S3Key, "/my_receptor.pdb") {
			t.Errorf("key is %s", created.S3Key)
		}
		if created.Method != http.MethodPut || created.ExpiresIn != 3600 || created.Provider != "s3" {
			t.Errorf("got %+v", created)
		}
		if _, err := s.Owned(t.Context(), account, created.S3Key); !fault.Is(err, fault.NotFound) {
			t.Errorf("before the PUT: got %v, want %s", err, fault.NotFound)
		}
		if status := send(t, created, "ATOM"); status != http.StatusOK {
			t.Fatalf("PUT answered %d", status)
		}
		file, err := s.Owned(t.Context(), account, created.S3Key)
		if err != nil || file.ByteSize != 4 || file.StorageKey != created.S3Key || file.SHA256 != strings.ToLower(sha) {
			t.Errorf("after the PUT: got %+v, %v", file, err)
		}
	}
}

func TestStoreRefusesOtherBytes(t *testing.T) { onEach(t, testStoreRefusesOtherBytes) }

func testStoreRefusesOtherBytes(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	for _, c := range []struct{ name, body, sha string }{
		{"too long", "ATOMS", ""},
		{"too short", "ATO", ""},
		{"other bytes", "MOTA", digest("ATOM")},
	} {
		created, err := s.Create(t.Context(), account, contract.UploadURLRequest{Filename: "r.pdb", ContentType: "chemical/x-pdb",
			Size:   4,
			SHA256: c.sha})
		if err != nil {
			t.Fatal(err)
		}
		if status := send(t, created, c.body); status < 400 || status >= 500 {
			t.Errorf("%s: PUT answered %d, want a refusal", c.name, status)
		}
		if _, err := s.Owned(t.Context(), account, created.S3Key); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: got %v, want %s", c.name, err, fault.NotFound)
		}
	}
}

func TestOwnedTellsForeignFromAbsentToNobody(t *testing.T) {
	onEach(t, testOwnedTellsForeignFromAbsentToNobody)
}

func testOwnedTellsForeignFromAbsentToNobody(t *testing.T, s *Service, db *sqlx.DB) {
	mine, theirs := newAccount(t, db), newAccount(t, db)
	created, err := s.Create(t.Context(), theirs, contract.UploadURLRequest{Filename: "r.pdb", ContentType: "chemical/x-pdb",
		Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	if status := send(t, created, "ATOM"); status != http.StatusOK {
		t.Fatalf("PUT answered %d", status)
	}
	// An object of the right namespace that no upload announced is not owned either.
	stray := namespace(mine) + "upl_0/stray.pdb"
	if _, err := s.objects.Put(t.Context(), stray, bytes.NewReader([]byte("ATOM")), "text/plain", ""); err != nil {
		t.Fatal(err)
	}
	_, absent := s.Owned(t.Context(), mine, namespace(mine)+"upl_1/absent.pdb")
	for _, key := range []string{created.S3Key, stray, "", "accounts/", namespace(theirs)} {
		if _, err := s.Owned(t.Context(), mine, key); err == nil || err.Error() != absent.Error() ||
			!fault.Is(err, fault.NotFound) {
			t.Errorf("%s: got %v, want %v", key, err, absent)
		}
	}
	if _, err := s.Owned(t.Context(), theirs, created.S3Key); err != nil {
		t.Errorf("the owner: got %v", err)
	}
}

func TestOwnedAllFindsMany(t *testing.T) { onEach(t, testOwnedAllFindsMany) }

func testOwnedAllFindsMany(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	var keys []string
	for range 3 * maxHeads {
		u := upload{StorageKey: storageKey(account, id.New("upl_"), "l.sdf"), AccountID: account, Filename: "l.sdf",
			ContentType: "text/plain", ByteSize: 4, CreatedAt: time.Now(), ExpiresAt: time.Now()}
		if err := put(t.Context(), s.store.db, u); err != nil {
			t.Fatal(err)
		}
		if len(keys)%2 == 0 {
			if _, err := s.objects.Put(t.Context(), u.StorageKey, bytes.NewReader([]byte("ATOM")), "text/plain", ""); err != nil {
				t.Fatal(err)
			}
		}
		keys = append(keys, u.StorageKey)
	}
	found, err := s.OwnedAll(t.Context(), account, keys)
	if err != nil || len(found) != len(keys)/2 {
		t.Errorf("got %d files, %v; want %d", len(found), err, len(keys)/2)
	}
	for i, key := range keys {
		if _, ok := found[key]; ok != (i%2 == 0) {
			t.Errorf("file %d: found = %v", i, ok)
		}
	}
}

func TestStoreAwayIsSaidSo(t *testing.T) {
	t.Parallel()
	gateway, _ := objecttest.Private(t)
	db := pgtest.New(t)
	objects, err := object.New(gateway.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := New(db, objects, time.Now)
	account := newAccount(t, db)
	created, err := s.Create(t.Context(), account, contract.UploadURLRequest{Filename: "r.pdb", ContentType: "chemical/x-pdb",
		Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	begun := begin(t, s, account, contract.MultipartInitRequest{Size: 4})
	if err := gateway.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	inProject := contract.UploadURLRequest{Filename: "r.pdb", ContentType: "chemical/x-pdb", Size: 4, ProjectID: testProject,
		LogicalPath: "r.pdb"}
	calls := map[string]func() error{
		"Owned":  func() error { _, err := s.Owned(t.Context(), account, created.S3Key); return err },
		"Create": func() error { _, err := s.Create(t.Context(), account, inProject); return err },
		"Init": func() error {
			_, err := s.Init(t.Context(), account, contract.MultipartInitRequest{Size: 4})
			return err
		},
		"Status":   func() error { _, err := s.Status(t.Context(), account, begun.UploadID); return err },
		"Complete": func() error { _, err := s.Complete(t.Context(), account, begun.UploadID, listed(1)); return err },
		"Abort":    func() error { return s.Abort(t.Context(), account, begun.UploadID) },
	}
	for name, call := range calls {
		if err := call(); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s = %v, want %s", name, err, fault.ProviderUnavailable)
		}
	}
}
