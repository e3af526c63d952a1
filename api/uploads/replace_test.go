package uploads

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// wantWhole fails the test unless a file is found and is what was stored.
func wantWhole(t *testing.T, s *Service, account, key, body string) {
	t.Helper()
	if info, err := s.objects.Measure(t.Context(), key); err != nil || info.SHA256 != digest(body) {
		t.Errorf("the earlier file is %+v, %v", info, err)
	}
	if file, err := s.Owned(t.Context(), account, key); err != nil || file.ByteSize != int64(len(body)) {
		t.Errorf("the earlier file is found as %+v, %v", file, err)
	}
}

// TestARefusedFileReplacesNothing: a file of a package that is refused for its account's turn or quota leaves the earlier one
// whole.
func TestARefusedFileReplacesNothing(t *testing.T) { onEach(t, testARefusedFileReplacesNothing) }

func testARefusedFileReplacesNothing(t *testing.T, s *Service, db *sqlx.DB) {
	s.Bound(Quota{Bytes: 10, Objects: 10})
	account := newAccount(t, db)
	key := storeInProject(t, s, account, "scene.blend", "old")
	turn, err := s.turns.Take(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), account, inProject("scene.blend", "newer")); !fault.Is(err, fault.RateLimited) {
		t.Errorf("without a turn: got %v, want %s", err, fault.RateLimited)
	}
	turn()
	wantWhole(t, s, account, key, "old")

	account = newAccount(t, db)
	key = storeInProject(t, s, account, "scene.blend", "old")
	elsewhere, err := db.BeginTxx(t.Context(), nil)
	if err == nil {
		err = lockQuota(t.Context(), elsewhere, account)
	}
	var holder int
	if err == nil {
		err = elsewhere.GetContext(t.Context(), &holder, `SELECT pg_backend_pid()`)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := s.Create(t.Context(), account, inProject("scene.blend", "newer"))
		refused <- err
	}()
	for waits := false; !waits; {
		if err := db.GetContext(t.Context(), &waits, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE $1 = ANY (pg_blocking_pids(pid)))`, holder); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere.MustExecContext(t.Context(), `INSERT INTO uploads (storage_key, account_id, filename, content_type, byte_size,
		created_at,
		expires_at) VALUES ('accounts/' || $1 || '/uploads/upl_other/f', $1, 'f', 'text/plain', 6, now(), now())`, account)
	if err := elsewhere.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-refused; !fault.Is(err, fault.Validation) {
		t.Errorf("beyond the quota: got %v, want %s", err, fault.Validation)
	}
	wantWhole(t, s, account, key, "old")
}

// keeping is a front of an object store that refuses to delete while it is told so.
func keeping(t *testing.T, cfg object.Config) (*object.Store, *atomic.Bool) {
	t.Helper()
	address, err := url.Parse(cfg.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	refuses, behind := new(atomic.Bool), httputil.NewSingleHostReverseProxy(address) // with the host that was signed
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && refuses.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	cfg.Endpoint = front.URL
	objects, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return objects, refuses
}

// TestAStoreThatDeletesNothingReplacesNothing: when the earlier file of a path cannot be deleted, it stays one.
func TestAStoreThatDeletesNothingReplacesNothing(t *testing.T) {
	t.Parallel()
	_, cfg := objecttest.New(t)
	objects, refuses := keeping(t, cfg)
	db := pgtest.New(t)
	s := New(db, objects, time.Now).Bound(Quota{Bytes: 100, Objects: 10})
	account := newAccount(t, db)
	key := storeInProject(t, s, account, "scene.blend", "old")
	begun, err := s.Init(t.Context(), account, contract.MultipartInitRequest{Filename: "f", ContentType: "text/plain", Size: 3,
		ProjectID: testProject, LogicalPath: "scene.blend"})
	if err != nil {
		t.Fatal(err)
	}
	parts := sendAll(t, begun, "new")
	refuses.Store(true)
	if _, err := s.Create(t.Context(), account, inProject("scene.blend", "newer")); !fault.Is(err, fault.ProviderUnavailable) {
		t.Errorf("Create = %v, want %s", err, fault.ProviderUnavailable)
	}
	if _, err := s.Complete(t.Context(), account, begun.UploadID, parts); !fault.Is(err, fault.ProviderUnavailable) {
		t.Errorf("Complete = %v, want %s", err, fault.ProviderUnavailable)
	}
	var removing bool
	if err := db.GetContext(t.Context(), &removing, `SELECT removing FROM uploads WHERE storage_key = $1`, key); err != nil ||
		removing {
		t.Errorf("the earlier file is being removed: %t, %v", removing, err)
	}
	refuses.Store(false)
	if _, err := s.Complete(t.Context(), account, begun.UploadID, parts); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, s, account, key, "new")
}
