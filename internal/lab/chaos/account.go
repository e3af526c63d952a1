package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	// password is every account's.
	password = "a password for one run"
	// plentyPence pays for all that a test does.
	plentyPence = 100_000_00
	// answerPatience bounds one request that is sent without a client's own patience.
	answerPatience = 30 * time.Second
	// maxAnswerBytes bounds what is read of its answer.
	maxAnswerBytes = 8 << 20
)

// Account is a customer of a World.
type Account struct {
	ID, Email, Key string
	Client         *client.Client // with the key, of the API that was started first; it tries again by itself

	world *World
	scene string // storage key of a file that the probe's jobs name
}

// Account opens an account with a live key of every scope and exactly pence of available credit. An API must run.
func (w *World) Account(ctx context.Context, pence int64) (*Account, error) {
	server := w.entrance
	if apis := w.APIs(); server == "" && len(apis) > 0 {
		server = apis[0].URL
	}
	if server == "" {
		return nil, errors.New("open an account: no API runs")
	}
	visitor, err := client.New(client.Options{Server: server})
	if err != nil {
		return nil, err
	}
	defer visitor.Close()
	a := &Account{world: w, Email: id.New("u") + "@example.org"}
	opened, err := visitor.SignUp(ctx, a.Email, password, "Chaos")
	if err != nil {
		return nil, fmt.Errorf("open an account: %w", err)
	}
	a.ID = opened.Body.AccountID
	key, err := visitor.CreateKey(ctx, contract.CreateRequest{Name: "chaos", Environment: "live", Scopes: contract.Scopes})
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	a.Key = key.Body.Secret
	if err := setCredit(ctx, w.db, a.ID, pence); err != nil {
		return nil, err
	}
	if a.Client, err = client.New(client.Options{Server: server, APIKey: a.Key}); err != nil {
		return nil, err
	}
	uploaded, err := a.Client.Upload(ctx, "scene.txt", bytes.NewReader([]byte("nobody reads this\n")), 18)
	if err != nil {
		return nil, fmt.Errorf("upload a scene: %w", err)
	}
	a.scene = uploaded.StorageKey
	w.mu.Lock()
	w.accounts = append(w.accounts, a)
	w.mu.Unlock()
	return a, nil
}

// Accounts are those that were opened, in their order.
func (w *World) Accounts() []*Account {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*Account(nil), w.accounts...)
}

// At is a client of another API with the account's key; the caller closes it.
func (a *Account) At(api *Process) (*client.Client, error) {
	return client.New(client.Options{Server: api.URL, APIKey: a.Key})
}

// Probe is a job of the engine of that name, whose package says what its parameters mean. What is zero is left out.
type Probe struct {
	Name        string
	Tasks       int
	Seconds     float64
	CPUSeconds  int
	MemoryBytes int64
	OutputBytes int64
	FailEvery   int
	FailClass   string
	Gather      bool
}

// Scene is the storage key of a file of the account that a job may name.
func (a *Account) Scene() string { return a.scene }

// Request is the submission of a probe job.
func (a *Account) Request(p Probe) json.RawMessage {
	parameters := map[string]string{}
	for name, value := range map[string]int64{
		"Tasks": int64(p.Tasks), "CPUSeconds": int64(p.CPUSeconds), "MemoryBytes": p.MemoryBytes, "OutputBytes": p.OutputBytes,
		"FailEvery": int64(p.FailEvery),
	} {
		if value != 0 {
			parameters[name] = strconv.FormatInt(value, 10)
		}
	}
	if p.Seconds != 0 {
		parameters["Seconds"] = strconv.FormatFloat(p.Seconds, 'f', -1, 64)
	}
	if p.FailClass != "" {
		parameters["FailClass"] = p.FailClass
	}
	if p.Gather {
		parameters["Gather"] = "true"
	}
	request := map[string]any{"jobType": "simulation", "simulator": probe.ID, "sceneFile": a.scene, "parameters": parameters}
	if p.Name != "" {
		request["jobName"] = p.Name
	}
	body, _ := json.Marshal(request) // maps of strings
	return body
}

// Submit sends a probe job, with a key of its own when idempotencyKey is "", and returns the job's id.
func (a *Account) Submit(ctx context.Context, p Probe, idempotencyKey string) (string, error) {
	receipt, err := a.Client.Submit(ctx, a.Request(p), idempotencyKey)
	if err != nil {
		return "", fmt.Errorf("submit: %w", err)
	}
	return receipt.Body.JobID, nil
}

// Await waits until a job has ended, at most for the patience of a world.
func (w *World) Await(ctx context.Context, jobID string) (job.Status, error) {
	return w.AwaitWithin(ctx, jobID, patience)
}

// AwaitWithin waits until a job has ended. It asks the database: the API may be what is broken.
func (w *World) AwaitWithin(ctx context.Context, jobID string, bound time.Duration) (status job.Status, err error) {
	err = w.Eventually(ctx, fmt.Sprintf("job %s ends", jobID), w.Bound(bound), func(ctx context.Context) (bool, error) {
		status, err = w.statusOf(ctx, jobID)
		return status.Terminal(), err
	})
	return status, err
}

// AwaitCompleted waits until a job has ended and expects that all its tasks have succeeded.
func (w *World) AwaitCompleted(ctx context.Context, jobID string) error {
	status, err := w.Await(ctx, jobID)
	if err == nil && status != job.Completed {
		err = fmt.Errorf("job %s ended as %s, want %s", jobID, status, job.Completed)
	}
	return err
}

// Answer is what an API has said to a request that was sent once.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Send sends one request to an API as the account, once and without a client's retries. path begins with /v1; body may be nil;
// header holds pairs of a name and a value. An error says that no answer came.
func (a *Account) Send(ctx context.Context, api *Process, method, path string, body []byte, header ...string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, api.URL+"/api"+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+a.Key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	return send(request)
}

// transport opens a connection a request: what is measured and broken is the server, not a pool of ours.
var transport = &http.Transport{DisableKeepAlives: true}

func send(request *http.Request) (Answer, error) {
	response, err := transport.RoundTrip(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	return Answer{Status: response.StatusCode, Header: response.Header, Body: text}, err
}

// smallReceptor is a receptor of one residue around the origin, for submissions that nobody is to run.
const smallReceptor = "ATOM      1  CA  GLY A   1       0.000   0.000   0.000  1.00  0.00           C\nEND\n"
