package webhooks_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/webhooks"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/reach"
)

const path = "/api/v1/settings/webhooks"

// hangsFor is when a receiver is given up that does not answer: long, for those that do so on a busy machine.
const hangsFor = 5 * time.Second

// receiver is a server of an account's own. answer is what it says to the n-th request, from 1.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	heard  []heard
	answer func(w http.ResponseWriter, n int)
}

type heard struct {
	id     string
	body   []byte
	header http.Header
}

func listen(t *testing.T, answer func(w http.ResponseWriter, n int)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		r.heard = append(r.heard, heard{request.Header.Get("webhook-id"), body, request.Header})
		n := len(r.heard)
		r.mu.Unlock()
		r.answer(w, n)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []heard {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heard)
}

func status(code int) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) { w.WriteHeader(code) }
}

// house is the front door with the group, and a teller whose connections lead to receivers by their host names.
type house struct {
	*apitest.Door
	t      *testing.T
	teller *webhooks.Teller
	mu     sync.Mutex
	now    time.Time
	hosts  map[string]string // where a port of the one public address leads
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, now: time.Now().UTC().Truncate(time.Microsecond), hosts: map[string]string{}}
	roots := x509.NewCertPool()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	roots.AddCert(server.Certificate()) // all servers of httptest have the same
	server.Close()
	h.Door = apitest.Open(t, func(deps *api.Deps) {
		guard, err := reach.New(nil, func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return (&net.Dialer{}).DialContext(ctx, network, h.hosts[port])
		}, func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		service, err := webhooks.New(webhooks.Deps{DB: deps.DB, KeySecrets: deps.Config.KeySecrets, Guard: guard, Log: deps.Log,
			Now: h.clock})
		if err != nil {
			t.Fatal(err)
		}
		deps.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} // so that a test says where it calls from
		h.teller = service.NewTeller(webhooks.TellerDeps{Roots: roots, Patience: hangsFor})
		deps.Groups = []func(huma.API){func(a huma.API) { webhooks.Register(a, service) }}
	})
	return h
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) later(d time.Duration) {
	h.mu.Lock()
	h.now = h.now.Add(d)
	h.mu.Unlock()
}

func (h *house) pass() {
	h.t.Helper()
	if err := h.teller.Pass(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// url is an address that leads to a receiver; httptest's certificate is for example.com.
func (h *house) url(r *receiver) string {
	port := fmt.Sprint(1000 + len(h.hosts))
	h.hosts[port] = r.Listener.Addr().String()
	return "https://example.com:" + port + "/hook"
}

func want[T any](t *testing.T, c *apitest.Caller, code int, method, path, body string) T {
	t.Helper()
	got := c.Send(method, path, body)
	if got.StatusCode != code {
		t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, got.StatusCode, got.Text, code)
	}
	var out T
	if got.Text != "" {
		if err := json.Unmarshal([]byte(got.Text), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func asking(url string, more string) string {
	return fmt.Sprintf(`{"url":%q,"events":["job.ended","credit.low"]%s}`, url, more)
}

// job puts a job of an account into the tables that has ended just now.
func (h *house) job(accountID, jobID string, run int) {
	h.t.Helper()
	if _, err := h.DB.Exec(`INSERT INTO jobs (id, account_id, job_type, scene_file, request, status, stage_count, task_count,
			estimated_pence, held_pence, attempts, created_at, updated_at, finished_at)
		VALUES ($1, $2, 'render', 'k', '{}', 'COMPLETED', 1, 1, 1, 1, $3, $4, $4, $4)
		ON CONFLICT (id) DO UPDATE SET attempts = $3, finished_at = $4`, jobID, accountID, run, h.clock()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) deliveries(c *apitest.Caller, webhookID string) []contract.WebhookDelivery {
	h.t.Helper()
	return want[contract.WebhookDeliveryList](h.t, c, 200, "GET", path+"/"+webhookID+"/deliveries", "").Deliveries
}

func TestAWebhookOverItsLife(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada, eve := h.SignUp(), h.SignUp()
	made := want[contract.Webhook](t, ada, 201, "POST", path, asking("https://example.com/a", ""))
	if !strings.HasPrefix(made.Secret, "whsec_") || !made.Enabled || made.LowCreditPence != 500 {
		t.Errorf("got %+v", made)
	}
	one := path + "/" + made.ID
	if got := want[contract.Webhook](t, ada, 200, "GET", one, ""); got.Secret != "" || got.URL != made.URL {
		t.Errorf("read %+v, want no secret", got)
	}
	changed := want[contract.Webhook](t, ada, 200, "PUT", one,
		`{"url":"https://example.com/b","events":["job.ended"],"enabled":false,"lowCreditPence":7}`)
	if changed.URL != "https://example.com/b" || changed.Enabled || changed.LowCreditPence != 7 || changed.Secret != "" {
		t.Errorf("got %+v", changed)
	}
	rotated := want[contract.Webhook](t, ada, 200, "POST", one+"/rotate-secret", "")
	if !strings.HasPrefix(rotated.Secret, "whsec_") || rotated.Secret == made.Secret {
		t.Error("the secret is the same")
	}
	for _, request := range [][2]string{{"POST", one + "/test"}, {"POST", one + "/deliveries/msg_1/replay"}} {
		if got := ada.Send(request[0], request[1], ""); got.StatusCode != 400 || !strings.Contains(got.Text, "not enabled") {
			t.Errorf("%s: %d %s", request[1], got.StatusCode, got.Text)
		}
	}
	for _, request := range [][3]string{{"GET", one, ""}, {"PUT", one, asking("https://example.com/a", "")}, {"DELETE", one, ""},
		{"POST", one + "/rotate-secret", ""}, {"POST", one + "/test", ""}, {"GET", one + "/deliveries", ""},
		{"POST", one + "/deliveries/msg_1/replay", ""}} {
		if got := eve.Send(request[0], request[1], request[2]); got.StatusCode != http.StatusNotFound {
			t.Errorf("another account's %s %s: %d %s", request[0], request[1], got.StatusCode, got.Text)
		}
	}
	if got := want[contract.WebhookList](t, eve, 200, "GET", path, ""); len(got.Webhooks) != 0 {
		t.Errorf("another account lists %+v", got)
	}
	want[any](t, ada, 204, "DELETE", one, "")
	if got := want[contract.WebhookList](t, ada, 200, "GET", path, ""); len(got.Webhooks) != 0 {
		t.Errorf("got %+v after its end", got)
	}
}

func TestWhatIsNoWebhook(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	for body, says := range map[string]string{
		asking("http://example.com", ""):                                   "only https",
		asking("https://u:p@example.com", ""):                              "user name",
		asking("https://example.com/#a", ""):                               "fragment",
		asking("example.com", ""):                                          "is no address",
		asking("https://127.0.0.1/", ""):                                   "never contacted",
		asking("https://[::1]:80/", ""):                                    "never contacted",
		asking("https://10.0.0.1/", ""):                                    "private address",
		asking("https://169.254.169.254/", ""):                             "never contacted",
		`{"url":"https://example.com","events":[]}`:                        "events",
		`{"url":"https://example.com","events":["job"]}`:                   "events",
		`{"url":"https://example.com","events":["job.ended","job.ended"]}`: "names one twice",
		asking("https://example.com", `,"lowCreditPence":0`):               "lowCreditPence",
	} {
		if got := ada.Send("POST", path, body); got.StatusCode != 400 || !strings.Contains(got.Text, says) {
			t.Errorf("%s: got %d %s, want %q", body, got.StatusCode, got.Text, says)
		}
	}
	for range webhooks.MaxWebhooks {
		want[contract.Webhook](t, ada, 201, "POST", path, asking("https://example.com", ""))
	}
	if got := ada.Send("POST", path, asking("https://example.com", "")); got.StatusCode != 400 {
		t.Errorf("one more: %d %s", got.StatusCode, got.Text)
	}
}

// TestAJobsEndIsToldOnce in a message that its receiver can check, after each of its runs, and not what happened before.
func TestAJobsEndIsToldOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	h.job(ada.AccountID, "job_before", 1)
	h.later(time.Second)
	r := listen(t, status(204))
	made := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["job.ended"],"url":"`+h.url(r)+`"}`)
	h.later(time.Second)
	h.job(ada.AccountID, "job_a", 1)
	h.pass()
	h.pass()
	h.later(time.Minute)
	h.job(ada.AccountID, "job_a", 2)
	h.pass()
	got := r.all()
	if len(got) != 2 || got[0].id == got[1].id {
		t.Fatalf("heard %d messages, want one a run", len(got))
	}
	receiver, err := standardwebhooks.NewWebhook(made.Secret)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range got {
		if err := receiver.VerifyIgnoringTimestamp(one.body, one.header); err != nil {
			t.Error(err)
		}
		var said struct {
			Type string
			Data struct {
				JobID, Status string
				Run           int
			}
		}
		if err := json.Unmarshal(one.body, &said); err != nil || said.Type != "job.ended" || said.Data.JobID != "job_a" ||
			said.Data.Run != i+1 || said.Data.Status != "COMPLETED" {
			t.Errorf("got %s, %v", one.body, err)
		}
	}
	list := h.deliveries(ada, made.ID)
	if len(list) != 2 || list[0].State != "DELIVERED" || list[0].LastStatus != 204 || list[0].DeliveredAt == nil ||
		list[0].NextAt != nil || list[0].Attempts != 1 || list[0].Subject != "job_a" {
		t.Errorf("got %+v", list)
	}
}

// TestMoreIsToldFromNowOn: a webhook that asks for more is not told of what has happened before.
func TestMoreIsToldFromNowOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	r := listen(t, status(204))
	made := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["credit.low"],"lowCreditPence":1,"url":"`+h.url(r)+`"}`)
	h.later(time.Second)
	h.job(ada.AccountID, "job_before", 1)
	h.later(time.Second)
	want[contract.Webhook](t, ada, 200, "PUT", path+"/"+made.ID, asking(made.URL, `,"lowCreditPence":1`))
	h.later(time.Second)
	h.job(ada.AccountID, "job_after", 1)
	h.pass()
	// To ask for less, or the same, changes nothing.
	want[contract.Webhook](t, ada, 200, "PUT", path+"/"+made.ID, `{"events":["job.ended"],"url":"`+made.URL+`"}`)
	h.job(ada.AccountID, "job_after", 2)
	h.pass()
	var ids []string
	for _, one := range r.all() {
		ids = append(ids, one.id)
	}
	if fmt.Sprint(ids) != "[msg_job_after_1 msg_job_after_2]" {
		t.Errorf("heard %v, want the job that ended afterwards", ids)
	}
}

// TestAReceiverThatFails is sent the same message again, and of one job nothing else before it.
func TestAReceiverThatFails(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	r := listen(t, func(w http.ResponseWriter, n int) {
		switch n {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			http.Redirect(w, &http.Request{}, "https://127.0.0.1/", http.StatusTemporaryRedirect)
		}
	})
	made := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["job.ended"],"url":"`+h.url(r)+`"}`)
	h.job(ada.AccountID, "job_a", 1)
	h.pass()
	h.job(ada.AccountID, "job_a", 2)
	h.pass() // the second waits behind the first
	if list := h.deliveries(ada, made.ID); len(list) != 2 || list[1].State != "PENDING" || list[1].LastStatus != 500 ||
		list[0].Attempts != 0 || list[1].NextAt == nil {
		t.Errorf("got %+v", list)
	}
	for range 3 {
		h.later(2 * time.Minute)
		h.pass()
	}
	got := r.all()
	var ids []string
	for _, one := range got {
		ids = append(ids, one.id)
	}
	if fmt.Sprint(ids) != "[msg_job_a_1 msg_job_a_1 msg_job_a_1 msg_job_a_2]" {
		t.Errorf("heard %v, want the first until it was taken, and then the second", ids)
	}
	if list := h.deliveries(ada, made.ID); list[1].State != "DELIVERED" || list[1].Attempts != 3 || list[1].LastError != "" {
		t.Errorf("got %+v", list)
	}
}

// TestAReceiverThatHangs keeps nobody else waiting.
func TestAReceiverThatHangs(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	hanging, done := make(chan struct{}), listen(t, status(200))
	slow := listen(t, func(http.ResponseWriter, int) { <-hanging })
	t.Cleanup(func() { close(hanging) })
	late := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["job.ended"],"url":"`+h.url(slow)+`"}`)
	want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["job.ended"],"url":"`+h.url(done)+`"}`)
	gone := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["job.ended"],"url":"https://example.com:9/nobody"}`)
	h.job(ada.AccountID, "job_a", 1)
	h.pass()
	if len(done.all()) != 1 {
		t.Errorf("the other receiver heard %d messages", len(done.all()))
	}
	for id, says := range map[string]string{late.ID: "did not answer in time", gone.ID: "cannot be reached"} {
		if list := h.deliveries(ada, id); len(list) != 1 || list[0].LastStatus != 0 || !strings.Contains(list[0].LastError, says) ||
			strings.Contains(list[0].LastError, "127.0.0.1") {
			t.Errorf("got %+v, want %q", list, says)
		}
	}
}

// TestGivenUp: after days, or where the server says that it is gone, nothing is sent any more, and the webhook is disabled.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	failing, gone := listen(t, status(503)), listen(t, status(http.StatusGone))
	tried := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["job.ended"],"url":"`+h.url(failing)+`"}`)
	ended := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["job.ended"],"url":"`+h.url(gone)+`"}`)
	h.job(ada.AccountID, "job_a", 1)
	for range 12 {
		h.pass()
		h.later(25 * time.Hour)
	}
	if n := len(gone.all()); n != 1 {
		t.Errorf("a server that is gone heard %d messages", n)
	}
	if n := len(failing.all()); n != 10 {
		t.Errorf("a server that fails heard %d messages, want one and nine more", n)
	}
	for _, id := range []string{tried.ID, ended.ID} {
		got := want[contract.Webhook](t, ada, 200, "GET", path+"/"+id, "")
		list := h.deliveries(ada, id)
		if got.Enabled || got.DisabledReason == "" || len(list) != 1 || list[0].State != "FAILED" {
			t.Errorf("got %+v and %+v", got, list)
		}
	}
	// Its owner mends it, and has the message sent once more; what happened meanwhile is not told.
	failing.mu.Lock()
	failing.answer = status(200)
	failing.mu.Unlock()
	h.job(ada.AccountID, "job_b", 1)
	h.later(time.Second)
	want[contract.Webhook](t, ada, 200, "PUT", path+"/"+tried.ID, `{"events":["job.ended"],"url":"`+tried.URL+`"}`)
	again := want[contract.WebhookDelivery](t, ada, 200, "POST", path+"/"+tried.ID+"/deliveries/msg_job_a_1/replay", "")
	h.pass()
	list := h.deliveries(ada, tried.ID)
	if again.State != "PENDING" || len(list) != 1 || list[0].State != "DELIVERED" || failing.all()[10].id != "msg_job_a_1" {
		t.Errorf("got %+v, then %+v", again, list)
	}
	if got := ada.Send("POST", path+"/"+tried.ID+"/deliveries/msg_x/replay", ""); got.StatusCode != 404 {
		t.Errorf("a message that is none: %d", got.StatusCode)
	}
}

// TestLowCredit is told once until there was more.
func TestLowCredit(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	r := listen(t, status(200))
	var available int64
	if err := h.DB.Get(&available, `SELECT wallet_pence + monthly_pence FROM credit_accounts WHERE account_id = $1`,
		ada.AccountID); err != nil {
		t.Fatal(err)
	}
	made := want[contract.Webhook](t, ada, 201, "POST", path,
		fmt.Sprintf(`{"events":["credit.low"],"url":%q,"lowCreditPence":%d}`, h.url(r), available+1))
	h.pass()
	h.pass()
	more := func(threshold int64) {
		want[contract.Webhook](t, ada, 200, "PUT", path+"/"+made.ID,
			fmt.Sprintf(`{"events":["credit.low"],"url":%q,"lowCreditPence":%d}`, made.URL, threshold))
	}
	more(max(available, 1))
	h.pass()
	more(available + 2)
	h.pass()
	got := r.all()
	if len(got) != 2 || !strings.Contains(string(got[0].body), fmt.Sprintf(`"availablePence":%d`, available)) {
		t.Errorf("heard %d messages: %s", len(got), got)
	}
}

// TestATest is sent whatever the webhook asks for.
func TestATest(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	r := listen(t, status(200))
	made := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["credit.low"],"lowCreditPence":1,"url":"`+h.url(r)+`"}`)
	want[contract.WebhookDelivery](t, ada, 200, "POST", path+"/"+made.ID+"/test", "")
	h.pass()
	got := r.all()
	if len(got) != 1 || !strings.Contains(string(got[0].body), `"type":"webhook.test"`) {
		t.Errorf("heard %s", got)
	}
}

// TestAKeyFromSomewhereNew is told, with what shows which key it is.
func TestAKeyFromSomewhereNew(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.SignUp()
	r := listen(t, status(200))
	made := want[contract.Webhook](t, ada, 201, "POST", path, `{"events":["key.new_network"],"url":"`+h.url(r)+`"}`)
	keyID, key := ada.Key("live", "credits:read")
	for _, address := range []string{"198.51.100.7", "203.0.113.9", "203.0.113.10"} {
		if got := h.WithKey(key).Send("GET", "/api/v1/credits/balance", "", "X-Forwarded-For", address); got.StatusCode != 200 {
			t.Fatalf("from %s: %d %s", address, got.StatusCode, got.Text)
		}
		h.pass()
	}
	got := r.all()
	if len(got) != 1 {
		t.Fatalf("heard %s", got)
	}
	var said struct {
		Type string
		Data struct{ KeyID, KeyName, KeyLast4, Network string }
	}
	if err := json.Unmarshal(got[0].body, &said); err != nil || said.Type != "key.new_network" || said.Data.KeyID != keyID ||
		said.Data.KeyName != "test" || said.Data.KeyLast4 != key[len(key)-4:] || said.Data.Network != "203.0.113.0/24" ||
		strings.Contains(string(got[0].body), key) {
		t.Errorf("got %s, %v", got[0].body, err)
	}
	if list := h.deliveries(ada, made.ID); len(list) != 1 || list[0].Subject != keyID {
		t.Errorf("got %+v", list)
	}
}
