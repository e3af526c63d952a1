package structures

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestRedirectsStayAtTheServer: a source that leads elsewhere could lead to what this machine alone reaches.
func TestRedirectsStayAtTheServer(t *testing.T) {
	t.Parallel()
	first, elsewhere := newSite(t), newSite(t)
	for _, s := range []*site{first, elsewhere} {
		s.serve("/moved", []byte("data_1ABC\n"))
	}
	for target, followed := range map[string]bool{first.url + "/moved": true, "/moved": true, elsewhere.url + "/moved": false,
		"http://169.254.169.254/moved": false} {
		first.answer("/entry", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
		taken := 0
		err := newServer(first.url, time.Now).get(t.Context(), "/entry", 1000, func(io.Reader) error { taken++; return nil })
		if (err == nil) != followed || (taken > 0) != followed || err != nil && !errors.Is(err, errAway) {
			t.Errorf("to %s: %v, taken %d times, want followed %v", target, err, taken, followed)
		}
	}
	if len(elsewhere.asked) > 0 {
		t.Errorf("the other server was asked for %v", elsewhere.asked)
	}
}
