package object_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

const pdbqt = "chemical/x-pdbqt"

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// put stores content under key and fails the test when that fails.
func put(t *testing.T, store *object.Store, key, content string) {
	t.Helper()
	if _, err := store.Put(t.Context(), key, strings.NewReader(content), pdbqt, ""); err != nil {
		t.Fatal(err)
	}
}

// content reads an object to its end.
func content(t *testing.T, store *object.Store, key string) string {
	t.Helper()
	body, _, err := store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := object.New(object.Config{Endpoint: "http://127.0.0.1", Region: "x", Bucket: "b", AccessKey: "a"})
	if err == nil || !strings.Contains(err.Error(), "secret key") {
		t.Errorf("New without a secret key = %v, want an error that names it", err)
	}
}

func TestPutHeadGet(t *testing.T) { objecttest.OnEach(t, testPutHeadGet) }

func testPutHeadGet(t *testing.T, store *object.Store, _ object.Config) {
	for _, c := range []struct{ key, content, stated string }{
		{"acct_1/receptor.pdbqt", "ATOM", digest("ATOM")},
		{"acct_1/not stated", "ATOM", ""},
		{"acct_1/empty", "", digest("")},
		{"acct_1/ünï+cøde %20&?.txt", "odd name", ""},
	} {
		info, err := store.Put(t.Context(), c.key, strings.NewReader(c.content), pdbqt, c.stated)
		if want := digest(c.content); err != nil || info.SHA256 != want || info.ByteSize != int64(len(c.content)) {
			t.Errorf("Put(%q) = %+v, %v; want %d bytes with SHA-256 %s", c.key, info, err, len(c.content), want)
		}
		head, err := store.Head(t.Context(), c.key)
		if err != nil || head.SHA256 != info.SHA256 || head.ByteSize != info.ByteSize || head.ContentType != pdbqt ||
			head.Key != c.key {
			t.Errorf("Head(%q) = %+v, %v; want what Put gave, %+v", c.key, head, err, info)
		}
		if age := time.Since(head.ModifiedAt); age < -time.Minute || age > time.Minute {
			t.Errorf("Head(%q) says modified at %v", c.key, head.ModifiedAt)
		}
		if got := content(t, store, c.key); got != c.content {
			t.Errorf("Get(%q) = %q, want %q", c.key, got, c.content)
		}
	}
}

func TestPutReplaces(t *testing.T) { objecttest.OnEach(t, testPutReplaces) }

func testPutReplaces(t *testing.T, store *object.Store, _ object.Config) {
	put(t, store, "key", "first, which is longer")
	put(t, store, "key", "second")
	if got := content(t, store, "key"); got != "second" {
		t.Errorf("Get = %q, want %q", got, "second")
	}
}

func TestPutBeginsWhereTheReaderStands(t *testing.T) {
	objecttest.OnEach(t, testPutBeginsWhereTheReaderStands)
}

func testPutBeginsWhereTheReaderStands(t *testing.T, store *object.Store, _ object.Config) {
	body := strings.NewReader("headbody")
	if _, err := body.Seek(4, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), "key", body, pdbqt, digest("body")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, store, "key"); got != "body" {
		t.Errorf("Get = %q, want %q", got, "body")
	}
}

func TestPutRefusesOtherBytes(t *testing.T) { objecttest.OnEach(t, testPutRefusesOtherBytes) }

func testPutRefusesOtherBytes(t *testing.T, store *object.Store, _ object.Config) {
	put(t, store, "key", "old")
	_, err := store.Put(t.Context(), "key", strings.NewReader("new"), pdbqt, digest("stated"))
	mismatch := (*object.MismatchError)(nil)
	if !errors.As(err, &mismatch) || mismatch.WantSHA256 != digest("stated") {
		t.Errorf("Put of other bytes = %v, want a MismatchError", err)
	}
	if got := content(t, store, "key"); got != "old" {
		t.Errorf("after a refused Put: %q, want %q", got, "old")
	}
	if _, err := store.Put(t.Context(), "key", strings.NewReader("new"), pdbqt, "abc"); err == nil {
		t.Error("Put with a digest that is none = nil, want an error")
	}
}

func TestPutFileAndGetFile(t *testing.T) { objecttest.OnEach(t, testPutFileAndGetFile) }

func testPutFileAndGetFile(t *testing.T, store *object.Store, _ object.Config) {
	dir := t.TempDir()
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB: more than any buffer on the way
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, large, 0o600); err != nil {
		t.Fatal(err)
	}
	want := digest(string(large))
	if _, err := store.PutFile(t.Context(), "large", in, pdbqt, want); err != nil {
		t.Fatal(err)
	}
	info, err := store.GetFile(t.Context(), "large", out, want, int64(len(large)))
	if err != nil || info.SHA256 != want {
		t.Fatalf("GetFile = %+v, %v; want SHA-256 %s", info, err, want)
	}
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, large) {
		t.Errorf("the file has %d bytes, %v; want the %d put", len(got), err, len(large))
	}
	if info, err := store.GetFile(t.Context(), "large", out, "", -1); err != nil || info.SHA256 != want {
		t.Errorf("GetFile of unstated content = %+v, %v; want SHA-256 %s", info, err, want)
	}
}

func TestGetFileLeavesNothingWrong(t *testing.T) { objecttest.OnEach(t, testGetFileLeavesNothingWrong) }

func testGetFileLeavesNothingWrong(t *testing.T, store *object.Store, _ object.Config) {
	put(t, store, "key", "ATOM")
	for _, c := range []struct {
		name, key, sha256 string
		size              int64
		want              func(error) bool
	}{
		{"other digest", "key", digest("HETATM"), 4, func(err error) bool {
			mismatch := (*object.MismatchError)(nil)
			return errors.As(err, &mismatch) && mismatch.GotSHA256 == digest("ATOM")
		}},
		{"other size", "key", digest("ATOM"), 5, func(err error) bool {
			mismatch := (*object.MismatchError)(nil)
			return errors.As(err, &mismatch) && mismatch.GotByteSize == 4
		}},
		{"no object", "other", "", -1, func(err error) bool { return errors.Is(err, object.ErrNotFound) }},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		if _, err := store.GetFile(t.Context(), c.key, path, c.sha256, c.size); !c.want(err) {
			t.Errorf("%s: GetFile = %v", c.name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%s: GetFile left %v, %v; want nothing", c.name, left, err)
		}
	}
}

func TestAbsentObject(t *testing.T) { objecttest.OnEach(t, testAbsentObject) }

func testAbsentObject(t *testing.T, store *object.Store, _ object.Config) {
	if _, err := store.Head(t.Context(), "absent"); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("Head = %v, want %v", err, object.ErrNotFound)
	}
	if _, _, err := store.Get(t.Context(), "absent"); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("Get = %v, want %v", err, object.ErrNotFound)
	}
	if err := store.Delete(t.Context(), "absent"); err != nil {
		t.Errorf("Delete = %v, want nil", err)
	}
}

func TestListAndDelete(t *testing.T) { objecttest.OnEach(t, testListAndDelete) }

func testListAndDelete(t *testing.T, store *object.Store, _ object.Config) {
	keys := []string{"a/1", "a/2", "a/deep/3", "ab/4", "b/5"}
	for _, key := range keys {
		put(t, store, key, key)
	}
	list := func(prefix string) (found []string) {
		for info, err := range store.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			if info.ByteSize != int64(len(info.Key)) {
				t.Errorf("List says %s has %d bytes, want %d", info.Key, info.ByteSize, len(info.Key))
			}
			found = append(found, info.Key)
		}
		return found
	}
	if got := list("a/"); !slices.Equal(got, keys[:3]) {
		t.Errorf("List(a/) = %q, want %q", got, keys[:3])
	}
	if err := store.Delete(t.Context(), "a/1"); err != nil {
		t.Fatal(err)
	}
	if deleted, err := store.DeletePrefix(t.Context(), "a/"); err != nil || deleted != 2 {
		t.Errorf("DeletePrefix(a/) = %d, %v; want 2", deleted, err)
	}
	if got := list(""); !slices.Equal(got, keys[3:]) {
		t.Errorf("after the deletions: %q, want %q", got, keys[3:])
	}
	if _, err := store.DeletePrefix(t.Context(), ""); err == nil {
		t.Error("DeletePrefix of an empty prefix = nil, want an error")
	}
}

func TestDeletePrefixOfManyPages(t *testing.T) { objecttest.OnEach(t, testDeletePrefixOfManyPages) }

func testDeletePrefixOfManyPages(t *testing.T, store *object.Store, _ object.Config) {
	const many = 1010
	for n := range many {
		put(t, store, fmt.Sprintf("job/%04d", n), "x")
	}
	if deleted, err := store.DeletePrefix(t.Context(), "job/"); err != nil || deleted != many {
		t.Errorf("DeletePrefix = %d, %v; want %d", deleted, err, many)
	}
	for info, err := range store.List(t.Context(), "job/") {
		t.Fatalf("left: %+v, %v", info, err)
	}
}

func TestEnsureBucketTwice(t *testing.T) { objecttest.OnEach(t, testEnsureBucketTwice) }

func testEnsureBucketTwice(t *testing.T, store *object.Store, cfg object.Config) {
	if err := store.EnsureBucket(t.Context()); err != nil {
		t.Errorf("second EnsureBucket = %v", err)
	}
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	cfg.Bucket = "no-such-bucket"
	stranger, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := stranger.Get(t.Context(), "key"); err == nil || errors.Is(err, object.ErrNotFound) ||
		!strings.Contains(err.Error(), cfg.Bucket) {
		t.Errorf("Get from a bucket that is not there = %v, want an error that names it", err)
	}
}

func TestWrongSecretIsNotUnavailable(t *testing.T) {
	objecttest.OnEach(t, testWrongSecretIsNotUnavailable)
}

func testWrongSecretIsNotUnavailable(t *testing.T, _ *object.Store, cfg object.Config) {
	cfg.SecretKey = "wrong"
	store, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Put(t.Context(), "key", strings.NewReader("x"), pdbqt, "")
	if err == nil || errors.Is(err, object.ErrUnavailable) || errors.Is(err, object.ErrNotFound) {
		t.Errorf("Put with a wrong secret = %v, want another error", err)
	}
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	gateway, _ := objecttest.Private(t)
	store, err := object.New(gateway.Config())
	if err != nil {
		t.Fatal(err)
	}
	put(t, store, "key", "ATOM")
	body, _, err := store.Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	if err := syscall.Kill(gateway.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-gateway.Done()

	calls := map[string]func(ctx context.Context) error{
		"Put": func(ctx context.Context) error {
			_, err := store.Put(ctx, "k", strings.NewReader("x"), pdbqt, "")
			return err
		},
		"Head": func(ctx context.Context) error { _, err := store.Head(ctx, "key"); return err },
		"GetFile": func(ctx context.Context) error {
			_, err := store.GetFile(ctx, "key", filepath.Join(t.TempDir(), "out"), "", -1)
			return err
		},
		"Delete":       func(ctx context.Context) error { return store.Delete(ctx, "key") },
		"DeletePrefix": func(ctx context.Context) error { _, err := store.DeletePrefix(ctx, "k"); return err },
		"Check":        store.Check,
		"EnsureBucket": store.EnsureBucket,
	}
	var group sync.WaitGroup
	for name, call := range calls {
		group.Go(func() {
			if err := call(t.Context()); !errors.Is(err, object.ErrUnavailable) {
				t.Errorf("%s = %v, want %v", name, err, object.ErrUnavailable)
			}
		})
	}
	group.Wait()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := calls["Head"](ended); !errors.Is(err, context.Canceled) || errors.Is(err, object.ErrUnavailable) {
		t.Errorf("Head with an ended context = %v, want %v alone", err, context.Canceled)
	}
}
