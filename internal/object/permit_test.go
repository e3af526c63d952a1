package object_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

const own = "accounts/acct_1/jobs/job_1/task_1/1/"

// opened is what lies in a permit, as its holder can read it.
type opened struct {
	Reads map[string]string `json:"reads"`
	URL   string            `json:"url"`
	Form  map[string]string `json:"form"`
}

func permit(t *testing.T, store *object.Store, grant object.Grant, at time.Time) (object.Permit, opened) {
	t.Helper()
	signed, err := store.Permit(t.Context(), grant, at)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var inside opened
	if err := json.Unmarshal(text, &inside); err != nil {
		t.Fatal(err)
	}
	return parsed(t, text), inside
}

// post sends a form as any HTTP client would.
func post(t *testing.T, address string, fields map[string]string, content string) (status int, text string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("file", "file")
	if err == nil {
		_, err = io.WriteString(file, content)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		t.Fatal(err)
	}
	status, text, _ = send(t, http.MethodPost, address, body.String(),
		map[string]string{"Content-Type": form.FormDataContentType()})
	return status, text
}

// with returns fields with others added or replaced; an empty one is left out.
func with(fields map[string]string, change map[string]string) map[string]string {
	changed := maps.Clone(fields)
	maps.Copy(changed, change)
	maps.DeleteFunc(changed, func(_, value string) bool { return value == "" })
	return changed
}

func TestPermitAllowsWhatItNames(t *testing.T) { objecttest.OnEach(t, testPermitAllowsWhatItNames) }

func testPermitAllowsWhatItNames(t *testing.T, store *object.Store, _ object.Config) {
	key := "accounts/acct_1/uploads/pose 1 + ü=%.sdf"
	put(t, store, key, "M  END")
	put(t, store, "empty", "")
	p, _ := permit(t, store, object.Grant{Reads: []string{key, "empty", "absent"}, Prefix: own, MaxBytes: 1000}, time.Now())
	path := filepath.Join(t.TempDir(), "in")
	for range 2 { // as often as its holder likes
		if info, err := object.GetFile(t.Context(), p, key, path, digest("M  END"), 6); err != nil ||
			info.SHA256 != digest("M  END") {
			t.Errorf("GetFile = %+v, %v", info, err)
		}
	}
	body, info, err := p.Get(t.Context(), key)
	if err != nil || info.SHA256 != digest("M  END") || info.ByteSize != 6 {
		t.Fatalf("Get = %+v, %v; want the digest that the store keeps", info, err)
	}
	if text, err := io.ReadAll(body); err != nil || string(text) != "M  END" || body.Close() != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := object.GetFile(t.Context(), p, "empty", path, digest(""), 0); err != nil {
		t.Errorf("an empty object: %v", err)
	}
	var mismatch *object.MismatchError
	if _, err := object.GetFile(t.Context(), p, key, path, digest("other"), 6); !errors.As(err, &mismatch) {
		t.Errorf("other bytes: %v, want a mismatch", err)
	}
	if _, _, err := p.Get(t.Context(), "absent"); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("absent: %v, want ErrNotFound", err)
	}
	for name, content := range map[string]string{"pose 1 + ü=%.sdf": "M  END\n", "logs/run.log": "",
		"checkpoint/000001/state": strings.Repeat("x", 1000)} {
		info, err := p.Put(t.Context(), own+name, strings.NewReader(content), pdbqt, "")
		if err != nil || info.SHA256 != digest(content) || info.ByteSize != int64(len(content)) {
			t.Errorf("Put %s = %+v, %v", name, info, err)
		}
		stored, err := store.Head(t.Context(), own+name)
		if err != nil || stored.SHA256 != digest(content) || stored.ContentType != pdbqt {
			t.Errorf("stored %+v, %v; want what was put, with its digest", stored, err)
		}
	}
	if _, err := p.Put(t.Context(), own+"bad", strings.NewReader("ATOM"), pdbqt, digest("MOTA")); !errors.As(err, &mismatch) {
		t.Errorf("another digest than stated: %v, want a mismatch", err)
	}
	if _, err := store.Head(t.Context(), own+"bad"); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("what was refused: %v, want nothing stored", err)
	}
}

// TestPermitAllowsNothingElse tries what a worker that has got out of hand would try.
func TestPermitAllowsNothingElse(t *testing.T) { objecttest.OnEach(t, testPermitAllowsNothingElse) }

func testPermitAllowsNothingElse(t *testing.T, store *object.Store, _ object.Config) {
	const mine, theirs = "accounts/acct_1/uploads/a", "accounts/acct_2/uploads/a"
	put(t, store, mine, "mine")
	put(t, store, theirs, "secret")
	p, inside := permit(t, store, object.Grant{Reads: []string{mine}, Prefix: own, MaxBytes: 10}, time.Now())
	if _, _, err := p.Get(t.Context(), theirs); !errors.Is(err, object.ErrRefused) {
		t.Errorf("an object that it does not name: %v, want ErrRefused", err)
	}
	address, mode := inside.Reads[mine], map[string]string{"X-Amz-Checksum-Mode": "ENABLED"}
	if status, text, _ := send(t, http.MethodGet, address, "", mode); status != http.StatusOK || text != "mine" {
		t.Fatalf("its own address: %d %s", status, text)
	}
	base, query, _ := strings.Cut(address, "?")
	bucket := strings.TrimSuffix(base, "/"+mine)
	for name, try := range map[string]struct{ method, address string }{
		"another key":          {http.MethodGet, bucket + "/" + theirs + "?" + query},
		"a way round":          {http.MethodGet, bucket + "/accounts/acct_1/uploads/../../acct_2/uploads/a?" + query},
		"an encoded way round": {http.MethodGet, bucket + "/accounts/acct_1/uploads/..%2f..%2facct_2/uploads/a?" + query},
		"the list":             {http.MethodGet, bucket + "?list-type=2&" + query},
		"no signature":         {http.MethodGet, bucket + "/" + theirs},
		"a longer life":        {http.MethodGet, strings.Replace(address, "X-Amz-Expires=3000", "X-Amz-Expires=30000", 1)},
		"to write":             {http.MethodPut, address},
		"to delete":            {http.MethodDelete, address},
	} {
		if status, text, _ := send(t, try.method, try.address, "", mode); status < 400 || strings.Contains(text, "secret") {
			t.Errorf("%s: %d %s; want a refusal", name, status, text)
		}
	}
	right := with(inside.Form, map[string]string{"key": own + "x", "Content-Type": pdbqt,
		"x-amz-checksum-sha256": checksum(t, "ATOM")})
	if status, text := post(t, inside.URL, right, "ATOM"); status >= 300 {
		t.Fatalf("a right form: %d %s", status, text)
	}
	for name, try := range map[string]struct {
		change  map[string]string
		content string
	}{
		"another prefix":   {map[string]string{"key": theirs}, "ATOM"},
		"another attempt":  {map[string]string{"key": strings.Replace(own, "/1/", "/2/", 1) + "x"}, "ATOM"},
		"a way out":        {map[string]string{"key": own + "../../../../../acct_2/uploads/a"}, "ATOM"},
		"another way out":  {map[string]string{"key": own + "..//../x"}, "ATOM"},
		"an absolute way":  {map[string]string{"key": "/" + own + "x"}, "ATOM"},
		"no key":           {map[string]string{"key": ""}, "ATOM"},
		"more than it may": {map[string]string{"x-amz-checksum-sha256": checksum(t, "ATOM ATOM ATOM")}, "ATOM ATOM ATOM"},
		"other bytes":      {nil, "MOTA"},
		"another policy":   {map[string]string{"policy": wider(t, inside.Form["policy"]), "key": theirs}, "ATOM"},
		"a field beside":   {map[string]string{"success_action_redirect": "http://elsewhere.test"}, "ATOM"},
		"no signature":     {map[string]string{"X-Amz-Signature": ""}, "ATOM"},
		"nothing of a signature": {map[string]string{"X-Amz-Signature": "", "policy": "", "X-Amz-Credential": "", "X-Amz-Date": "",
			"X-Amz-Algorithm": ""}, "ATOM"},
	} {
		fields := with(with(right, map[string]string{"key": own + name}), try.change)
		if status, text := post(t, inside.URL, fields, try.content); status < 400 {
			t.Errorf("%s: %d %s; want a refusal", name, status, text)
		}
	}
	if _, err := p.Put(t.Context(), theirs, strings.NewReader("ATOM"), pdbqt, ""); !errors.Is(err, object.ErrRefused) {
		t.Errorf("put another's object: %v, want ErrRefused", err)
	}
	var all []string
	for info, err := range store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.Key)
	}
	if want := []string{own + "x", mine, theirs}; !slices.Equal(all, want) {
		t.Errorf("the store holds %q, want %q", all, want)
	}
	if text, _, _ := store.Tail(t.Context(), theirs, 100); string(text) != "secret" {
		t.Errorf("the other account's object is %q", text)
	}
}

// checksum is a digest as S3 wants it.
func checksum(t *testing.T, content string) string {
	t.Helper()
	raw := make([]byte, 32)
	if _, err := fmt.Sscanf(digest(content), "%64x", &raw); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// wider is a policy that allows every key.
func wider(t *testing.T, policy string) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(policy)
	if err != nil || !strings.Contains(string(text), own) {
		t.Fatalf("the policy is %s, %v", text, err)
	}
	return base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(text), own, "")))
}

// TestPermitsExpire holds what is signed to its life; one that is over is refused, also before its date.
func TestPermitsExpire(t *testing.T) { objecttest.OnEach(t, testPermitsExpire) }

func testPermitsExpire(t *testing.T, store *object.Store, _ object.Config) {
	put(t, store, "key", "x")
	now := time.Now()
	p, inside := permit(t, store, object.Grant{Reads: []string{"key"}, Prefix: own, MaxBytes: 10}, now)
	if left := p.Until().Sub(now); left > object.PermitLife || left < object.PermitLife-2*time.Second {
		t.Errorf("it says that it is good for %v, want %v", left, object.PermitLife)
	}
	policy, err := base64.StdEncoding.DecodeString(inside.Form["policy"])
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Expiration time.Time }
	if err := json.Unmarshal(policy, &said); err != nil || said.Expiration.Sub(now) > object.PermitLife ||
		said.Expiration.Before(p.Until()) {
		t.Errorf("the form is good until %v (%v), want %v", said.Expiration, err, p.Until())
	}
	old, _ := permit(t, store, object.Grant{Reads: []string{"key"}, Prefix: own, MaxBytes: 10},
		now.Add(-object.PermitLife-time.Minute))
	if _, _, err := old.Get(t.Context(), "key"); !errors.Is(err, object.ErrRefused) {
		t.Errorf("read with an expired permit: %v, want ErrRefused", err)
	}
	if _, err := old.Put(t.Context(), own+"x", strings.NewReader("x"), pdbqt, ""); !errors.Is(err, object.ErrRefused) {
		t.Errorf("write with an expired permit: %v, want ErrRefused", err)
	}
	// Nearly as old as it may get, which is as long as the embedded server takes a form.
	last, _ := permit(t, store, object.Grant{Reads: []string{"key"}, Prefix: own, MaxBytes: 10},
		now.Add(-object.PermitLife+time.Minute))
	if _, err := last.Put(t.Context(), own+"x", strings.NewReader("x"), pdbqt, ""); err != nil {
		t.Errorf("write in its last minute: %v", err)
	}
	for what, none := range map[string]object.Permit{"the zero permit": {}, "an encoded zero permit": parsed(t, nil)} {
		if _, _, err := none.Get(t.Context(), "key"); !errors.Is(err, object.ErrRefused) {
			t.Errorf("%s reads: %v", what, err)
		}
		if _, err := none.Put(t.Context(), own+"x", strings.NewReader("x"), pdbqt, ""); !errors.Is(err, object.ErrRefused) {
			t.Errorf("%s writes: %v", what, err)
		}
	}
	if _, err := store.Permit(t.Context(), object.Grant{}, now); err == nil {
		t.Error("a permit for every key was signed")
	}
}

func parsed(t *testing.T, text []byte) object.Permit {
	t.Helper()
	p, err := object.ParsePermit(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPermitsAreForTheWorkersEndpoint: workers may see the store at another address than clients and the scheduler do.
func TestPermitsAreForTheWorkersEndpoint(t *testing.T) {
	t.Parallel()
	_, cfg := objecttest.New(t)
	cfg.PublicEndpoint, cfg.WorkerEndpoint = "https://objects.example.org", "http://store.inside:9000/base"
	store, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, inside := permit(t, store, object.Grant{Reads: []string{"a b"}, Prefix: own, MaxBytes: 10}, time.Now())
	at := "http://store.inside:9000/base/" + cfg.Bucket
	if !strings.HasPrefix(inside.Reads["a b"], at+"/a%20b?") || inside.URL != at {
		t.Errorf("signed %s and %s, want both at %s", inside.Reads["a b"], inside.URL, at)
	}
	cfg.WorkerEndpoint = "store"
	if _, err := object.New(cfg); err == nil {
		t.Error("an endpoint without a host is taken")
	}
}

// TestPermitIsNeverPrinted looks for the secret in what Go can make of a permit, and of the errors of its methods.
func TestPermitIsNeverPrinted(t *testing.T) {
	t.Parallel()
	_, cfg := objecttest.New(t)
	cfg.WorkerEndpoint = "http://127.0.0.1:1"
	store, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := permit(t, store, object.Grant{Reads: []string{"a"}, Prefix: own, MaxBytes: 10}, time.Now())
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("permit", "permit", p)
	body, err := json.Marshal(map[string]any{"permit": p})
	if err != nil {
		t.Fatal(err)
	}
	kept := struct{ permit object.Permit }{p}
	_, _, getErr := p.Get(t.Context(), "a")
	_, putErr := p.Put(t.Context(), own+"x", strings.NewReader("x"), pdbqt, "")
	if !errors.Is(getErr, object.ErrUnavailable) || !errors.Is(putErr, object.ErrUnavailable) {
		t.Errorf("a store that is away: %v, %v", getErr, putErr)
	}
	_, parseErr := object.ParsePermit([]byte(`{"reads":"X-Amz-Signature"}`))
	all := log.String() + string(body) + fmt.Sprintf("%v %+v %#v %s %q %v %+v %#v %v %v %v", p, p, p, p, p, kept, kept, kept,
		getErr, putErr, parseErr)
	if strings.Contains(strings.ToLower(all), "signature") || strings.Contains(all, "policy") {
		t.Errorf("the permit is printed:\n%s", all)
	}
}

func BenchmarkPermit(b *testing.B) {
	store, err := object.New(object.Config{Endpoint: "http://127.0.0.1:9000", Region: "us-east-1", Bucket: "molfabric",
		AccessKey: "molfabric", SecretKey: "secret"})
	if err != nil {
		b.Fatal(err)
	}
	for _, inputs := range []int{0, 3, 100, 1000} {
		b.Run(fmt.Sprint(inputs, " inputs"), func(b *testing.B) {
			grant := object.Grant{
				Prefix: "accounts/acct_01J9ZZZZZZZZZZZZZZZZZZZZZZ/jobs/job_01J9ZZZZZZZZZZZZZZZZZZZZZZ/" +
					"task_01J9ZZZZZZZZZZZZZZZZZZZZZZ/1/", MaxBytes: 1 << 30}
			for i := range inputs {
				grant.Reads = append(grant.Reads, fmt.Sprintf("%sposes-%05d.sdf", grant.Prefix, i))
			}
			for b.Loop() {
				p, err := store.Permit(b.Context(), grant, time.Now())
				if err != nil {
					b.Fatal(err)
				}
				text, err := p.Encode()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(text)), "B/permit")
			}
		})
	}
}
