package uploads

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

const testProject = "0190b8a4-7d7c-7c3e-8f6b-2f1d6c0a9e11"

func TestLogicalPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, want string }{
		{"scene.blend", ""},
		{"textures/wood grain.png", ""},
		{"...", ""},
		{"a/..b/.c/d.", ""},
		{"%2e%2e/%2f", ""},
		{"日本/ünï.exr", ""},
		{strings.Repeat("s/", 300) + "x", ""},
		{strings.Repeat("x", maxSegmentBytes), ""},
		{"/etc/passwd", "leading slash"},
		{"//x", "leading slash"},
		{"/", "leading slash"},
		{`..\..\x`, "backslash"},
		{`a\b`, "backslash"},
		{"a\x00b", "NUL"},
		{"a\nb", "control character"},
		{"a\x7f", "control character"},
		{"a//b", "empty segment"},
		{"a/", "empty segment"},
		{".", ". or .. segment"},
		{"..", ". or .. segment"},
		{"./a", ". or .. segment"},
		{"../a", ". or .. segment"},
		{"a/../../b", ". or .. segment"},
		{"a/.", ". or .. segment"},
		{"a/..", ". or .. segment"},
		{"\xff", "UTF-8"},
		{strings.Repeat("x", maxSegmentBytes+1), "every segment"},
		{strings.Repeat("s/", maxPathBytes/2) + "x", "at most 800 bytes"},
	} {
		_, err := placeOf(testProject, c.path)
		if c.want == "" && err != nil {
			t.Errorf("placeOf(%q) = %v, want nil", c.path, err)
		}
		if c.want != "" && (!fault.Is(err, fault.Validation) || !strings.Contains(err.Error(), "logicalPath: ") ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("placeOf(%q) = %v, want a refusal that says %q", c.path, err, c.want)
		}
	}
}

func TestPlaceIsWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		project, path, want string
	}{
		{testProject, "", "logicalPath: is required"},
		{"", "a", "projectId: is required"},
		{"", "/a", "projectId: is required"},
		{"0190b8a4", "a", "projectId: must be a UUID"},
		{"{" + testProject + "}", "a", "projectId: must be a UUID"},
		{"../../acct_2/uploads/x", "a", "projectId: must be a UUID"},
	} {
		if _, err := placeOf(c.project, c.path); !fault.Is(err, fault.Validation) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("placeOf(%q, %q) = %v, want %q", c.project, c.path, err, c.want)
		}
	}
	if at, err := placeOf("", ""); err != nil || at != (place{}) {
		t.Errorf("placeOf of nothing = %+v, %v", at, err)
	}
	if at, err := placeOf(strings.ToUpper(testProject), "a"); err != nil || at.projectID != testProject {
		t.Errorf("placeOf in capitals = %+v, %v; want the same project", at, err)
	}
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	if got := ancestors("a/b/c"); !slices.Equal(got, []string{"a", "a/b"}) {
		t.Errorf("ancestors = %q", got)
	}
	if got := ancestors("a"); got == nil || len(got) != 0 {
		t.Errorf("ancestors of one segment = %#v, want none", got)
	}
}

// FuzzLogicalPath holds that an accepted path stays below its project whatever resolves it, and names the same place when it
// is cleaned.
func FuzzLogicalPath(f *testing.F) {
	for _, seed := range []string{"a/b.c", "../a", "a/./b", `a\..\b`, "a//b", "/a", "a\x00", "..", "a/..", "%2e%2e/a", "\xc0\xae/a",
		"．．/a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, logicalPath string) {
		at, err := placeOf(testProject, logicalPath)
		if err != nil || at == (place{}) {
			return
		}
		key, prefix := projectKey("acct_1", at), projectPrefix("acct_1", testProject)
		if path.Clean(key) != key || key == prefix || !strings.HasPrefix(key, prefix) || len(key) > 1024 ||
			strings.ContainsAny(key, "\x00\\") {
			t.Errorf("%q is accepted and gives the key %q", logicalPath, key)
		}
	})
}
