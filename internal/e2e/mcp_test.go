package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/job"
)

// withKey sends an API key with every request, as the configuration of an agent does.
type withKey string

func (k withKey) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := request.Clone(request.Context())
	sent.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(sent)
}

// ways are the three ways to the same service, with one key.
type ways struct {
	t     *testing.T
	s     *system
	key   string
	agent *sdk.ClientSession
}

func (s *system) ways(key string) *ways {
	s.t.Helper()
	agent, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(),
		&sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: withKey(key),
			Timeout: patience}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = agent.Close() })
	return &ways{t: s.t, s: s, key: key, agent: agent}
}

func (w *ways) rest(path string) any {
	w.t.Helper()
	response, err := (&http.Client{Transport: withKey(w.key), Timeout: patience}).Get(w.s.url + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s %s %v", path, response.Status, text, err)
	}
	return tree(w.t, text)
}

// tool calls a tool and decodes its answer; without a place for that it returns the answer's text, in which every digit is as
// it was sent.
func (w *ways) tool(name string, arguments map[string]any, into any) any {
	w.t.Helper()
	got, err := w.agent.CallTool(w.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(got.StructuredContent)
	if err != nil || got.IsError {
		w.t.Fatalf("%s %v: %s %v", name, arguments, text, err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			w.t.Fatal(err)
		}
		return nil
	}
	answer, ok := got.Content[len(got.Content)-1].(*sdk.TextContent)
	if !ok {
		w.t.Fatalf("%s %v: the answer ends with %T", name, arguments, got.Content[len(got.Content)-1])
	}
	return tree(w.t, []byte(answer.Text))
}

func (w *ways) command(args ...string) any {
	w.t.Helper()
	program, err := binary()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(w.t.Context(), program, append(args, "--json")...)
	cmd.Env = append(os.Environ(), "MOLFABRIC_SERVER="+w.s.url, "MOLFABRIC_API_KEY="+w.key, "MOLFABRIC_CONFIG="+w.t.TempDir()+
		"/none.json")
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("molfabric %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), diagnostics.String())
	}
	return tree(w.t, out.Bytes())
}

// tree is a JSON text without what differs from answer to answer: the signatures of addresses and the time they last.
func tree(t *testing.T, text []byte) any {
	t.Helper()
	var whole any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&whole); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return unsigned(whole)
}

func unsigned(value any) any {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "urlExpiresAt")
		for name, member := range value {
			if text, ok := member.(string); ok && name == "url" {
				member, _, _ = strings.Cut(text, "?")
			}
			value[name] = unsigned(member)
		}
	case []any:
		for i := range value {
			value[i] = unsigned(value[i])
		}
	}
	return value
}

// TestThreeWaysOneAnswer docks one good and one broken ligand through the tools of an agent, and expects REST, the tools and
// the command line to tell the same of the job, its files and the bill.
func TestThreeWaysOneAnswer(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key()
	c := s.client(client.Options{Server: s.url, APIKey: key})
	scene, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	w := s.ways(key)
	var request map[string]any
	if err := json.Unmarshal(docking(scene.StorageKey, 1, "aspirin"), &request); err != nil {
		t.Fatal(err)
	}
	library := request["simulationParams"].(map[string]any)
	library["ligandLibrary"] = append(library["ligandLibrary"].([]any),
		map[string]any{"ligandId": "broken", "label": "broken", "source": map[string]any{"kind": "smiles", "smiles": "C1CC("}})
	var receipt struct{ JobID string }
	w.tool("submit_job", request, &receipt)
	if ended := s.await(c, receipt.JobID); ended.Status != job.CompletedWithFailures {
		t.Fatalf("ended as %s: %v", ended.Status, ended.Error)
	}
	id, byJob := url.PathEscape(receipt.JobID), map[string]any{"jobId": receipt.JobID}
	for _, same := range []struct {
		what               string
		rest, tool, typing any
	}{
		{"the job", w.rest("/api/v1/jobs/" + id + "/status"), w.tool("get_job_status", byJob, nil),
			w.command("status", receipt.JobID)},
		{"its files", w.rest("/api/v1/jobs/" + id + "/outputs"), w.tool("get_job_outputs", byJob, nil),
			w.command("outputs", receipt.JobID)},
		{"the balance", w.rest("/api/v1/credits/balance"), w.tool("get_balance", nil, nil), w.command("balance")},
	} {
		if !reflect.DeepEqual(same.rest, same.tool) || !reflect.DeepEqual(same.rest, same.typing) {
			t.Errorf("%s over REST\n%v\nby tool\n%v\nby command\n%v", same.what, same.rest, same.tool, same.typing)
		}
	}
	var table struct {
		Complete bool
		Ligands  []struct {
			LigandID         string
			BestScoreKcalMol float64
			Files            map[string]string
		}
		Failures []struct{ LigandID, FailureStage string }
	}
	w.tool("get_docking_results", byJob, &table)
	var results struct {
		Ligands []struct{ BestScoreKcalMol float64 }
	}
	if err := json.Unmarshal(output(t, c, receipt.JobID, "results.json"), &results); err != nil {
		t.Fatal(err)
	}
	if !table.Complete || len(table.Ligands) != 1 || len(table.Failures) != 1 || table.Failures[0].LigandID != "broken" ||
		table.Failures[0].FailureStage != "parse" ||
		table.Ligands[0].LigandID != "aspirin" || table.Ligands[0].BestScoreKcalMol != results.Ligands[0].BestScoreKcalMol {
		t.Errorf("the ranking is %+v", table)
	}
	if len(output(t, c, receipt.JobID, table.Ligands[0].Files["sdf"])) == 0 {
		t.Error("the ranking's file of poses is empty")
	}
}
