package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	twenty := make([]float64, 20)
	for i := range twenty {
		twenty[i] = float64(20 - i)
	}
	for _, c := range []struct {
		values []float64
		share  float64
		want   float64
	}{
		{[]float64{3}, 0.95, 3}, {[]float64{2, 1}, 0.5, 1}, {[]float64{2, 1}, 0.95, 2}, {twenty, 0.95, 19}, {twenty, 1, 20},
		{twenty, 0, 1},
	} {
		if got := quantile(c.values, c.share); got != c.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", c.values, c.share, got, c.want)
		}
	}
}

func TestManyFailuresAreCounted(t *testing.T) {
	t.Parallel()
	if err := someOf(make([]error, 10)); err != nil {
		t.Errorf("no failures make %v", err)
	}
	many := make([]error, 100)
	for i := range many {
		many[i] = fmt.Errorf("failure %d", i)
	}
	text := someOf(many).Error()
	if !strings.HasPrefix(text, "failure 0\n") || strings.Count(text, "\n") != maxFailures ||
		!strings.HasSuffix(text, "100 failures in all") {
		t.Errorf("a hundred failures make %q", text)
	}
	if err := atOnce(3, func(i int) error { return many[i] }); err == nil || !errors.Is(err, many[2]) {
		t.Errorf("three failures at once make %v", err)
	}
}

func TestUnknownThingsLookReal(t *testing.T) {
	t.Parallel()
	for _, owned := range []string{"job_01a2020a29f57c0bb2a1b2e1b0a6a1f2", "01a20219-7f40-7af2-9c66-aa3c3ac708c0"} {
		if made := unknown(owned); made == owned || len(made) != len(owned) ||
			strings.Index(made, "_") != strings.Index(owned, "_") {
			t.Errorf("unknown(%q) = %q", owned, made)
		}
	}
	if made := otherText("LFQSCWFLJHTTHZ-UHFFFAOYSA-N"); made != "QQQQQQQQQQQQQQ-QQQQQQQQQQ-Q" {
		t.Errorf("another InChIKey is %q", made)
	}
}

// TestDocumentWalk finds texts in members, lists, unions and references, once each, and gets out of a schema that holds itself.
func TestDocumentWalk(t *testing.T) {
	t.Parallel()
	var d document
	err := json.Unmarshal([]byte(`{"components":{"schemas":{
		"Job":{"type":"object","properties":{"sceneFile":{"type":"string"},"files":{"type":"array","items":{"type":"string"}},"kind":{"type":"string","enum":["a"]},
			"at":{"type":"string","format":"date-time"},"size":{"type":"integer"},"of":{"oneOf":[{"$ref":"#/components/schemas/File"},{"type":"object"}]},
			"next":{"$ref":"#/components/schemas/Job"}}},
		"File":{"type":"object","properties":{"key":{"type":["string","null"]}}}}}}`), &d)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.texts(schema{Ref: "#/components/schemas/Job"}), []string{"files[]", "of.key", "sceneFile"}; !slices.Equal(got,
		want) {
		t.Errorf("texts are %q, want %q", got, want)
	}
}

// TestVisitorsVerdicts holds the rules of R14 against operations of each kind.
func TestVisitorsVerdicts(t *testing.T) {
	t.Parallel()
	guarded := func(method string, scopes []string, bills bool) operation {
		o := operation{Method: method, Security: []map[string][]string{{"apiKey": scopes}, {"session": {}}},
			Responses: map[string]json.RawMessage{}}
		if bills {
			o.Responses["402"] = nil
		}
		return o
	}
	submit, read, estimate := guarded("POST", []string{"jobs:write"}, true), guarded("GET", []string{"jobs:read"}, false),
		guarded("POST", []string{}, false)
	settings := operation{Method: "POST", Security: []map[string][]string{{"session": {}}}}
	open := operation{Method: "POST"}
	writer := visitor{keyed: true, bearer: true, scopes: []string{"jobs:write"}}
	tester, session, elsewhere := writer, visitor{}, visitor{foreignPage: true}
	tester.test = true
	for _, c := range []struct {
		name string
		who  visitor
		what operation
		want string
	}{
		{"nobody", visitor{nobody: true}, submit, "401 UNAUTHORIZED"},
		{"nobody where all may", visitor{nobody: true}, open, "400 "},
		{"a key", writer, submit, "400 "}, {"a test key that would be billed", tester, submit, "403 TEST_KEY_LIVE_BILLING"},
		{"a test key", tester, estimate, "400 "}, {"a key without the scope", writer, read, "403 INSUFFICIENT_SCOPE"},
		{"a key among settings", writer, settings, "403 SESSION_REQUIRED"}, {"a session", session, submit, "400 "},
		{"a session from elsewhere", elsewhere, submit, "403 CSRF_REJECTED"},
		{"a session that reads from elsewhere", elsewhere, read, "400 "},
		{"anybody from elsewhere", elsewhere, open, "403 CSRF_REJECTED"},
	} {
		status, code := c.who.verdict(c.what)
		if got := fmt.Sprintf("%d %s", status, code); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestAwayDuringFaults tells an answer in a fault, and just after it, from one of another time.
func TestAwayDuringFaults(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)
	e := &entrance{world: &World{patience: 1}, faults: []span{{from: noon, to: noon.Add(time.Second)}, {from: noon.Add(time.Hour)}}}
	for after, want := range map[time.Duration]bool{
		-time.Millisecond: false, 0: true, time.Second: true, time.Second + settling: false, time.Hour - time.Second: false,
		2 * time.Hour: true,
	} {
		if got := e.during(noon.Add(after)); got != want {
			t.Errorf("%s after the first fault: got %v, want %v", after, got, want)
		}
	}
}

// TestSignature holds an event's signature against one that was worked out by hand:
// printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_chaos
func TestSignature(t *testing.T) {
	t.Parallel()
	got := event{body: []byte("{}"), secret: webhookSecret, at: time.Unix(1_700_000_000, 0)}.signature()
	if want := "t=1700000000,v1=f1e75d24dd2b8e12fb9ccc94d4bd941ca3b640fb253cc3f92d31e7158fe9079c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
