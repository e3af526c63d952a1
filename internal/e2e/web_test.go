package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// webRoom is where the web app's sources, its build and its tests lie.
const webRoom = "../../api/web"

// needWeb skips where the app was not built or nothing drives a browser.
func needWeb(t *testing.T) (playwright string) {
	t.Helper()
	playwright, err := filepath.Abs(filepath.Join(webRoom, "node_modules/.bin/playwright"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{playwright, filepath.Join(webRoom, "dist/index.html.br")} {
		if _, err := os.Stat(path); err != nil {
			serverstest.Check(t, err)
		}
	}
	return playwright
}

// passedTests is the closing line of Playwright.
var passedTests = regexp.MustCompile(`(?m)^\s*(\d+) passed`)

// webHarness lets the pages' tests start the system anew and read the newest mailed link, which `up` prints.
func webHarness(s *system) *httptest.Server {
	doors := http.NewServeMux()
	doors.HandleFunc("POST /restart", func(http.ResponseWriter, *http.Request) {
		s.down()
		s.up()
	})
	doors.HandleFunc("POST /mail", func(w http.ResponseWriter, _ *http.Request) {
		links := printedLink.FindAllString(s.log.String(), -1)
		if len(links) == 0 {
			http.Error(w, "no mail was sent", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, links[len(links)-1])
	})
	return httptest.NewServer(doors)
}

// TestWebApp drives the pages of a running system in a real browser. Pictures of every page are kept where MOLFABRIC_SCREENSHOTS says.
// It has the system's machine for itself: people wait seconds for a page, and the tests beside it keep every core busy for minutes.
func TestWebApp(t *testing.T) {
	playwright := needWeb(t)
	python, tiny := foldEnvironment(t)
	s := start(t, "MOLFABRIC_PREVIEWS=1", "MOLFABRIC_PREVIEW_LIMIT=2m", "MOLFABRIC_OPERATORS=operator@example.org",
		"MOLFABRIC_FOLD_PYTHON="+python)
	pictures := os.Getenv("MOLFABRIC_SCREENSHOTS")
	if pictures == "" {
		pictures = t.TempDir()
	}
	structure, err := filepath.Abs(retinoid)
	if err != nil {
		t.Fatal(err)
	}
	peptide, err := filepath.Abs("../../engines/openmm/testdata/trialanine.pdb")
	if err != nil {
		t.Fatal(err)
	}
	s.blastdb(0, "add", "../sequences/testdata/proteins.fasta", "--name", "globins", "--version", "1", "--date", "2026-01-28")
	s.weights("add", tiny, "--model", "esmfold", "--licence", "none", "--commercial-use")
	harness := webHarness(s)
	defer harness.Close()

	cmd := exec.CommandContext(t.Context(), playwright, "test")
	cmd.Dir = webRoom
	cmd.Env = append(os.Environ(), "MOLFABRIC_URL="+s.url, "MOLFABRIC_SCREENSHOTS="+pictures, "MOLFABRIC_STRUCTURE="+structure,
		"MOLFABRIC_PEPTIDE="+peptide, "MOLFABRIC_HARNESS="+harness.URL, "CI=true", "FORCE_COLOR=0")
	said, err := cmd.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Fatalf("playwright: %v", err)
	}
	if passed := passedTests.FindSubmatch(said); passed == nil || strings.Contains(string(said), "did not run") {
		t.Error("not every test of the pages has run")
	}
}
