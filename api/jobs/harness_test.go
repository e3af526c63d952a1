package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/strictjson"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// deadline bounds every wait of these tests.
const deadline = 30 * time.Second

// The process-wide rules of huma that the front door sets before it registers a group.
func TestMain(m *testing.M) {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	huma.NewError = newRefusal
	os.Exit(m.Run())
}

// refusal shows what huma found, or the error of a handler, under huma's status; the front door writes its own envelope.
type refusal struct {
	Message string   `json:"error"`
	Causes  []string `json:"causes"`
	status  int
}

func (r *refusal) Error() string  { return r.Message }
func (r *refusal) GetStatus() int { return r.status }

func newRefusal(status int, message string, errs ...error) huma.StatusError {
	r := &refusal{Message: message, status: status}
	for _, err := range errs {
		r.Causes = append(r.Causes, err.Error())
	}
	return r
}

// desk is a service on stores of its own, behind a live socket. Its scheduler submits and cancels but does not lead: the
// tests move the jobs.
type desk struct {
	*Service
	t      *testing.T
	db     *sqlx.DB // sees everyone's rows; the service's own is told whose
	ledger *billing.Ledger
	ended  atomic.Bool               // whether every credential has been revoked
	files  map[string]engines.Object // by account and key: what the uploads group would find
	url    string
	spec   *huma.OpenAPI      // of the group's operations
	stop   context.CancelFunc // what the server's shutdown does to every request
}

func open(t *testing.T) *desk {
	t.Helper()
	return openWith(t, false, vina.New())
}

// openWith is open with these engines; pipeline says whether pipeline jobs are enabled.
func openWith(t *testing.T, pipeline bool, list ...engines.Engine) *desk {
	t.Helper()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range list { // all at the price of the one that the book knows
		book.Engines[engine.Spec().ID] = book.Engines[vina.ID]
	}
	rdb, _, prefix := redistest.New(t)
	objects, _ := objecttest.New(t)
	registry := engines.NewRegistry(list...)
	served := pgtest.Served(t)
	d := &desk{t: t, db: pgtest.New(t), ledger: billing.NewLedger(book, id.New), files: map[string]engines.Object{}}
	log := slog.New(slog.DiscardHandler)
	d.Service = New(Deps{
		DB: served, Engines: registry, Objects: objects, Uploads: d.owned, Currency: book.Currency, Pipeline: pipeline, Log: log,
		Now: time.Now,
		Scheduler: scheduler.New(scheduler.Deps{
			DB: served, Queue: queue.New(rdb, prefix), Engines: registry, Prices: book, Ledger: d.ledger, Log: log, Now: time.Now,
		}),
	})
	d.listen()
	return d
}

func (d *desk) owned(_ context.Context, accountID string, keys []string) (map[string]engines.Object, error) {
	found := map[string]engines.Object{}
	for _, key := range keys {
		if file, ok := d.files[accountID+" "+key]; ok {
			found[key] = file
		}
	}
	return found, nil
}

// listen serves the group's operations; the header X-Account stands for a credential.
func (d *desk) listen() {
	d.t.Helper()
	base, stop := context.WithCancel(context.Background())
	d.stop = stop
	app := fiber.New(fiber.Config{Immutable: true, DisableStartupMessage: true})
	app.Use(func(c *fiber.Ctx) error { c.SetUserContext(base); return c.Next() })
	config := huma.DefaultConfig("test", "1")
	config.CreateHooks, config.RejectUnknownQueryParameters = nil, true
	config.Formats = map[string]huma.Format{"application/json": {Marshal: huma.DefaultJSONFormat.Marshal,
		Unmarshal: strictjson.Unmarshal}}
	operations := humafiber.NewV2(app, config)
	operations.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		caller := access.Principal{AccountID: ctx.Header("X-Account"), Plan: "free", Environment: access.Live,
			Scopes: contract.Scopes}
		next(huma.WithContext(ctx, access.WithRecheck(access.With(ctx.Context(), caller), func(context.Context) error {
			if d.ended.Load() {
				return fault.New(fault.Unauthorized, "revoked")
			}
			return nil
		})))
	})
	Register(operations, d.Service)
	d.spec = operations.OpenAPI()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	d.url = "http://" + listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- app.Listener(listener) }()
	d.t.Cleanup(func() {
		stop()
		if err := app.ShutdownWithTimeout(deadline); err != nil {
			d.t.Error(err)
		}
		if err := <-served; err != nil {
			d.t.Error(err)
		}
	})
}

// account opens an account with the free plan's credit.
func (d *desk) account() access.Principal {
	d.t.Helper()
	accountID := id.New("acct_")
	err := postgres.InTx(d.t.Context(), d.db, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(d.t.Context(), `INSERT INTO accounts (id, email, name, password_hash, plan, created_at)
			VALUES ($1, $2, '', '', 'free', now())`, accountID, accountID+"@example.org")
		if err != nil {
			return err
		}
		return d.ledger.OpenAccount(d.t.Context(), tx, accountID, "free", time.Now())
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return access.Principal{AccountID: accountID, Plan: "free", Environment: access.Live, Scopes: contract.Scopes}
}

// file gives an account a stored file. One that is called .pdb holds a receptor.
func (d *desk) file(caller access.Principal, key string, byteSize int64, sha256 string) {
	d.t.Helper()
	if strings.HasSuffix(key, ".pdb") {
		d.put(key, smallReceptor+strings.Repeat(" ", max(int(byteSize)-len(smallReceptor), 0)))
	}
	d.files[caller.AccountID+" "+key] = engines.Object{StorageKey: key, ByteSize: byteSize, SHA256: sha256}
}

// put stores a file that is no account's yet.
func (d *desk) put(key, content string) {
	d.t.Helper()
	if _, err := d.deps.Objects.Put(d.t.Context(), key, strings.NewReader(content), "chemical/x-pdb",
		digestOf(content)); err != nil {
		d.t.Fatal(err)
	}
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// smallReceptor is a receptor of two chains at the place where these tests dock.
const smallReceptor = `REMARK 350 BIOMOLECULE: 1
REMARK 350 APPLY THE FOLLOWING TO CHAINS: A, B
ATOM      1  N   GLY A   1       1.000   2.000   3.000  1.00  0.00           N
ATOM      2  CA  GLY A   1       2.200   2.000   3.000  1.00  0.00           C
ATOM      3  C   GLY A   1       3.400   2.000   3.000  1.00  0.00           C
ATOM      4  CA  GLY B   1       3.400   6.000   3.000  1.00  0.00           C
`

// docking is a submission that docks two ligands; its scene is the account's file "receptor.pdb".
const docking = `{"jobType":"simulation","simulator":"AutoDock Vina","sceneFile":"receptor.pdb","jobName":"ABL1 screen","metadata":{"ticket":12345678901234567890},
	"simulationParams":{"boxCenterAngstrom":[1,2,3],"boxSizeAngstrom":20,"ligandLibrary":[
		{"ligandId":"a","label":"ethanol","source":{"kind":"smiles","smiles":"CCO"}},
		{"ligandId":"b","label":"benzene","source":{"kind":"smiles","smiles":"c1ccccc1"}}]}}`

// submit stores the docking job and returns its id.
func (d *desk) submit(caller access.Principal) string {
	d.t.Helper()
	d.file(caller, "receptor.pdb", 1000, "")
	receipt, err := d.Submit(access.With(d.t.Context(), caller), caller, "", request(d.t, docking))
	if err != nil {
		d.t.Fatal(err)
	}
	return receipt.JobID
}

func (d *desk) exec(statement string, args ...any) {
	d.t.Helper()
	if _, err := d.db.ExecContext(d.t.Context(), statement, args...); err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
}

// call sends a request and returns the answer with its body read.
func (d *desk) call(caller access.Principal, method, path, body string, headers ...string) (*http.Response, string) {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("X-Account", caller.AccountID)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response, string(text)
}

// decoded reads JSON into a T and refuses members that T does not have.
func decoded[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// wantFault checks an error's code and that it names a place.
func wantFault(t *testing.T, name string, err error, code fault.Code, place string) {
	t.Helper()
	if !fault.Is(err, code) || !strings.Contains(err.Error(), place) {
		t.Errorf("%s: got %v, want %s naming %q", name, err, code, place)
	}
}
