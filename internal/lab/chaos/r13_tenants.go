package chaos

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/id"
)

// twoTenants is R13: it lets a tenant ask for everything that another one owns.
func twoTenants(ctx context.Context, w *World, _ *rand.Rand) error {
	if err := w.Start(ctx, 2, 1, 0); err != nil {
		return err
	}
	if _, err := w.StartWorker(ctx, WorkerOptions{Slots: 4, Engines: everyEngine}); err != nil {
		return err
	}
	owner, err := w.tenant(ctx, "secret")
	if err != nil {
		return err
	}
	if err := owner.settle(ctx); err != nil {
		return err
	}
	spy, err := w.tenant(ctx, "own")
	if err != nil {
		return err
	}
	if err := spy.probe(ctx); err != nil {
		return err
	}
	if err := spy.keepProjects(ctx); err != nil {
		return err
	}
	if spy.receptor, err = spy.keep(ctx, "own.pdb", []byte(smallReceptor)); err != nil {
		return err
	}
	if err := spy.converse(ctx); err != nil {
		return err
	}
	for _, jobID := range spy.owned[aJob] {
		if err := w.AwaitCompleted(ctx, jobID); err != nil {
			return err
		}
	}
	return (&trespass{world: w, owner: owner, spy: spy}).everywhere(ctx)
}

// trespass is a tenant, the spy, who asks for what another one owns.
type trespass struct {
	world      *World
	owner, spy *tenant
	doc        document
	pairs      atomic.Int64 // requests with a foreign id that were held against one with an unknown id
}

// everywhere tries every operation of the document, every reference in queries and bodies, and the agents' door. What the owner
// has is the same afterwards.
func (t *trespass) everywhere(ctx context.Context) (err error) {
	if t.doc, err = readDocument(ctx, t.world.APIs()[0]); err != nil {
		return err
	}
	if err := t.ownerReaches(ctx); err != nil {
		return err
	}
	before, err := belongingsOf(ctx, t.world.db, t.owner.ID)
	if err != nil {
		return err
	}
	var failures []error
	for _, try := range []func(context.Context) error{t.paths, t.lists, t.queries, t.bodies, t.studio, t.agents} {
		failures = append(failures, try(ctx))
	}
	after, err := belongingsOf(ctx, t.world.db, t.owner.ID)
	if changed := changedTables(before, after); err == nil && changed != "" {
		err = fmt.Errorf("what the other tenant owns has changed in %s", changed)
	}
	t.world.Figure("compared_pairs_count", float64(t.pairs.Load()))
	t.world.Figure("tables_count", float64(len(before)))
	return someOf(append(failures, err))
}

// aNumber and aCapability are path parameters that name nobody's thing: a version or an index, the same for both, and a share's
// token, which opens for whoever has it, by design.
const aNumber, aCapability = "number", "capability"

// kindOf says what a path parameter names; "" when the test does not know it.
func kindOf(path, name string) string {
	switch name {
	case "version", "index":
		return aNumber
	case "token":
		return aCapability
	case "projectId":
		return aProject
	case "taskId":
		return aTask
	case "uploadId":
		return anUpload
	case "sessionId":
		return aSession
	case "name":
		return aSceneFile
	case "deliveryId":
		return aMessage
	}
	for prefix, kind := range map[string]string{
		"/v1/jobs/{id}": aJob, "/v1/keys/{id}": aKey, "/v1/settings/license-servers/{id}": aLicenseServer,
		"/v1/settings/webhooks/{id}":           aWebhook,
		"/v1/molecular/blast/searches/{jobId}": aSearch, "/v1/molecular/docking/experiments/{id}": anExperiment,
		"/v1/molecular/docking/batches/{id}": aBatch, "/v1/molecular/docking/runs/{id}": aRun,
		"/v1/molecular/docking/results/{id}": aResult, "/v1/molecular/docking/poses/{id}": aPose,
		"/v1/molecular/docking/artifacts/{id}": anArtifact,
	} {
		if strings.HasPrefix(path, prefix) {
			return kind
		}
	}
	return ""
}

// unknown is an id that nobody has, of the same form as a real one.
func unknown(owned string) string {
	if _, err := uuid.Parse(owned); err == nil {
		return uuid.NewString()
	}
	prefix, _, _ := strings.Cut(owned, "_")
	return id.New(prefix + "_")
}

// filling is the path parameters of one request, with what they are to be compared with, and the texts in which both differ.
type filling struct {
	real, unknown map[string]string
}

// inBodies are operations without an address of a thing whose bodies may name one.
var inBodies = []string{"submit-job", "estimate-job", "estimate-job-publicly", "create-upload-url", "init-upload",
	"open-studio-session", "render-studio-scene", "preview-studio-scene", "export-studio-scene"}

// unreached says of every other operation that changes something why no foreign thing can be named in it. What is read without a
// name is among the lists.
var unreached = map[string]string{
	"sign-up": "makes an account", "sign-in": "takes a password", "sign-out": "ends the caller's own session",
	"make-sign-in-link": "is of the caller's own session", "use-sign-in-link": "takes a link, which is its owner's to give away",
	"change-password": "takes the caller's own password",
	"close-account":   "takes the caller's own password",
	"verify-email":    "takes a link that was sent to an address", "send-verification": "sends one to the caller's own address",
	"create-key": "makes a key", "create-project": "makes a project", "older-create-project": "makes a project",
	"create-license-server": "makes a server", "create-webhook": "makes a webhook",
	"replace-notices":       "is of the caller's own account",
	"resolve-ligand":        "looks into everybody's dictionary",
	"top-up":                "begins a payment of the caller's",
	"receive-payment-event": "is signed by the payment provider; R19 delivers false ones",
}

// endless are the operations whose answer to their owner has no end: a session and an account may go on for ever, while a job's
// events end with it.
var endless = []string{"stream-studio-session", "watch-account"}

// fillings are all ways to name the owner's things in an operation's address; of an operation that names two things, also those in
// which the spy's own thing stands before the foreign one.
func (t *trespass) fillings(o operation) ([]filling, error) {
	all, foreign := []filling{{map[string]string{}, map[string]string{}}}, 0
	for _, p := range o.in("path") {
		kind := kindOf(o.Path, p.Name)
		var values [][2]string
		switch {
		case kind == "":
			return nil, fmt.Errorf("%s: the test does not know what the parameter %s names", o, p.Name)
		case kind == aCapability:
			return nil, nil
		case kind == aNumber:
			values = [][2]string{{"1", "1"}}
			if p.Name == "index" {
				values = [][2]string{{"0", "0"}} // of the first query
			}
		case len(t.owner.owned[kind]) == 0:
			return nil, fmt.Errorf("%s: the other tenant has no %s", o, kind)
		default:
			foreign++
			for _, owned := range t.owner.owned[kind] {
				values = append(values, [2]string{owned, unknown(owned)})
			}
			if foreign == 1 && len(o.in("path")) > 1 && len(t.spy.owned[kind]) > 0 && kind != aProject {
				values = append(values, [2]string{t.spy.owned[kind][0], t.spy.owned[kind][0]})
			}
		}
		all = product(all, p.Name, values)
	}
	if foreign == 0 {
		return nil, nil
	}
	return all, nil
}

// product adds a parameter with each of its values to each of the fillings.
func product(all []filling, name string, values [][2]string) (longer []filling) {
	for _, one := range all {
		for _, value := range values {
			next := filling{maps.Clone(one.real), maps.Clone(one.unknown)}
			next.real[name], next.unknown[name] = value[0], value[1]
			longer = append(longer, next)
		}
	}
	return longer
}

// required are the query parameters without which an operation refuses everybody.
func (o operation) required() string {
	var pairs []string
	for _, p := range o.in("query") {
		if p.Required || p.Name == "expectedVersion" {
			pairs = append(pairs, p.Name+"=1")
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	return "?" + strings.Join(pairs, "&")
}

// ownerReaches shows that the ids are real: whatever can be read of them, their owner can read.
func (t *trespass) ownerReaches(ctx context.Context) error {
	for _, o := range t.doc.operations() {
		all, err := t.fillings(o)
		if err != nil {
			return err
		}
		if !o.safe() || len(all) == 0 || slices.Contains(endless, o.OperationID) {
			continue
		}
		reached := 0
		for _, one := range all {
			answer, err := t.owner.as(o).send(ctx, t.world.APIs()[0], o.Method, o.at(one.real), nil)
			if err != nil {
				return err
			}
			if answer.Status < http.StatusBadRequest {
				reached++
			}
		}
		if reached == 0 {
			return fmt.Errorf("%s: the owner reaches nothing with its own %d ids", o, len(all))
		}
	}
	return nil
}

// paths asks every operation for the owner's things by their ids. The document's own example is the body.
func (t *trespass) paths(ctx context.Context) error {
	var failures []error
	for _, o := range t.doc.operations() {
		all, err := t.fillings(o)
		if err != nil {
			return err
		}
		if _, excused := unreached[o.OperationID]; len(all) == 0 && !o.safe() && !slices.Contains(inBodies, o.OperationID) &&
			!excused {
			return fmt.Errorf("%s: the test does not reach it, and does not say why", o)
		}
		for _, from := range []caller{t.spy.byKey, t.spy.byBrowser} {
			if _, ok := o.scheme("apiKey"); !ok && from.key != "" {
				continue
			}
			failures = append(failures, atMost(callsAtOnce, len(all), func(i int) error { return t.compare(ctx, o, from, all[i]) }))
		}
	}
	t.world.Figure("operations_count", float64(len(t.doc.operations())))
	t.world.Notef("operations that change something and name nobody's thing: %s",
		strings.Join(slices.Sorted(maps.Keys(unreached)), ", "))
	return someOf(failures)
}

// compare asks for a foreign thing and for an unknown one.
func (t *trespass) compare(ctx context.Context, o operation, from caller, one filling) error {
	send := func(values map[string]string) (Answer, error) {
		return from.send(ctx, t.world.APIs()[0], o.Method, o.at(values)+o.required(), o.example(), "Idempotency-Key",
			id.New("key_"))
	}
	foreign, err := send(one.real)
	if err != nil {
		return err
	}
	other, err := send(one.unknown)
	if err == nil {
		err = t.alike(foreign, other, slices.Collect(maps.Values(one.real)), slices.Collect(maps.Values(one.unknown)))
	}
	if err == nil {
		err = foreign.refuses(http.StatusNotFound, "NOT_FOUND")
	}
	if err != nil {
		return fmt.Errorf("%s of %v by %s: %w", o, one.real, from.name, err)
	}
	return nil
}

// leastID is the length of the shortest id.
const leastID = 20

// volatile are headers that differ between any two answers.
var volatile = []string{"Date", "X-Request-Id", "Ratelimit-Remaining", "Ratelimit-Reset"}

// alike holds two answers against each other, byte for byte: status, headers and body. Where a header repeats what was asked for,
// as Link does, the repetition is left out.
func (t *trespass) alike(foreign, other Answer, askedForeign, askedOther []string) error {
	t.pairs.Add(1)
	a, b := headers(foreign, askedForeign), headers(other, askedOther)
	switch {
	case foreign.Status != other.Status:
		return fmt.Errorf("a foreign thing is answered %s, an unknown one %s", foreign, other)
	case !bytes.Equal(foreign.Body, other.Body):
		return fmt.Errorf("a foreign thing is answered %s, an unknown one %s: the bodies differ", foreign, other)
	case a != b:
		return fmt.Errorf("the headers for a foreign thing are %s, and for an unknown one %s", a, b)
	}
	return t.silent(foreign, askedForeign)
}

// headers are an answer's headers in one text.
func headers(answer Answer, asked []string) string {
	var lines []string
	for name, values := range answer.Header {
		if slices.Contains(volatile, name) {
			continue
		}
		line := name + ": " + strings.Join(values, ", ")
		for _, text := range asked {
			if len(text) >= leastID { // not a version
				line = strings.ReplaceAll(line, text, "…")
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// silent makes sure that an answer to the spy holds nothing of the owner's that the spy has not sent.
func (t *trespass) silent(answer Answer, asked []string) error {
	for kind, values := range t.owner.owned {
		if kind == anInChIKey {
			continue // of a molecule that everybody may dock
		}
		for _, value := range append(slices.Clone(values), t.owner.ID, t.owner.Email) {
			if !slices.Contains(asked, value) && bytes.Contains(answer.Body, []byte(value)) {
				return fmt.Errorf("an answer holds the other tenant's %s %q: %s", kind, value, answer)
			}
		}
	}
	return nil
}

// lists reads, as the spy, everything that can be read without naming anything.
func (t *trespass) lists(ctx context.Context) error {
	for _, o := range t.doc.operations() {
		if !o.safe() || len(o.in("path")) > 0 || slices.Contains(endless, o.OperationID) {
			continue
		}
		answer, err := t.spy.as(o).send(ctx, t.world.APIs()[0], o.Method, o.at(nil), nil)
		if err == nil {
			err = t.silent(answer, nil)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o, err)
		}
	}
	return nil
}
