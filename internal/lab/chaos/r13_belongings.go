package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/abl1"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/internal/sequences"

	"github.com/google/uuid"
)

// The kinds of things that an account can own and an address can name.
const (
	aJob, aTask, aFile, anUpload, aProject, aKey = "job", "task", "file", "upload", "project", "key"
	aLicenseServer, aSearch                      = "licenseServer", "search"
	anExperiment, aBatch, aRun                   = "experiment", "batch", "run"
	aResult, aPose, anArtifact                   = "result", "pose", "artifact"
	aRequestName, aRunName, aLigandName          = "requestName", "runName", "ligandName"
	anInChIKey, aTitle, anIdempotencyKey         = "inchiKey", "title", "idempotencyKey"
	aPackage                                     = "package" // a project's files among the uploads
	aWebhook, aMessage                           = "webhook", "message"
)

// tenant is an account with everything that it can own, and the credentials of both kinds.
type tenant struct {
	*Account
	byKey, byBrowser caller
	word             string // begins the names that the tenant gives
	owned            map[string][]string
	receptor         stored // a file, of the owner the one that was docked into
	prepared         preparation
}

// stored is a file of a tenant.
type stored struct {
	key, sha256 string
	byteSize    int64
}

// preparation is a prepared receptor as a run tells it.
type preparation struct {
	IdentitySHA256, PreparationSHA256, ToolchainSHA256, CacheKey string
}

// tenant opens an account with a key of every scope and a session, which will give names that begin with word.
func (w *World) tenant(ctx context.Context, word string) (*tenant, error) {
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return nil, err
	}
	browser, err := account.browser(ctx, w.APIs()[0])
	if err != nil {
		return nil, err
	}
	defer browser.Close()
	key, err := browser.CreateKey(ctx, contract.CreateRequest{Name: "all", Environment: "live", Scopes: everyScope})
	if err != nil {
		return nil, err
	}
	return &tenant{Account: account, word: word, owned: map[string][]string{},
		byKey: caller{name: "a key", key: key.Body.Secret}, byBrowser: caller{name: "a session", session: browser.Session()}}, nil
}

// as is the caller that may call an operation at all: the browser where a key may not.
func (t *tenant) as(o operation) caller {
	if _, ok := o.scheme("apiKey"); ok {
		return t.byKey
	}
	return t.byBrowser
}

// ask sends a request below /api/v1 that must succeed, and decodes the answer.
func (t *tenant) ask(ctx context.Context, from caller, method, path string, request, into any) ([]byte, error) {
	var body []byte
	if request != nil {
		body = encode(request)
	}
	answer, err := from.send(ctx, t.world.APIs()[0], method, "/api/v1"+path, body, "Idempotency-Key", id.New("key_"))
	if err != nil {
		return nil, err
	}
	if err := answer.read(into, http.StatusOK, http.StatusCreated, http.StatusAccepted); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer.Body, nil
}

// note keeps ids of things that the tenant owns.
func (t *tenant) note(kind string, values ...string) {
	for _, value := range values {
		if value != "" && !slices.Contains(t.owned[kind], value) {
			t.owned[kind] = append(t.owned[kind], value)
		}
	}
}

// noteAll asks for a list or a thing, and keeps all texts that stand under a member's name in the answer.
func (t *tenant) noteAll(ctx context.Context, path string, members map[string]string) error {
	body, err := t.ask(ctx, t.byKey, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for member, kind := range members {
		t.note(kind, under(value, member)...)
	}
	return nil
}

// under collects the texts that stand under a member's name, however deep.
func under(value any, member string) (found []string) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if text, ok := inner.(string); ok && name == member {
				found = append(found, text)
			}
			found = append(found, under(inner, member)...)
		}
	case []any:
		for _, inner := range value {
			found = append(found, under(inner, member)...)
		}
	}
	return found
}

// settle gives a tenant one or more of everything: work of three engines that has ended, files, uploads, projects, keys, licence
// servers, a webhook.
func (t *tenant) settle(ctx context.Context) error {
	for _, one := range []func(context.Context) error{t.dock, t.search, t.probe, t.keepFiles, t.keepProjects, t.keepSettings,
		t.keepWebhook, t.converse} {
		if err := one(ctx); err != nil {
			return err
		}
	}
	for _, jobID := range t.owned[aJob] {
		if err := t.world.AwaitCompleted(ctx, jobID); err != nil {
			return err
		}
	}
	return t.noteWork(ctx)
}

// submit sends a job and keeps its id and its idempotency key.
func (t *tenant) submit(ctx context.Context, request any) (jobID string, err error) {
	key := id.New("key_")
	receipt, err := t.Client.Submit(ctx, request, key)
	if err != nil {
		return "", err
	}
	t.note(aJob, receipt.Body.JobID)
	t.note(anIdempotencyKey, key)
	return receipt.Body.JobID, nil
}

// probe submits two jobs, so that lists have more than one page.
func (t *tenant) probe(ctx context.Context) error {
	for _, name := range []string{t.word + " probe", t.word + " probe again"} {
		if _, err := t.submit(ctx, t.Request(Probe{Name: name, Tasks: 2, OutputBytes: 100})); err != nil {
			return err
		}
		t.note(aTitle, name)
	}
	return nil
}

// keep uploads a file and keeps its key.
func (t *tenant) keep(ctx context.Context, name string, content []byte) (stored, error) {
	file, err := t.Client.Upload(ctx, name, bytes.NewReader(content), int64(len(content)))
	t.note(aFile, file.StorageKey)
	return stored{key: file.StorageKey, sha256: file.SHA256, byteSize: file.ByteSize}, err
}

// dock docks two small molecules into the receptor of the demonstration, in a box that is quickly searched.
func (t *tenant) dock(ctx context.Context) error {
	var err error
	if t.receptor, err = t.keep(ctx, "secret-receptor.pdbqt", abl1.Prepared()); err != nil {
		return err
	}
	t.note(aTitle, "secret docking")
	t.note(aRequestName, "secret-request")
	t.note(aRunName, "secret-run")
	key := id.New("key_")
	t.note(anIdempotencyKey, key)
	receipt, err := t.Client.Submit(ctx, map[string]any{
		"jobType": "simulation", "simulator": vina.ID, "jobName": "secret docking", "sceneFile": t.receptor.key,
		"dockingRequest":   map[string]any{"requestId": "secret-request", "runId": "secret-run", "idempotencyKey": key},
		"simulationParams": smallDocking(abl1.SiteCenterAngstrom, "secret-ethanol", "secret-benzene"),
	}, key)
	t.note(aJob, receipt.Body.JobID)
	return err
}

// smallDocking docks ethanol and benzene, under these names, into a small box.
func smallDocking(center mol.BoxCenter, names ...string) map[string]any {
	var ligands []map[string]any
	for i, smiles := range []string{"CCO", "c1ccccc1"} {
		ligands = append(ligands, map[string]any{"ligandId": names[i], "label": names[i],
			"source": map[string]any{"kind": "smiles", "smiles": smiles}})
	}
	return map[string]any{"ligandLibrary": ligands, "boxCenterAngstrom": center, "boxSizeAngstrom": 12, "exhaustiveness": 1,
		"numModes": 2, "seed": 1}
}

// proteins is a FASTA file: ubiquitin and the B chain of insulin.
const proteins = ">secret-ubiquitin\nMQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG\n" +
	">secret-insulin\nFVNQHLCGSHLVEALYLVCGERGFFYTPKT\n"

// search searches two proteins in a database of the same two.
func (t *tenant) search(ctx context.Context) error {
	if _, err := exec.LookPath("makeblastdb"); err != nil {
		return Skip("there is no makeblastdb; install it with: apt-get install ncbi-blast+")
	}
	path := filepath.Join(t.world.Home(), "proteins.faa")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(proteins, "secret-", "")), 0o600); err != nil {
		return err
	}
	registry := sequences.New(sequences.Deps{DB: t.world.DB(), Objects: t.world.Objects(), Log: t.world.log, Now: time.Now})
	if _, _, err := registry.Add(ctx, sequences.Source{Path: path, Name: "two", Version: "1", ReleasedOn: "2026-01-28"},
		nil); err != nil {
		return err
	}
	queries, err := t.keep(ctx, "secret-queries.faa", []byte(proteins))
	if err != nil {
		return err
	}
	jobID, err := t.submit(ctx, map[string]any{"jobType": "simulation", "simulator": blast.IDProtein, "jobName": "secret search",
		"sceneFile":        queries.key,
		"simulationParams": map[string]any{"blastDatabaseName": "two"}})
	t.note(aSearch, jobID)
	t.note(aTitle, "secret search")
	return err
}

// keepFiles leaves one upload in parts open and completes a file of a project's package.
func (t *tenant) keepFiles(ctx context.Context) error {
	var begun struct{ UploadID, Key string }
	_, err := t.ask(ctx, t.byKey, http.MethodPost, "/uploads",
		map[string]any{"filename": "secret.bin", "contentType": "application/octet-stream", "size": 6 << 20, "partSize": 5 << 20},
		&begun)
	if err != nil {
		return err
	}
	t.note(anUpload, begun.UploadID)
	t.note(aFile, begun.Key)
	of := uuid.NewString()
	t.note(aPackage, of)
	path := filepath.Join(t.world.Home(), "package.txt")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		return err
	}
	file, err := t.Client.UploadFileWith(ctx, path, client.UploadOptions{ProjectID: of, LogicalPath: packagePath})
	t.note(aFile, file.StorageKey)
	return err
}

// packagePath is a file's place in a package.
const packagePath = "textures/wood.png"

// keepProjects makes two projects, one with two versions and a share.
func (t *tenant) keepProjects(ctx context.Context) error {
	for i, name := range []string{t.word + " project", t.word + " project again"} {
		draft := contract.ProjectCreateRequest{Name: name, Content: contract.Content(`{"secret":"content"}`)}
		project, err := t.Client.CreateProject(ctx, draft)
		if err != nil {
			return err
		}
		t.note(aProject, project.Body.ProjectID)
		t.note(aTitle, name)
		if i > 0 {
			continue
		}
		draft.Description = "its second version"
		if _, err = t.Client.SaveProject(ctx, project.Body.ProjectID, 1, draft); err != nil {
			return err
		}
		if _, err := t.Client.ShareProject(ctx, project.Body.ProjectID, 2); err != nil {
			return err
		}
	}
	return nil
}

// keepWebhook makes a webhook with a message to it, and disables it, so that nothing about it changes afterwards.
func (t *tenant) keepWebhook(ctx context.Context) error {
	const path = "/settings/webhooks"
	asked := map[string]any{"url": "https://secret.example.org/told", "events": []string{"credit.low"}, "description": "secret"}
	var webhook, message struct{ ID string }
	if _, err := t.ask(ctx, t.byBrowser, http.MethodPost, path, asked, &webhook); err != nil {
		return err
	}
	if _, err := t.ask(ctx, t.byBrowser, http.MethodPost, path+"/"+webhook.ID+"/test", nil, &message); err != nil {
		return err
	}
	asked["enabled"] = false
	t.note(aWebhook, webhook.ID)
	t.note(aMessage, message.ID)
	_, err := t.ask(ctx, t.byBrowser, http.MethodPut, path+"/"+webhook.ID, asked, &webhook)
	return err
}

// keepSettings makes a licence server, and looks the keys up.
func (t *tenant) keepSettings(ctx context.Context) error {
	var server struct{ ID string }
	_, err := t.ask(ctx, t.byBrowser, http.MethodPost, "/settings/license-servers",
		map[string]any{"name": "secret licences", "vendor": "SideFX",
			"product": "Houdini Engine", "protocol": "sesi", "host": "licences.example.org", "port": 1715, "seats": 1,
			"enforcement": "ENFORCED", "enabled": true}, &server)
	if err != nil {
		return err
	}
	t.note(aLicenseServer, server.ID)
	var keys struct{ Keys []struct{ ID string } }
	if _, err := t.ask(ctx, t.byBrowser, http.MethodGet, "/keys", nil, &keys); err != nil {
		return err
	}
	for _, key := range keys.Keys {
		t.note(aKey, key.ID)
	}
	return nil
}

// noteWork finds what the jobs have made.
func (t *tenant) noteWork(ctx context.Context) error {
	const docking = "/molecular/docking"
	for _, list := range []struct {
		path    string
		members map[string]string
	}{
		{docking + "/experiments", map[string]string{"experimentId": anExperiment}},
		{docking + "/batches", map[string]string{"batchId": aBatch}},
		{docking + "/runs", map[string]string{"runId": aRun}},
		{docking + "/results", map[string]string{"resultId": aResult, "inchiKey": anInChIKey, "ligandId": aLigandName}},
		{docking + "/poses", map[string]string{"poseId": aPose}},
	} {
		if err := t.noteAll(ctx, list.path, list.members); err != nil {
			return err
		}
	}
	for _, jobID := range t.owned[aJob] {
		err := errors.Join(t.noteAll(ctx, "/jobs/"+jobID+"/tasks", map[string]string{"taskId": aTask}),
			t.noteAll(ctx, "/jobs/"+jobID+"/outputs", map[string]string{"storageKey": aFile}))
		if err != nil {
			return err
		}
	}
	for _, poseID := range t.owned[aPose] {
		if err := t.noteAll(ctx, docking+"/poses/"+poseID, map[string]string{"artifactId": anArtifact}); err != nil {
			return err
		}
	}
	if len(t.owned[aRun]) == 0 {
		return errors.New("the docking has left no run")
	}
	var run struct{ Receptor preparation }
	_, err := t.ask(ctx, t.byKey, http.MethodGet, docking+"/runs/"+t.owned[aRun][0], nil, &run)
	t.prepared = run.Receptor
	return err
}

// everyEngine is what the work of a tenant needs.
var everyEngine = []string{probe.ID, vina.ID, blast.IDProtein}
