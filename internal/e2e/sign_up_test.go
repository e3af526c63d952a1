package e2e

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var printedLink = regexp.MustCompile(`http://\S+/verify-email\?token=(\S+)`)

// TestSignUpByALink opens an account on a machine where addresses are proved first: the link stands on the console, and nowhere in
// the log.
func TestSignUpByALink(t *testing.T) {
	t.Parallel()
	logged := filepath.Join(t.TempDir(), "molfabric.log")
	s := start(t, "MOLFABRIC_SIGNUP=verified", "MOLFABRIC_LOG_FILE="+logged)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	sh := &shell{system: s, program: program, dir: t.TempDir()}
	out, _ := sh.want(0, "a long enough password\n", "login", "--server", s.url, "--sign-up", "--email", "chemist@example.org",
		"--password-stdin")
	if !strings.Contains(out, "A mail to chemist@example.org has the link") {
		t.Errorf("sign-up says %q", out)
	}
	var found []string
	s.eventually("the link is printed", func() bool {
		found = printedLink.FindStringSubmatch(s.log.String())
		return found != nil
	})
	if text, err := os.ReadFile(logged); err != nil || bytes.Contains(text, []byte(found[1])) {
		t.Errorf("the log has the link, or cannot be read: %v", err)
	}
	answer, err := http.PostForm(s.url+"/verify-email", url.Values{"token": {found[1]}, "password": {"a long enough password"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the link: %s", answer.Status)
	}
	sh.want(0, "a long enough password\n", "login", "--server", s.url, "--email", "chemist@example.org", "--password-stdin")
	if out, _ := sh.want(0, "", "balance"); !strings.Contains(out, "£5.00") {
		t.Errorf("the balance is %s", out)
	}
}
