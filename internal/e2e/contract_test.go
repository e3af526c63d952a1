package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// contractTools is the folder with the programs that set-up installs from .ci/contract: other people's validators, a
// generator of clients, and a fuzzer.
func contractTools(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MOLFABRIC_CONTRACT")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); dir == "" || err != nil {
		enginestest.Skip(t, "set MOLFABRIC_CONTRACT to what `deploy/setup.sh --tests` installs in .molfabric/contract")
	}
	return dir
}

// document reads the OpenAPI document of a running system into a file.
func (s *system) document() string {
	s.t.Helper()
	response, err := http.Get(s.url + "/api/v1/openapi.json")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("the document: %d %v", response.StatusCode, err)
	}
	path := filepath.Join(s.t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	var operations int
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		s.t.Fatal(err)
	}
	for _, methods := range doc.Paths {
		operations += len(methods)
	}
	s.t.Logf("the document has %d operations at %d paths in %d bytes", operations, len(doc.Paths), len(text))
	return path
}

// tool runs a program and returns what it printed.
func tool(t *testing.T, dir string, env []string, argv ...string) (string, error) {
	t.Helper()
	return toolWithin(t, patience, dir, env, argv...)
}

func toolWithin(t *testing.T, limit time.Duration, dir string, env []string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	return text.String(), err
}

// TestOthersUnderstandTheDocument holds the document against two validators that share no code with ours, and lets a public
// generator write a client from it, which must compile without a complaint and dock a ligand.
func TestOthersUnderstandTheDocument(t *testing.T) {
	t.Parallel()
	tools := contractTools(t)
	s := start(t)
	path := s.document()
	for _, validator := range [][]string{
		{filepath.Join(tools, "bin", "openapi-spec-validator"), path},
		{filepath.Join(tools, "node_modules", ".bin", "validate-api"), path},
	} {
		if text, err := tool(t, "", nil, validator...); err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(validator[0]), err, text)
		}
	}

	dir := t.TempDir()
	for _, name := range []string{"package.json", "openapi-ts.config.js", "tsconfig.json", "submit.ts"} {
		text, err := os.ReadFile(filepath.Join("..", "..", ".ci", "contract", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][]string{{"node_modules/.bin/openapi-ts", "--no-log-file"}, {"node_modules/.bin/tsc", "-p", "."}} {
		if text, err := tool(t, dir, []string{"DOCUMENT=" + path}, step...); err != nil {
			t.Fatalf("%s: %v\n%s", step[0], err, text)
		}
	}
	text, err := tool(t, dir, nil, "node", "out/submit.js", s.url, s.key(), receptor(t))
	if err != nil {
		t.Fatalf("the generated client: %v\n%s", err, text)
	}
	var said struct {
		Status  string
		Outputs int
		Refusal string
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil || said.Status != "COMPLETED" || said.Outputs == 0 ||
		said.Refusal != "UNSUPPORTED_SIMULATOR" {
		t.Errorf("the generated client said %s (%v)", strings.TrimSpace(text), err)
	}
}
