package uploads

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// inProject asks for a place in the test's project.
func inProject(logicalPath, body string) contract.UploadURLRequest {
	return contract.UploadURLRequest{Filename: "f", ContentType: "text/plain", Size: int64(len(body)),
		ProjectID: strings.ToUpper(testProject), LogicalPath: logicalPath}
}

// store puts a file into the test's project and returns its key.
func storeInProject(t *testing.T, s *Service, account, logicalPath, body string) string {
	t.Helper()
	created, err := s.Create(t.Context(), account, inProject(logicalPath, body))
	if err != nil {
		t.Fatal(err)
	}
	if status := send(t, created, body); status != http.StatusOK {
		t.Fatalf("PUT answered %d", status)
	}
	return created.S3Key
}

func TestPackageSharesAPrefix(t *testing.T) { onEach(t, testPackageSharesAPrefix) }

func testPackageSharesAPrefix(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	scene := storeInProject(t, s, account, "scene.blend", "scene")
	texture := storeInProject(t, s, account, "textures/wood grain ü+%20&?.png", "wood")
	want := namespace(account) + "projects/" + testProject + "/"
	if scene != want+"scene.blend" || texture != want+"textures/wood grain ü+%20&?.png" {
		t.Errorf("keys %q and %q, want both below %q", scene, texture, want)
	}
	begun, err := s.Init(t.Context(), account, contract.MultipartInitRequest{Filename: "f", ContentType: "text/plain", Size: 3,
		ProjectID: testProject, LogicalPath: "caches/sim.vdb"})
	if err != nil || begun.Key != want+"caches/sim.vdb" {
		t.Fatalf("Init = %+v, %v", begun, err)
	}
	if _, err := s.Complete(t.Context(), account, begun.UploadID, sendAll(t, begun, "sim")); err != nil {
		t.Fatal(err)
	}
	found, err := s.OwnedAll(t.Context(), account, []string{scene, texture, begun.Key})
	if err != nil || len(found) != 3 {
		t.Errorf("OwnedAll = %v, %v; want three files", found, err)
	}
	// Another account's project of the same id is another.
	if other := storeInProject(t, s, newAccount(t, db), "scene.blend", "other"); other == scene {
		t.Error("two accounts share a key")
	}
}

func TestSamePathReplacesUntilItIsUsed(t *testing.T) { onEach(t, testSamePathReplaces) }

func testSamePathReplaces(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	scene := storeInProject(t, s, account, "scene.blend", "first")
	texture := storeInProject(t, s, account, "wood.png", "wood")
	second, err := s.Create(t.Context(), account, inProject("scene.blend", "second"))
	if err != nil || second.S3Key != scene {
		t.Fatalf("Create again = %+v, %v; want the same key", second, err)
	}
	if _, err := s.Owned(t.Context(), account, scene); !fault.Is(err, fault.NotFound) {
		t.Errorf("between the two files: Owned = %v, want %s", err, fault.NotFound)
	}
	if status := send(t, second, "second"); status != http.StatusOK {
		t.Fatalf("PUT answered %d", status)
	}
	if file, err := s.Owned(t.Context(), account, scene); err != nil || file.ByteSize != 6 {
		t.Fatalf("Owned = %+v, %v; want the second file", file, err)
	}
	// From here on a submission refers to the scene, and so perhaps to its texture.
	if status := send(t, second, "secret"); status != http.StatusPreconditionFailed {
		t.Errorf("PUT to a file in use answered %d, want 412", status)
	}
	for _, logicalPath := range []string{"scene.blend", "wood.png"} {
		if _, err := s.Create(t.Context(), account, inProject(logicalPath, "third")); !fault.Is(err, fault.Validation) ||
			!strings.Contains(err.Error(), "logicalPath: a submitted job") {
			t.Errorf("Create of %s in use = %v, want %s", logicalPath, err, fault.Validation)
		}
		init := contract.MultipartInitRequest{Filename: "f", ContentType: "text/plain", Size: 3, ProjectID: testProject,
			LogicalPath: logicalPath}
		if _, err := s.Init(t.Context(), account, init); !fault.Is(err, fault.Validation) {
			t.Errorf("Init of %s in use = %v, want %s", logicalPath, err, fault.Validation)
		}
	}
	if info, err := s.objects.Measure(t.Context(), texture); err != nil || info.SHA256 != digest("wood") {
		t.Errorf("the texture is %+v, %v", info, err)
	}
	storeInProject(t, s, account, "new.png", "new") // new paths may come
}

// TestUseWinsOverALateCompletion submits the old file while the new one is on its way.
func TestUseWinsOverALateCompletion(t *testing.T) { onEach(t, testUseWinsOverALateCompletion) }

func testUseWinsOverALateCompletion(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	key := storeInProject(t, s, account, "scene.blend", "old")
	init := contract.MultipartInitRequest{Filename: "f", ContentType: "text/plain", Size: 3, ProjectID: testProject,
		LogicalPath: "scene.blend"}
	begun, err := s.Init(t.Context(), account, init)
	if err != nil {
		t.Fatal(err)
	}
	request := sendAll(t, begun, "new")
	if _, err := s.Owned(t.Context(), account, key); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Complete(t.Context(), account, begun.UploadID, request); !fault.Is(err, fault.Validation) ||
		!strings.Contains(err.Error(), "logicalPath") {
		t.Errorf("Complete over a file in use = %v, want %s", err, fault.Validation)
	}
	if info, err := s.objects.Measure(t.Context(), key); err != nil || info.SHA256 != digest("old") {
		t.Errorf("the file in use is %+v, %v", info, err)
	}
}

func TestPathIsNotFileAndDirectory(t *testing.T) { onEach(t, testPathIsNotFileAndDirectory) }

func testPathIsNotFileAndDirectory(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	storeInProject(t, s, account, "a/b", "x")
	for logicalPath, allowed := range map[string]bool{"a": false, "a/b/c": false, "a/b/c/d": false, "a/bc": true, "a/c": true,
		"ab": true} {
		_, err := s.Create(t.Context(), account, inProject(logicalPath, "x"))
		if allowed && err != nil || !allowed && (!fault.Is(err, fault.Validation) ||
			!strings.Contains(err.Error(), "logicalPath")) {
			t.Errorf("%s beside a/b: Create = %v, want allowed %v", logicalPath, err, allowed)
		}
	}
}

func TestUnsentPathMayBeAskedForAgain(t *testing.T) { onEach(t, testUnsentPathMayBeAskedForAgain) }

func testUnsentPathMayBeAskedForAgain(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	scene := storeInProject(t, s, account, "scene.blend", "scene")
	if _, err := s.Create(t.Context(), account, inProject("wood.png", "wood")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Owned(t.Context(), account, scene); err != nil { // the whole package is in use now
		t.Fatal(err)
	}
	wood := storeInProject(t, s, account, "wood.png", "other wood")
	if file, err := s.Owned(t.Context(), account, wood); err != nil || file.ByteSize != 10 {
		t.Errorf("Owned = %+v, %v", file, err)
	}
}

func TestTraversalIsRefusedAtBothDoors(t *testing.T) { onEach(t, testTraversalIsRefused) }

func testTraversalIsRefused(t *testing.T, s *Service, db *sqlx.DB) {
	account, victim := newAccount(t, db), newAccount(t, db)
	for _, logicalPath := range []string{
		"../" + testProject + "/x", "a/../../x", "/etc/passwd", `..\x`, "./x", "a//x", "a/.", "x\x00.png", "x/",
		fmt.Sprintf("../../../../%s/uploads/x", victim),
	} {
		if _, err := s.Create(t.Context(), account, inProject(logicalPath, "x")); !fault.Is(err, fault.Validation) ||
			!strings.Contains(err.Error(), "logicalPath: must") {
			t.Errorf("Create at %q = %v, want %s", logicalPath, err, fault.Validation)
		}
		init := contract.MultipartInitRequest{Filename: "f", ContentType: "text/plain", Size: 3, ProjectID: testProject,
			LogicalPath: logicalPath}
		if _, err := s.Init(t.Context(), account, init); !fault.Is(err, fault.Validation) ||
			!strings.Contains(err.Error(), "logicalPath: must") {
			t.Errorf("Init at %q = %v, want %s", logicalPath, err, fault.Validation)
		}
	}
}
