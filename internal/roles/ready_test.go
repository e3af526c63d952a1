package roles

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/config"
)

// TestReady asks a server that is up, one that says why it is not, and nobody.
func TestReady(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.Error(w, `{"ready":false,"problem":"postgres is away"}`, http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, c := range []struct{ listen, address, want string }{
		{"127.0.0.1" + port, "", ""},
		{"0.0.0.0" + port, "", ""},
		{port, "", ""},
		{"127.0.0.1:1", server.URL + "/readyz", ""},
		{"127.0.0.1:1", server.URL + "/healthz", "postgres is away"},
		{"127.0.0.1:1", "", "nothing answers"},
		{"8080", "", "MOLFABRIC_LISTEN"},
		{"127.0.0.1:1", "127.0.0.1/readyz", "http://127.0.0.1:9090/healthz"},
	} {
		err := Ready(t.Context(), config.Config{Listen: c.listen}, c.address)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// TestControlWithoutStores names what is not set, and starts nothing in its place.
func TestControlWithoutStores(t *testing.T) {
	t.Parallel()
	report := ExamineControl(t.Context(), config.Config{Home: t.TempDir()}, "test", nil)
	said := map[string]bool{}
	for _, f := range report.Findings {
		said[f.Part] = f.Healthy
	}
	for _, name := range []string{"DATABASE_URL", "REDIS_URL", "S3_ENDPOINT"} {
		if healthy, there := said[name]; healthy || !there {
			t.Errorf("%s: got healthy %v, said %v", name, healthy, there)
		}
	}
	if report.Healthy || said["sandbox"] {
		t.Errorf("got %+v", report)
	}
}
