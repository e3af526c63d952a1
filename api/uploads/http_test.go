package uploads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/strictjson"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// The process-wide rules of huma that the front door sets before it registers a group.
func TestMain(m *testing.M) {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	huma.NewError = newRefusal
	os.Exit(m.Run())
}

// refusal shows what huma found, or the code and message of a handler's error; the front door writes its own envelope.
type refusal struct {
	Message string     `json:"error"`
	Code    fault.Code `json:"code"`
	status  int
}

func (r *refusal) Error() string  { return r.Message }
func (r *refusal) GetStatus() int { return r.status }

func newRefusal(status int, message string, errs ...error) huma.StatusError {
	r := &refusal{Message: message, status: status}
	for _, err := range errs {
		r.Message += "; " + err.Error()
		if known := (*fault.Error)(nil); errors.As(err, &known) {
			r.Message, r.Code = known.Message, known.Code
		}
	}
	return r
}

// door is the group behind a live socket; the header X-Account stands for a credential.
type door struct {
	t   *testing.T
	url string
}

func serve(t *testing.T, s *Service) door {
	t.Helper()
	app := fiber.New(fiber.Config{Immutable: true, DisableStartupMessage: true})
	config := huma.DefaultConfig("test", "1")
	config.CreateHooks = nil
	config.Formats = map[string]huma.Format{"application/json": {Marshal: huma.DefaultJSONFormat.Marshal,
		Unmarshal: strictjson.Unmarshal}}
	operations := humafiber.NewV2(app, config)
	operations.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		next(huma.WithContext(ctx, access.With(ctx.Context(), access.Principal{AccountID: ctx.Header("X-Account"),
			Scopes: contract.Scopes})))
	})
	Register(operations, s)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- app.Listener(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(app.ShutdownWithContext(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	return door{t: t, url: "http://" + listener.Addr().String()}
}

// call sends a request and returns the answer and its body.
func (d door) call(account, method, path, body string) (*http.Response, string) {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("X-Account", account)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return response, string(text)
}

func TestOperations(t *testing.T) { onEach(t, testOperations) }

func testOperations(t *testing.T, s *Service, db *sqlx.DB) {
	d, account := serve(t, s), newAccount(t, db)
	response, text := d.call(account, http.MethodPost, "/v1/uploads",
		`{"filename":"a.dcd","contentType":"text/plain","size":3,"jobType":"simulation"}`)
	var begun contract.MultipartInitResponse
	if err := json.Unmarshal([]byte(text), &begun); err != nil || response.StatusCode != http.StatusCreated ||
		response.Header.Get("Location") != "/api/v1/uploads/"+begun.UploadID {
		t.Fatalf("init: %d %s, Location %q", response.StatusCode, text, response.Header.Get("Location"))
	}
	for _, member := range []string{`"headers":{}`, `"checksumAlgorithm":null`} {
		if !strings.Contains(text, member) {
			t.Errorf("init: %s, want %s in it", text, member)
		}
	}
	path := "/v1/uploads/" + begun.UploadID
	sendAll(t, begun, tail)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{http.MethodGet, path, "", 200, `"missing":[]`},
		{http.MethodPost, path + "/parts", `{"parts":[{"partNumber":1}]}`, 200, `"partNumber":1`},
		{http.MethodPost, path + "/complete", `{"parts":[{"partNumber":1}]}`, 200, `"integrity":"size"`},
		{http.MethodPost, path + "/complete", `{"parts":[{"partNumber":1}]}`, 200, `"integrity":"size"`},
		{http.MethodGet, path, "", 200, `"complete":true`},
		{http.MethodDelete, path, "", 204, ""},
		{http.MethodDelete, path, "", 204, ""},
	} {
		if response, text := d.call(account, c.method, c.path, c.body); response.StatusCode != c.status ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", c.method, c.path, response.StatusCode, text, c.status, c.want)
		}
	}
}

func TestForeignUploadAnswersAsUnknownByteForByte(t *testing.T) { onEach(t, testForeignBytes) }

func testForeignBytes(t *testing.T, s *Service, db *sqlx.DB) {
	d, mine, theirs := serve(t, s), newAccount(t, db), newAccount(t, db)
	begun := begin(t, s, theirs, contract.MultipartInitRequest{Size: 3})
	for _, c := range []struct{ method, suffix, body string }{
		{http.MethodGet, "", ""},
		{http.MethodDelete, "", ""},
		{http.MethodPost, "/parts", `{"parts":[{"partNumber":1}]}`},
		{http.MethodPost, "/complete", `{"parts":[{"partNumber":1}]}`},
	} {
		foreign, foreignText := d.call(mine, c.method, "/v1/uploads/"+begun.UploadID+c.suffix, c.body)
		unknown, unknownText := d.call(mine, c.method, "/v1/uploads/upl_00000000000000000000000000000000"+c.suffix, c.body)
		if foreignText != unknownText || foreign.StatusCode != unknown.StatusCode ||
			!strings.Contains(foreignText, string(fault.NotFound)) {
			t.Errorf("%s %s: foreign %s, unknown %s", c.method, c.suffix, foreignText, unknownText)
		}
	}
}

func TestRequestsAreValidated(t *testing.T) { onEach(t, testRequestsAreValidated) }

func testRequestsAreValidated(t *testing.T, s *Service, db *sqlx.DB) {
	d, account := serve(t, s), newAccount(t, db)
	begun := begin(t, s, account, contract.MultipartInitRequest{Size: 3})
	many := func(n int) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = `{"partNumber":1}`
		}
		return `{"parts":[` + strings.Join(parts, ",") + `]}`
	}
	const file = `"filename":"f","contentType":"text/plain","size":3`
	parts, complete := "/v1/uploads/"+begun.UploadID+"/parts", "/v1/uploads/"+begun.UploadID+"/complete"
	for _, c := range []struct{ path, body, names string }{
		{"/v1/jobs/upload-url", `{` + file + `,"projectId":"` + testProject + `"}`, "logicalPath"},
		{"/v1/jobs/upload-url", `{` + file + `,"logicalPath":"a"}`, "projectId"},
		{"/v1/jobs/upload-url", `{` + file + `,"projectId":"x","logicalPath":"a"}`, "projectId"},
		{"/v1/jobs/upload-url", `{` + file + `,"projectId":"` + testProject + `","logicalPath":""}`, "logicalPath"},
		{"/v1/jobs/upload-url", `{` + file + `,"projectId":"` + testProject + `","logicalPath":"a/../b"}`, "logicalPath"},
		{"/v1/uploads", `{"filename":"","contentType":"text/plain","size":3}`, "filename"},
		{"/v1/uploads", `{"filename":"f","contentType":"","size":3}`, "contentType"},
		{"/v1/uploads", `{"filename":"f","contentType":"text/plain","size":0}`, "size"},
		{"/v1/uploads", `{"filename":"f","contentType":"text/plain","size":5497558138881}`, "size"},
		{"/v1/uploads", `{"filename":"f","contentType":"text/plain"}`, "size"},
		{"/v1/uploads", `{` + file + `,"partSize":0}`, "partSize"},
		{"/v1/uploads", `{` + file + `,"sha256":"ab"}`, "sha256"},
		{"/v1/uploads", `{` + file + `,"checksumAlgorithm":"md5"}`, "checksumAlgorithm"},
		{"/v1/uploads", `{` + file + `,"logicalPath":"a"}`, "projectId"},
		{"/v1/uploads", `{` + file + `,"extra":1}`, "extra"},
		{parts, `{"parts":[]}`, "parts"},
		{parts, many(1001), "parts"},
		{parts, `{"parts":[{"partNumber":0}]}`, "partNumber"},
		{parts, `{"parts":[{"partNumber":2}]}`, "parts[0].partNumber"},
		{parts, many(2), "parts[1].partNumber"},
		{parts, `{"parts":[{"partNumber":1,"checksumSha256":"abc"}]}`, "checksumSha256"},
		{parts, `{"parts":[{"partNumber":1,"checksumSha256":"` + base64Of(t, "") + `"}]}`, "parts[0].checksumSha256"},
		{complete, `{"parts":[]}`, "parts"},
		{complete, `{"parts":[{"partNumber":1}],"sha256":"zz"}`, "sha256"},
	} {
		response, text := d.call(account, http.MethodPost, c.path, c.body)
		if response.StatusCode < 400 || !strings.Contains(text, c.names) || strings.Contains(text, `"code":""`) &&
			response.StatusCode >= 500 {
			t.Errorf("%s %.200s: %d %s, want a refusal that names %s", c.path, c.body, response.StatusCode, text, c.names)
		}
	}
}
