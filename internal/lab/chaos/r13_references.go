package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/mol"
)

// queryKinds says what the free texts of queries may name of another tenant.
var queryKinds = map[string][]string{
	"experimentId": {anExperiment}, "batchId": {aBatch}, "jobId": {aJob}, "job_id": {aJob}, "resultId": {aResult}, "task": {aTask},
	"requestId": {aRequestName}, "requestRunId": {aRunName}, "ligandId": {aLigandName}, "inchiKey": {anInChIKey},
	"q": {aTitle, aJob, anExperiment, aLigandName},
}

// plainQueries are free texts of queries that name nobody's things.
var plainQueries = map[string]string{
	"cursor": "checked by itself", "simulator": "an engine", "stage": "a stage of an engine",
	"database": "the databases are everybody's", "interaction": "an atom's contact", "state": "of a sign-in",
	"code": "of a sign-in", "error": "of a sign-in", "next": "a page of the service", "sceneFile": "checked with the bodies",
}

// queries asks, as the spy, for lists that are narrowed to the owner's things, and with the owner's cursors.
func (t *trespass) queries(ctx context.Context) error {
	var failures []error
	for _, o := range t.doc.operations() {
		for _, p := range o.in("query") {
			if !p.Schema.isText() && (p.Schema.Items == nil || !p.Schema.Items.isText()) {
				continue
			}
			kinds := queryKinds[p.Name]
			if _, plain := plainQueries[p.Name]; !plain && len(kinds) == 0 {
				return fmt.Errorf("%s: the test does not know what the query %s names", o, p.Name)
			}
			for _, kind := range kinds {
				for _, value := range t.owner.owned[kind] {
					failures = append(failures, t.narrowed(ctx, o, p.Name, value))
				}
			}
		}
		failures = append(failures, t.foreignCursor(ctx, o))
	}
	return someOf(failures)
}

// ownPath fills an operation's address with the spy's own things; ok is false where it has none, so that only a foreign address is
// left, which paths has tried.
func (t *trespass) ownPath(o operation) (values map[string]string, ok bool) {
	values = map[string]string{}
	for _, p := range o.in("path") {
		kind := kindOf(o.Path, p.Name)
		if kind == aNumber {
			values[p.Name] = "1"
			continue
		}
		if len(t.spy.owned[kind]) == 0 {
			return nil, false
		}
		values[p.Name] = t.spy.owned[kind][0]
	}
	return values, true
}

// otherText is a text that nobody uses, of the same form.
func otherText(owned string) string {
	switch {
	case strings.Contains(owned, "-") && strings.ToUpper(owned) == owned: // an InChIKey
		return strings.Map(func(r rune) rune {
			if r == '-' {
				return r
			}
			return 'Q'
		}, owned)
	case strings.Contains(owned, "_"):
		return unknown(owned)
	}
	return id.New("none ")
}

// narrowed compares a list that is narrowed to a foreign thing with one that is narrowed to an unknown one.
func (t *trespass) narrowed(ctx context.Context, o operation, name, value string) error {
	path, ok := t.ownPath(o)
	if !ok {
		return nil
	}
	send := func(text string) (Answer, error) {
		return t.spy.as(o).send(ctx, t.world.APIs()[0], o.Method, o.at(path)+"?"+url.Values{name: {text}}.Encode(), nil)
	}
	foreign, err := send(value)
	if err != nil {
		return err
	}
	other, err := send(otherText(value))
	if err == nil {
		err = t.alike(foreign, other, []string{value}, nil)
	}
	if err != nil {
		return fmt.Errorf("%s with the query %s of %q: %w", o, name, value, err)
	}
	return nil
}

// foreignCursor goes on, as the spy, where a list of the owner has stopped.
func (t *trespass) foreignCursor(ctx context.Context, o operation) error {
	path, ok := t.ownPath(o)
	if !ok || !slices.ContainsFunc(o.in("query"), func(p parameter) bool { return p.Name == "cursor" }) {
		return nil
	}
	of := map[string]string{}
	for _, p := range o.in("path") {
		if of[p.Name] = path[p.Name]; kindOf(o.Path, p.Name) != aNumber {
			of[p.Name] = t.owner.owned[kindOf(o.Path, p.Name)][0]
		}
	}
	first, err := t.owner.as(o).send(ctx, t.world.APIs()[0], o.Method, o.at(of)+"?limit=1", nil)
	if err != nil {
		return err
	}
	var list struct{ NextCursor *string }
	if err := first.read(&list, http.StatusOK); err != nil || list.NextCursor == nil {
		return err
	}
	answer, err := t.spy.as(o).send(ctx, t.world.APIs()[0], o.Method, o.at(path)+"?"+
		url.Values{"cursor": {*list.NextCursor}}.Encode(), nil)
	if err == nil && answer.Status != http.StatusOK && answer.Status != http.StatusBadRequest {
		err = fmt.Errorf("answered %s", answer)
	}
	if err == nil {
		err = t.silent(answer, nil)
	}
	if err != nil {
		return fmt.Errorf("%s with another tenant's cursor: %w", o, err)
	}
	return nil
}

// reference is a place in a submission that names something stored.
type reference struct {
	place string
	named string // what the owner has
	other string // what nobody has
	body  func(value string) map[string]any
}

// references are all places of a submission that name something stored, filled so that nothing else is wrong.
func (t *trespass) references() []reference {
	file, gone := t.owner.receptor.key, strings.Replace(t.owner.receptor.key, "secret-receptor", "secret-nothing", 1)
	dock := func(params map[string]any) map[string]any {
		all := smallDocking(mol.BoxCenter{}, "one", "two")
		for name, value := range params {
			if all[name] = value; name == "ligandIdentity" {
				delete(all, "ligandLibrary")
			}
		}
		return map[string]any{"jobType": "simulation", "simulator": vina.ID, "sceneFile": t.spy.receptor.key,
			"simulationParams": all}
	}
	artifact := func(key string) map[string]any {
		return map[string]any{"schema": "service.docking.artifact/v1", "artifactId": "art", "storageKey": key,
			"sha256": t.owner.receptor.sha256, "byteSize": t.owner.receptor.byteSize, "mediaType": "chemical/x-pdbqt",
			"format": "pdbqt"}
	}
	ligand := func(key string) map[string]any {
		return map[string]any{"ligandId": "l", "label": "l", "source": map[string]any{"kind": "artifact",
			"artifact": artifact(key)}}
	}
	prepared := func(cacheKey string) map[string]any {
		of := t.owner.prepared
		return map[string]any{"cacheKey": cacheKey, "receptorIdentitySha256": of.IdentitySHA256,
			"preparationSha256": of.PreparationSHA256,
			"toolchainSha256":   of.ToolchainSHA256, "workerImageDigest": "sha256:" + of.ToolchainSHA256}
	}
	execution := func(of map[string]any) map[string]any {
		return dock(map[string]any{"dockingExecution": map[string]any{"shardSize": 1, "preparedReceptor": of}})
	}
	nobodys := strings.Repeat("0", len(t.owner.prepared.CacheKey))
	all := []reference{
		{"sceneFile", file, gone, func(v string) map[string]any { body := dock(nil); body["sceneFile"] = v; return body }},
		{"attachments", file, gone, func(v string) map[string]any {
			body := dock(nil)
			body["attachments"] = []string{
				v}
			return body
		}},
		{"receptorArtifact", file, gone,
			func(v string) map[string]any { return dock(map[string]any{"receptorArtifact": artifact(v)}) }},
		{"ligandIdentity", file, gone, func(v string) map[string]any { return dock(map[string]any{"ligandIdentity": ligand(v)}) }},
		{"ligandLibrary", file, gone, func(v string) map[string]any {
			return dock(map[string]any{"ligandLibrary": []any{ligand(v)}})
		}},
		{"preparedReceptor.cacheKey", t.owner.prepared.CacheKey, nobodys,
			func(v string) map[string]any { return execution(prepared(v)) }},
		{"preparedReceptor.artifact", file, gone, func(v string) map[string]any {
			of := prepared(t.owner.prepared.CacheKey)
			of["artifact"] = artifact(v)
			return execution(of)
		}},
	}
	return append(all, t.dynamics(file, gone)...)
}

// dynamics are the places of a molecular dynamics request.
func (t *trespass) dynamics(file, gone string) []reference {
	at := func(place string, put func(request map[string]any, artifact map[string]any)) reference {
		return reference{"openmmRequest." + place, file, gone, func(v string) map[string]any {
			request := shortDynamics()
			put(request, map[string]any{"schema": "molecule.openmm.artifact/v1", "artifactId": "art", "storageKey": v,
				"sha256": t.owner.receptor.sha256, "byteSize": t.owner.receptor.byteSize,
				"format":    map[string]string{"input.prmtop": "prmtop", "execution.restartCheckpoint": "checkpoint"}[place],
				"mediaType": "text/plain"})
			return map[string]any{"jobType": "simulation", "simulator": openmm.ID, "sceneFile": t.spy.Scene(),
				"simulationParams": map[string]any{"openmmRequest": request}}
		}}
	}
	own := map[string]any{"schema": "molecule.openmm.artifact/v1", "artifactId": "art", "storageKey": t.spy.receptor.key,
		"sha256": t.spy.receptor.sha256, "byteSize": t.spy.receptor.byteSize, "format": "pdb", "mediaType": "text/plain"}
	return []reference{
		at("input.coordinates", func(request, artifact map[string]any) {
			artifact["format"] = "pdb"
			request["input"] = map[string]any{"kind": "protein", "coordinates": artifact}
		}),
		at("input.prmtop", func(request, artifact map[string]any) {
			request["input"] = map[string]any{"kind": "amber", "prmtop": artifact, "coordinates": artifact}
			request["protocol"].(map[string]any)["forceField"] = "amber-prmtop"     //nolint:forcetypeassert // shortDynamics has made it
			request["protocol"].(map[string]any)["waterModel"] = "input-parameters" //nolint:forcetypeassert // as above
		}),
		at("execution.restartCheckpoint", func(request, artifact map[string]any) {
			request["input"] = map[string]any{"kind": "protein", "coordinates": own}
			request["execution"].(map[string]any)["restartCheckpoint"] = artifact //nolint:forcetypeassert // as above
		}),
	}
}

// shortDynamics is a request of the least work, without its input.
func shortDynamics() map[string]any {
	return map[string]any{
		"schema": "molecule.openmm.request/v1", "requestId": "r", "runId": "r", "confirmed": true,
		"protocol": map[string]any{"forceField": "amber14", "waterModel": "tip3p", "pH": 7, "ionicStrengthM": 0.15,
			"temperatureK": 300, "pressureBar": 1, "timestepFs": 2, "frictionPerPs": 1, "constraints": "HBonds",
			"nonbondedMethod": "PME", "minimization": map[string]any{"enabled": true, "maxIterations": 10, "toleranceKjMolNm": 10},
			"equilibration": map[string]any{"nvtSteps": 10, "nptSteps": 10}, "productionSteps": 10, "seed": 1,
			"removeCenterOfMassMotion": true},
		"outputs": map[string]any{"trajectoryIntervalSteps": 10, "stateIntervalSteps": 10, "checkpointIntervalSteps": 10,
			"analysisIntervalSteps": 10,
			"trajectoryFormat":      "dcd"},
		"execution": map[string]any{"platform": map[string]any{"name": "CPU", "precision": "mixed", "deviceIndex": "cpu"},
			"workerImageDigest": "sha256:" + strings.Repeat("0", 64)},
	}
}

// namesSomething matches the last part of a member that may name something stored.
var namesSomething = regexp.MustCompile(`(Ids?|Keys?|sceneFile|[tT]oken|attachments\[\])$`)

// bodyKinds says of every such member of a request's body where the test has it, or why nobody's thing is named by it.
var bodyKinds = map[string]string{
	"sceneFile": "references", "attachments[]": "references", "storageKey": "references", "cacheKey": "references",
	"projectId": "packages", "idempotencyKey": "idempotency", "sessionId": "studio", "poseId": "studio",
	"artifactId": "the caller's own word for a file; the storage key finds it", "ligandId": "the caller's own word",
	"requestId": "the caller's own word", "runId": "the caller's own word", "componentId": "everybody's dictionary",
	"receptorPdbId": "everybody's entries", "sourceId": "everybody's dictionary", "receptorAssemblyId": "a part of the input",
	"tierId": "everybody's prices", "token": "signed, and says only what a look-up in everybody's dictionary found",
	"id": "of the payment provider's event, which is signed",
}

// knowsBodies makes sure that no member of any request's body is left out.
func (t *trespass) knowsBodies() error {
	for _, o := range t.doc.operations() {
		if !o.takesJSON() {
			continue
		}
		for _, place := range t.doc.texts(o.RequestBody.Content[jsonMedia].Schema) {
			last := place[strings.LastIndex(place, ".")+1:]
			if _, known := bodyKinds[last]; namesSomething.MatchString(place) && !known {
				return fmt.Errorf("%s: the test does not know what %s names", o, place)
			}
		}
	}
	return nil
}

// bodies names, as the spy, the owner's things in requests.
func (t *trespass) bodies(ctx context.Context) error {
	failures := []error{t.knowsBodies()}
	for _, r := range t.references() {
		failures = append(failures, t.submits(ctx, r), t.estimates(ctx, r))
	}
	return someOf(append(failures, t.packages(ctx), t.sameKeys(ctx)))
}

// submits names a foreign file and an unknown one in a submission: both are not found.
func (t *trespass) submits(ctx context.Context, r reference) error {
	send := func(value string) (Answer, error) {
		return t.spy.byKey.send(ctx, t.world.APIs()[0], http.MethodPost, "/api/v1/jobs/submit", encode(r.body(value)))
	}
	foreign, err := send(r.named)
	if err != nil {
		return err
	}
	other, err := send(r.other)
	if err == nil {
		err = t.alike(foreign, other, []string{r.named}, nil)
	}
	if err == nil && (foreign.Status != http.StatusUnprocessableEntity || !strings.HasSuffix(foreign.code(), "_NOT_FOUND")) {
		err = fmt.Errorf("answered %s, want that it is not found", foreign)
	}
	if err != nil {
		return fmt.Errorf("submit with a foreign %s: %w", r.place, err)
	}
	return nil
}

// estimates prices the same: the price must not tell whether the thing is there. The file of an account's estimate stands beside
// the body.
func (t *trespass) estimates(ctx context.Context, r reference) error {
	for _, path := range []string{"/api/v1/jobs/estimate", "/api/v1/public/estimate"} {
		send := func(value string) (Answer, error) {
			body, at := r.body(value), path
			if scene, named := body["sceneFile"].(string); named && path == "/api/v1/jobs/estimate" {
				at += "?" + url.Values{"sceneFile": {scene}}.Encode()
			}
			delete(body, "sceneFile")
			delete(body, "attachments")
			return t.spy.byKey.send(ctx, t.world.APIs()[0], http.MethodPost, at, encode(body))
		}
		foreign, err := send(r.named)
		if err != nil {
			return err
		}
		other, err := send(r.other)
		if err == nil {
			err = t.alike(foreign, other, []string{r.named}, nil)
		}
		if err != nil {
			return fmt.Errorf("%s with a foreign %s: %w", path, r.place, err)
		}
	}
	return nil
}

// packages puts a file into a package of the same id as the owner's: it becomes the spy's own package.
func (t *trespass) packages(ctx context.Context) error {
	of := t.owner.owned[aPackage][0]
	request := map[string]any{"filename": "wood.png", "contentType": "image/png", "size": 6, "projectId": of,
		"logicalPath": packagePath}
	var single struct{ S3Key string }
	var parts struct{ UploadID, Key string }
	_, err := t.spy.ask(ctx, t.spy.byKey, http.MethodPost, "/jobs/upload-url", request, &single)
	if err != nil {
		return err
	}
	request["size"] = 6 << 20
	if _, err := t.spy.ask(ctx, t.spy.byKey, http.MethodPost, "/uploads", request, &parts); err != nil {
		return err
	}
	for _, key := range []string{single.S3Key, parts.Key} {
		if !strings.Contains(key, t.spy.ID) || strings.Contains(key, t.owner.ID) {
			err = errors.Join(err, fmt.Errorf("a file for package %s of another tenant got the key %s", of, key))
		}
	}
	return errors.Join(err, t.spy.Client.AbortUpload(ctx, parts.UploadID))
}

// sameKeys submits with the owner's idempotency keys: they are new ones for the spy.
func (t *trespass) sameKeys(ctx context.Context) error {
	for _, key := range t.owner.owned[anIdempotencyKey] {
		receipt, err := t.spy.Client.Submit(ctx, t.spy.Request(Probe{Name: "mine"}), key)
		if err != nil {
			return err
		}
		if receipt.Body.IdempotentReplay || slices.Contains(t.owner.owned[aJob], receipt.Body.JobID) {
			return fmt.Errorf("the idempotency key of another tenant replays job %s", receipt.Body.JobID)
		}
	}
	return nil
}

// without is an answer in which a text that was asked for is left out.
func without(answer Answer, asked string) Answer {
	answer.Body = bytes.ReplaceAll(answer.Body, []byte(asked), []byte("…"))
	return answer
}

// agents asks the door of language models' programs for the owner's jobs.
func (t *trespass) agents(ctx context.Context) error {
	var failures []error
	for _, tool := range []string{"get_job_status", "get_job_outputs", "cancel_job"} {
		for _, owned := range t.owner.owned[aJob] {
			call := func(jobID string) (Answer, error) {
				message := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
					"params": map[string]any{"name": tool, "arguments": map[string]any{"jobId": jobID}}}
				return t.spy.byKey.send(ctx, t.world.APIs()[0], http.MethodPost, "/mcp", encode(message), "Accept",
					"application/json, text/event-stream")
			}
			foreign, err := call(owned)
			if err != nil {
				return err
			}
			made := unknown(owned)
			other, err := call(made)
			if err == nil {
				err = t.alike(without(foreign, owned), without(other, made), []string{owned}, []string{made})
			}
			if err == nil && !bytes.Contains(foreign.Body, []byte("NOT_FOUND")) {
				err = fmt.Errorf("answered %s, want that it is not found", foreign)
			}
			if err != nil {
				failures = append(failures, fmt.Errorf("the tool %s of %s: %w", tool, owned, err))
			}
		}
	}
	return someOf(failures)
}
