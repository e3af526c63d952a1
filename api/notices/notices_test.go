package notices_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"mime"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/api/notices"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/mail"
	"github.com/molfabric/molfabric/internal/mail/mailtest"
)

const (
	path = "/api/v1/settings/notices"
	// public is how browsers would reach the service.
	public = "https://molfabric.example.org"
	// hangsFor is when a mail server is given up that does not answer: long, for one that does so on a busy machine.
	hangsFor = 3 * time.Second
)

// house is the front door with the group, a mail server, and the tellers of two instances.
type house struct {
	*apitest.Door
	t       *testing.T
	post    *mailtest.Server
	tellers [2]*notices.Teller
	mu      sync.Mutex
	now     time.Time
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, now: time.Now().UTC().Truncate(time.Microsecond), post: mailtest.Start(t, mailtest.Plain)}
	h.Door = apitest.Open(t, func(deps *api.Deps) {
		server, err := mail.NewSMTP("smtp://"+h.post.Address, "molfabric@example.org", h.clock)
		if err != nil {
			t.Fatal(err)
		}
		deps.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} // so that a test says where it calls from
		service := notices.New(notices.Deps{DB: deps.DB, Mail: mail.NewQueue(server, deps.Log), PublicURL: public + "/",
			Log: deps.Log, Now: h.clock, Limiter: throttle.New(deps.Redis, deps.Config.RedisPrefix, deps.Log, h.clock)})
		for i := range h.tellers {
			h.tellers[i] = service.NewTeller(notices.TellerDeps{Patience: hangsFor})
		}
		deps.Groups = []func(huma.API){func(a huma.API) { notices.Register(a, service) }}
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

// pass has both instances look and mail at once.
func (h *house) pass() {
	h.t.Helper()
	var passing sync.WaitGroup
	for _, teller := range h.tellers {
		passing.Go(func() {
			if err := teller.Pass(h.t.Context()); err != nil {
				h.t.Error(err)
			}
		})
	}
	passing.Wait()
}

func (h *house) exec(statement string, args ...any) {
	h.t.Helper()
	if _, err := h.DB.Exec(statement, args...); err != nil {
		h.t.Fatal(err)
	}
}

// proved opens an account whose address is proved, and for which a pass has been made.
func (h *house) proved() *apitest.Caller {
	h.t.Helper()
	c := h.SignUp()
	h.exec(`UPDATE accounts SET email_verified_at = now() WHERE id = $1`, c.AccountID)
	h.pass()
	h.later(time.Second)
	return c
}

// job puts a job of an account into the tables that has ended just now.
func (h *house) job(accountID, jobID string, run int) {
	h.t.Helper()
	h.exec(`INSERT INTO jobs (id, account_id, job_type, job_name, scene_file, request, status, stage_count, task_count,
			estimated_pence, held_pence, charged_pence, attempts, created_at, updated_at, finished_at)
		VALUES ($1, $2, 'render', E'first\nscreen', 'k', '{}', 'COMPLETED', 1, 1, 1, 1, 12, $3, $4, $4, $4)
		ON CONFLICT (id) DO UPDATE SET attempts = $3, finished_at = $4`, jobID, accountID, run, h.clock())
}

func want[T any](t *testing.T, c *apitest.Caller, code int, method, path, body string) T {
	t.Helper()
	got := c.Send(method, path, body)
	if got.StatusCode != code {
		t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, got.StatusCode, got.Text, code)
	}
	var out T
	if err := json.Unmarshal([]byte(got.Text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// ask chooses what an account is told.
func ask(t *testing.T, c *apitest.Caller, body string) contract.NoticeSettings {
	t.Helper()
	return want[contract.NoticeSettings](t, c, 200, "PUT", path, body)
}

// mailed are the subjects and texts of the mails that have arrived.
func (h *house) mailed() []string {
	h.t.Helper()
	var found []string
	for _, one := range h.post.Mails(h.t) {
		subject, err := new(mime.WordDecoder).DecodeHeader(one.Header.Get("Subject"))
		if err != nil {
			h.t.Error(err)
		}
		found = append(found, subject+"\n"+one.Text)
	}
	return found
}

// state counts the notices of an account that are in a state.
func (h *house) state(accountID, state string) (n int) {
	h.t.Helper()
	if err := h.DB.Get(&n, `SELECT count(*) FROM notices WHERE account_id = $1 AND state = $2`, accountID, state); err != nil {
		h.t.Fatal(err)
	}
	return n
}

func TestWhatIsMailedIsChosen(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada, eve := h.SignUp(), h.SignUp()
	usual := want[contract.NoticeSettings](t, ada, 200, "GET", path, "")
	if fmt.Sprint(usual.Events) != "[credit.low key.new_network]" || usual.LowCreditPence != 100 || usual.EmailVerified ||
		!usual.SendsMail || !strings.HasSuffix(usual.Email, "@example.org") {
		t.Errorf("got %+v", usual)
	}
	changed := ask(t, ada, `{"events":["job.ended"],"lowCreditPence":7}`)
	if fmt.Sprint(changed.Events) != "[job.ended]" || changed.LowCreditPence != 7 {
		t.Errorf("got %+v", changed)
	}
	if got := ask(t, ada, `{"events":[]}`); len(got.Events) != 0 || got.LowCreditPence != 100 {
		t.Errorf("got %+v, want nothing", got)
	}
	if got := want[contract.NoticeSettings](t, eve, 200, "GET", path, ""); fmt.Sprint(got.Events) != fmt.Sprint(usual.Events) {
		t.Errorf("another account has %+v", got)
	}
	for body, says := range map[string]string{
		`{}`:                                   "events",
		`{"events":["job"]}`:                   "events",
		`{"events":["job.ended","job.ended"]}`: "names one twice",
		`{"events":[],"lowCreditPence":0}`:     "lowCreditPence",
	} {
		if got := ada.Send("PUT", path, body); got.StatusCode != 400 || !strings.Contains(got.Text, says) {
			t.Errorf("%s: got %d %s, want %q", body, got.StatusCode, got.Text, says)
		}
	}
	mute := apitest.Open(t, func(deps *api.Deps) {
		service := notices.New(notices.Deps{DB: deps.DB, Log: deps.Log, Now: deps.Now})
		deps.Groups = []func(huma.API){func(a huma.API) { notices.Register(a, service) }}
	})
	if got := want[contract.NoticeSettings](t, mute.SignUp(), 200, "GET", path, ""); got.SendsMail {
		t.Error("a deployment without a mail server says that it sends mail")
	}
}

// TestAJobsEndIsMailedOnce by two instances that look at the same moment, to who asks for it; what has ended by then stands in one
// mail.
func TestAJobsEndIsMailedOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada, silent, unproved := h.proved(), h.proved(), h.SignUp()
	h.job(ada.AccountID, "job_before", 1)
	h.later(time.Second)
	for _, one := range []*apitest.Caller{ada, unproved} {
		ask(t, one, `{"events":["job.ended"]}`)
	}
	h.later(time.Second)
	h.job(ada.AccountID, "job_a", 1)
	h.job(ada.AccountID, "job_b", 1)
	h.job(silent.AccountID, "job_c", 1)
	h.job(unproved.AccountID, "job_d", 1)
	h.pass()
	h.pass()
	h.later(time.Minute)
	h.job(ada.AccountID, "job_a", 2)
	h.pass()
	got := h.mailed()
	if len(got) != 2 {
		t.Fatalf("got %d mails, want one of two jobs and one of a retry: %q", len(got), got)
	}
	for i, says := range [][]string{
		{"2 jobs have ended\n", public + "/jobs/job_a\n", public + "/jobs/job_b\n", "COMPLETED", "£0.12", public + "/settings",
			"molfabric notices --off job.ended"},
		{"Job \"first screen\" has ended: COMPLETED\n", public + "/jobs/job_a\n"},
	} {
		for _, words := range says {
			if !strings.Contains(got[i], words) {
				t.Errorf("the mail has no %q:\n%s", words, got[i])
			}
		}
	}
	if n := h.state(unproved.AccountID, "FAILED"); n != 1 {
		t.Errorf("%d notices to an address that is not proved are given up, want 1", n)
	}
}

// TestAMailServerThatFails or hangs is asked again, and has one mail in the end; one that refuses for good is not.
func TestAMailServerThatFails(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.proved()
	ask(t, ada, `{"events":["job.ended"]}`)
	h.job(ada.AccountID, "job_a", 1)
	for _, line := range []string{"451 later", ""} {
		h.post.Refuse(1, line)
		h.pass()
		if h.state(ada.AccountID, "PENDING") != 1 {
			t.Errorf("after %q the notice does not wait", line)
		}
		h.later(2 * time.Minute)
	}
	h.pass()
	h.later(time.Hour)
	h.pass()
	if got := h.mailed(); len(got) != 1 || !strings.Contains(got[0], "job_a") {
		t.Fatalf("got %d mails: %q", len(got), got)
	}
	h.post.Refuse(1, "550 nobody of this name")
	h.job(ada.AccountID, "job_b", 1)
	h.pass()
	if n := h.state(ada.AccountID, "FAILED"); n != 1 {
		t.Errorf("%d notices are given up, want the one that was refused", n)
	}
	h.post.Refuse(1000, "451 later")
	h.job(ada.AccountID, "job_c", 1)
	for range 12 {
		h.pass()
		h.later(25 * time.Hour)
	}
	if n := h.state(ada.AccountID, "FAILED"); n != 2 || len(h.mailed()) != 1 {
		t.Errorf("%d notices are given up after days, %d mails came", n, len(h.mailed()))
	}
}

// TestWhatIsTurnedOffIsNotMailed, though it waits already.
func TestWhatIsTurnedOffIsNotMailed(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.proved()
	ask(t, ada, `{"events":["job.ended"]}`)
	h.job(ada.AccountID, "job_a", 1)
	h.post.Refuse(1, "451 later")
	h.pass()
	ask(t, ada, `{"events":["credit.low"]}`)
	h.later(time.Hour)
	h.pass()
	if got := h.mailed(); len(got) != 0 || h.state(ada.AccountID, "PENDING") != 0 {
		t.Errorf("got %q", got)
	}
}

// TestLowCredit is mailed once until there was more; not of who had no more before, nor between two months.
func TestLowCredit(t *testing.T) {
	t.Parallel()
	h := open(t)
	poor := h.SignUp()
	h.exec(`UPDATE credit_accounts SET monthly_pence = 40 WHERE account_id = $1`, poor.AccountID)
	h.exec(`UPDATE accounts SET email_verified_at = now() WHERE id = $1`, poor.AccountID)
	ada := h.proved()
	left := func(pence int) {
		h.exec(`UPDATE credit_accounts SET monthly_pence = $2 WHERE account_id = $1`, ada.AccountID, pence)
		h.pass()
		h.pass()
	}
	left(99)
	left(98)
	left(100)
	left(97)
	got := h.mailed()
	if len(got) != 2 || !strings.Contains(got[0], "£0.99 left") || !strings.Contains(got[1], "£0.97 left") ||
		!strings.Contains(got[0], public+"/credits") {
		t.Fatalf("got %q", got)
	}
	left(500)
	h.exec(`UPDATE credit_accounts SET monthly_pence = 0, monthly_reset_at = $1`, h.clock().Add(-time.Minute))
	h.pass()
	if n := len(h.mailed()); n != 2 {
		t.Errorf("the end of a month brings %d mails", n-2)
	}
}

// TestAKeyFromSomewhereNew is told once for each network but the first, by whatever instance it is used.
func TestAKeyFromSomewhereNew(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.proved()
	keyID, key := ada.Key("live", "credits:read")
	from := func(address string) {
		got := h.WithKey(key).Send("GET", "/api/v1/credits/balance", "", "X-Forwarded-For", address)
		if got.StatusCode != 200 {
			t.Fatalf("from %s: %d %s", address, got.StatusCode, got.Text)
		}
		h.pass()
	}
	from("198.51.100.7")
	from("198.51.100.200")
	if got := h.mailed(); len(got) != 0 {
		t.Fatalf("the first network of a key is news: %q", got)
	}
	from("2001:db8:1:2::3")
	from("2001:db8:1:ffff::3")
	from("198.51.100.7")
	got := h.mailed()
	if len(got) != 1 {
		t.Fatalf("got %q", got)
	}
	for _, words := range []string{"2001:db8:1::/48", `"test"`, key[len(key)-4:], public + "/keys", "--off key.new_network"} {
		if !strings.Contains(got[0], words) {
			t.Errorf("the mail has no %q:\n%s", words, got[0])
		}
	}
	if strings.Contains(got[0], key) {
		t.Error("the mail holds the key")
	}
	var again int
	err := h.DB.Get(&again, `SELECT count(*) FROM api_key_networks WHERE key_id = $1 AND last_seen_at > first_seen_at`, keyID)
	if err != nil || again != 0 {
		t.Errorf("%d networks were written down more than once within the hour, %v", again, err)
	}
	// Another instance has not seen the key yet.
	elsewhere := keys.New(h.Deps.DB, h.Deps.Config.KeySecrets, slog.New(slog.DiscardHandler), time.Now)
	for _, address := range []string{"203.0.113.9", "198.51.100.7", "2001:db8:1::/64"} {
		if _, err := elsewhere.Verify(access.WithAddress(t.Context(), address), key); err != nil {
			t.Fatal(err)
		}
	}
	h.pass()
	if got := h.mailed(); len(got) != 2 || !strings.Contains(got[1], "203.0.113.0/24") {
		t.Fatalf("got %q", got)
	}
	for i := range 25 {
		if _, err := elsewhere.Verify(access.WithAddress(t.Context(), fmt.Sprintf("192.0.%d.1", i)), key); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() (n int) {
		if err := h.DB.Get(&n, `SELECT count(*) FROM api_key_networks WHERE key_id = $1`, keyID); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := kept(); n != 20 {
		t.Errorf("%d networks of a key are kept, want the last 20", n)
	}
	ada.Send("DELETE", "/api/v1/keys/"+keyID, "")
	if n := kept(); n != 0 {
		t.Errorf("%d networks of a revoked key are kept", n)
	}
}

// TestAnAddressGetsSoManyMails an hour; what is beyond waits.
func TestAnAddressGetsSoManyMails(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.proved()
	ask(t, ada, `{"events":["job.ended"]}`)
	for i := range 23 {
		h.job(ada.AccountID, fmt.Sprintf("job_%d", i), 1)
		h.pass()
	}
	if n, waiting := len(h.mailed()), h.state(ada.AccountID, "PENDING"); n != 20 || waiting != 3 {
		t.Errorf("got %d mails, and %d wait; want 20 and 3", n, waiting)
	}
}
