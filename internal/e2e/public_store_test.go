package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// publicName is how the users of this test know the service. Nobody else does.
const publicName = "molfabric.test"

// TestFilesTravelUnderThePublicName: what `up` signs is for the name that users know, holds over a restart, and is for pages of the
// configured origins alone.
func TestFilesTravelUnderThePublicName(t *testing.T) {
	t.Parallel()
	const origin = "https://app.example.org"
	s := &system{t: t, home: serverstest.Dir(t), log: &syncBuffer{}, addr: free(t, "127.0.0.2"), env: append(os.Environ(),
		"MOLFABRIC_PYTHON="+enginestest.Python(t), "MOLFABRIC_STRUCTURES=off", "MOLFABRIC_PREVIEWS=0", "MOLFABRIC_SIMULATORS=fpocket",
		"MOLFABRIC_PUBLIC_URL=http://"+publicName, "MOLFABRIC_ORIGINS="+origin)}
	s.up()
	t.Cleanup(s.down)
	const content = ">query\nMKV\n"
	var announced struct {
		UploadURL string            `json:"uploadUrl"`
		Headers   map[string]string `json:"headers"`
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/jobs/upload-url",
		strings.NewReader(`{"filename":"query.fasta","contentType":"text/x-fasta","size":11}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.key())
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&announced); err != nil || answer.StatusCode/100 != 2 {
		t.Fatalf("announced with %d, %v", answer.StatusCode, err)
	}
	if !strings.HasPrefix(announced.UploadURL, "http://"+publicName+"/molfabric/") {
		t.Fatalf("the upload goes to %s, want %s", announced.UploadURL, publicName)
	}
	s.down()
	s.up()
	preflight := map[string]string{"Origin": origin, "Access-Control-Request-Method": "PUT",
		"Access-Control-Request-Headers": "content-type"}
	if status, allowed := s.named(http.MethodOptions, announced.UploadURL, "", preflight); status/100 != 2 || allowed != origin {
		t.Errorf("the preflight of a configured origin: %d, %q", status, allowed)
	}
	preflight["Origin"] = "https://evil.example.net"
	if status, allowed := s.named(http.MethodOptions, announced.UploadURL, "", preflight); status/100 == 2 || allowed != "" {
		t.Errorf("the preflight of another origin: %d, %q", status, allowed)
	}
	delete(announced.Headers, "Content-Length")
	if status, _ := s.named(http.MethodPut, announced.UploadURL, content, announced.Headers); status != http.StatusOK {
		t.Errorf("the upload after a restart: %d", status)
	}
}

// TestTakenPortIsNamed: another program on the store's port is an error that says which setting gives it another one.
func TestTakenPortIsNamed(t *testing.T) {
	t.Parallel()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	_, port, _ := net.SplitHostPort(squatter.Addr().String())
	up := exec.CommandContext(t.Context(), program, "up", "--home", serverstest.Dir(t), "--listen", "127.0.0.1:0")
	up.Env = append(os.Environ(), "MOLFABRIC_STORE_PORT="+port)
	text, err := up.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "port "+port) || !strings.Contains(string(text), "MOLFABRIC_STORE_PORT") {
		t.Errorf("got %v:\n%s", err, text)
	}
}

// named sends a request to the system as somebody does for whom the URL's name leads to it.
func (s *system) named(method, address, body string, headers map[string]string) (status int, allowed string) {
	s.t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	host := target.Host
	target.Host = s.addr
	request, err := http.NewRequestWithContext(s.t.Context(), method, target.String(), strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Host = host
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, answer.Header.Get("Access-Control-Allow-Origin")
}

// free is an address of the machine with a port that nobody listens on.
func free(t *testing.T, host string) string {
	t.Helper()
	ln, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
