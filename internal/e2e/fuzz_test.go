package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// fuzzSeconds is how long the fuzzer runs when MOLFABRIC_FUZZ_SECONDS does not say: long enough to send some thousand
// requests to every kind of operation. `make fuzz` takes ten minutes.
const fuzzSeconds = 60

// TestFuzzerFindsNothing lets Schemathesis read the document and attack a running system, every operation but sign-out, with
// all of its checks: no failure of ours, no undocumented status, no answer outside its schema, no ignored credential, and no object
// that lives on after its end.
func TestFuzzerFindsNothing(t *testing.T) {
	serverstest.Long(t) // R20 of the chaos suite lets the fuzzer in, too
	tools := contractTools(t)
	s := start(t, "MOLFABRIC_LIMIT_CREDENTIAL=10000000", "MOLFABRIC_LIMIT_ADDRESS=10000000")
	duration := fuzzSeconds
	if asked := os.Getenv("MOLFABRIC_FUZZ_SECONDS"); asked != "" {
		var err error
		if duration, err = strconv.Atoi(asked); err != nil {
			t.Fatalf("MOLFABRIC_FUZZ_SECONDS: %v", err)
		}
	}
	dir := t.TempDir()
	victim := s.fuzzAccount(t, dir)
	config, err := os.ReadFile(filepath.Join("..", "..", ".ci", "contract", "schemathesis.toml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "schemathesis.toml"), config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	argv := []string{
		filepath.Join(tools, "bin", "schemathesis"), "run", s.url + "/api/v1/openapi.json", "--checks", "all", "--max-time",
		strconv.Itoa(duration), "--no-color",
		"--warnings", "off", "--exclude-path", "/v1/auth/sign-out", // would end the session that the others need
		"--exclude-path", "/v1/events", // never ends
	}
	if seed := os.Getenv("MOLFABRIC_FUZZ_SEED"); seed != "" {
		argv = append(argv, "--seed", seed)
	}
	text, err := toolWithin(t, time.Duration(duration)*time.Second+patience, dir, victim, argv...)
	if err != nil {
		t.Errorf("the fuzzer: %v\n%s", err, text)
	}
	if _, summary, found := strings.Cut(text, "== SUMMARY =="); found {
		t.Logf("%s", summary)
	}
	if bad := regexp.MustCompile(`(?m)^.*level=ERROR.*$`).FindAllString(s.log.String(), 5); len(bad) > 0 {
		t.Errorf("the system's log has errors:\n%s", strings.Join(bad, "\n"))
	}
}

// fuzzAccount makes an account with some history. It writes what the fuzzer should know of it into dir and returns its
// credentials as environment.
func (s *system) fuzzAccount(t *testing.T, dir string) []string {
	t.Helper()
	browser := s.client(client.Options{Server: s.url})
	if _, err := browser.SignUp(t.Context(), id.New("f")+"@example.org", "correct horse battery staple", "Fuzz"); err != nil {
		t.Fatal(err)
	}
	key, err := browser.CreateKey(t.Context(), contract.CreateRequest{Name: "fuzz", Environment: "live", Scopes: contract.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	c := s.client(client.Options{Server: s.url, APIKey: key.Body.Secret})
	scene, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	var jobs []string
	for range 3 {
		receipt, err := c.Submit(t.Context(), docking(scene.StorageKey, 1, "aspirin"), "")
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, receipt.Body.JobID)
	}
	s.await(c, jobs[0])
	for name, values := range map[string][]string{"jobs": jobs, "files": {scene.StorageKey},
		"uploads": {s.openUpload(t, key.Body.Secret)}} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`"`+strings.Join(values, "\"\n\"")+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"KEY=" + key.Body.Secret, "SESSION=" + browser.Session()}
}

// openUpload begins an upload in parts and leaves it unfinished.
func (s *system) openUpload(t *testing.T, key string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/uploads",
		strings.NewReader(`{"filename":"large.bin","contentType":"application/octet-stream","size":20000000}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var made struct{ UploadID string }
	if err := json.NewDecoder(response.Body).Decode(&made); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("begin an upload: %d %v", response.StatusCode, err)
	}
	return made.UploadID
}
