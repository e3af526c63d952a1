package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// asPrepared is the preparation of a request that says nothing about it, as Postgres may write it.
const asPrepared = `{"forceField":"AMBER","addHydrogens":true,"protonationPh":7.40,"protonationMethod":"pdb2pqr-propka",` +
	`"fixedProtonationStates":[],"removeComponents":[],"retainComponents":[],"waters":"none","leaveOut":[{"chain":"A"}]}`

// preparedFiles are what a later docking takes over of a preparation.
var preparedFiles = []string{"receptor.pdbqt", "receptor.pdb", "serials.json", "receptor.json"}

// hex64 is a digest of one character.
func hex64(c string) string { return strings.Repeat(c, 64) }

// prepare stores that a job of the account has prepared a receptor, with all of its files but those named, and returns its task.
func (l *library) prepare(caller access.Principal, cacheKey, identity, how string, lacking ...string) string {
	l.t.Helper()
	l.file(caller, "receptor.pdb", 1000, "")
	receipt, err := l.Submit(access.With(l.t.Context(), caller), caller, "", request(l.t, dock(`"ligandIdentity":`+ccd("ATP", ""))))
	if err != nil {
		l.t.Fatal(err)
	}
	var taskID string
	if err := l.db.GetContext(l.t.Context(), &taskID, `SELECT id FROM tasks WHERE job_id = $1`, receipt.JobID); err != nil {
		l.t.Fatal(err)
	}
	for i, name := range append(slices.Clone(preparedFiles), "box.json") {
		if slices.Contains(lacking, name) {
			continue
		}
		l.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type,
			format, created_at)
			VALUES ($1, $2, $3, $4, $5, 'intermediate', $6, $7, $8, '', '', now())`,
			id.New("art_"), receipt.JobID, taskID, caller.AccountID, name, taskID+"/"+name, hex64(fmt.Sprint(i)), i+1)
		if _, err := l.deps.Objects.Put(l.t.Context(), taskID+"/"+name, strings.NewReader(strings.Repeat("x", i+1)), "text/plain",
			""); err != nil {
			l.t.Fatal(err)
		}
	}
	l.exec(`INSERT INTO docking_preparations (account_id, cache_key, receptor_identity_sha256, preparation_sha256, toolchain_sha256,
		identity, preparation, task_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp())`, caller.AccountID, cacheKey, hex64("1"), hex64("2"), hex64("3"), identity, how, taskID)
	return taskID
}

func TestAPreparationIsFound(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	caller, other := l.account(), l.account()
	whole := `{"inputSha256":"` + hex64("a") + `","assemblyId":null,"model":null,"chains":null}`
	part := `{"model":1,"chains":["A","B"],"assemblyId":"1","inputSha256":"` + hex64("a") + `"}`
	acid := strings.Replace(asPrepared, "7.40", "5", 1)
	l.prepare(caller, hex64("a"), whole, asPrepared)
	newest := l.prepare(caller, hex64("b"), whole, asPrepared)
	l.prepare(caller, hex64("c"), part, asPrepared)
	l.prepare(caller, hex64("d"), whole, acid)
	l.prepare(other, hex64("e"), whole, asPrepared)
	ligand := `"ligandIdentity":` + ccd("ATP", "")
	for params, want := range map[string]string{
		ligand: hex64("b"),
		`"receptorAssemblyId":"1","receptorModel":1,"receptorChains":["A","B"],` + ligand: hex64("c"),
		`"receptorPreparation":{"protonationPh":5},` + ligand:                             hex64("d"),
		`"receptorPreparation":{"protonationPh":6},` + ligand:                             "",
		`"receptorPreparation":{"waters":"none"},` + ligand:                               hex64("b"),
		`"receptorPreparation":{"waters":"structural"},` + ligand:                         "",
		`"receptorChains":["A"],` + ligand:                                                "",
		`"receptorPdbId":"1CBS",` + ligand:                                                "",
	} {
		got := l.found(caller, params).Prepared
		switch {
		case want == "" && got != nil:
			t.Errorf("%s: got %+v, want none", params, got)
		case want != "" && (got == nil || got.CacheKey != want):
			t.Errorf("%s: got %+v, want %s", params, got, want)
		}
	}
	got := l.found(caller, ligand).Prepared
	if got.ReceptorIdentitySHA256 != hex64("1") || got.PreparationSHA256 != hex64("2") || got.ToolchainSHA256 != hex64("3") {
		t.Errorf("digests are %+v", got)
	}
	if names := slices.Sorted(maps.Keys(got.Files)); !slices.Equal(names, slices.Sorted(slices.Values(preparedFiles))) {
		t.Errorf("files are %q", names)
	}
	if file := got.Files["receptor.pdbqt"]; file.StorageKey != newest+"/receptor.pdbqt" || file.SHA256 != hex64("0") ||
		file.ByteSize != 1 {
		t.Errorf("the receptor is %+v", file)
	}

	// A file that nobody has a digest of might be another one; a preparation that has lost a file is none.
	l.file(caller, "receptor.pdb", 1000, "")
	if _, err := l.Submit(access.With(t.Context(), caller), caller, "", request(t, dock(ligand))); err != nil ||
		l.engine.request().Found.Prepared != nil {
		t.Errorf("without a digest: got %+v, %v", l.engine.request().Found.Prepared, err)
	}
	l.exec(`DELETE FROM artifacts WHERE name = 'serials.json' AND account_id = $1`, caller.AccountID)
	if got := l.found(caller, ligand).Prepared; got != nil {
		t.Errorf("without its files: got %+v", got)
	}
}

// TestALostPreparationIsForgotten loses files of preparations from the object store: the next whole one is found, and none in the
// end.
func TestALostPreparationIsForgotten(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	caller := l.account()
	whole := `{"inputSha256":"` + hex64("a") + `","assemblyId":null,"model":null,"chains":null}`
	tasks := map[string]string{}
	for _, key := range []string{"a", "b", "c"} { // the last is the newest
		tasks[key] = l.prepare(caller, hex64(key), whole, asPrepared)
	}
	lose := func(key, name string) {
		if err := l.deps.Objects.Delete(t.Context(), tasks[key]+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	ligand := `"ligandIdentity":` + ccd("ATP", "")
	named := ligand +
		fmt.Sprintf(
			`,"dockingExecution":{"preparedReceptor":{"cacheKey":%q,"receptorIdentitySha256":%q,"preparationSha256":%q,"toolchainSha256":%q,"workerImageDigest":"sha256:%s"}}`,
			hex64("c"), hex64("1"), hex64("2"), hex64("3"), hex64("3"))
	lose("c", "serials.json")
	_, err := l.Submit(access.With(t.Context(), caller), caller, "", request(t, dock(named)))
	wantFault(t, "by name", err, fault.ArtifactNotFound, "leave preparedReceptor out")
	if _, err := l.deps.Objects.Put(t.Context(), tasks["b"]+"/receptor.json", strings.NewReader("another size"), "text/plain",
		""); err != nil {
		t.Fatal(err)
	}
	if got := l.found(caller, ligand).Prepared; got == nil || got.CacheKey != hex64("a") {
		t.Errorf("with two lost: got %+v, want the third", got)
	}
	lose("a", "receptor.pdbqt")
	if got := l.found(caller, ligand).Prepared; got != nil {
		t.Errorf("with all lost: got %+v, want none", got)
	}
	var kept int
	if err := l.db.Get(&kept, `SELECT count(*) FROM docking_preparations WHERE account_id = $1`, caller.AccountID); err != nil ||
		kept != 0 {
		t.Errorf("%d preparations are remembered, %v; want none", kept, err)
	}
}

func TestAPreparationOfAnEntryIsFound(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	caller := l.account()
	params := `"receptorPdbId":"1CBS","ligandIdentity":` + ccd("ATP", "")
	digest := l.found(caller, params).Structures["1CBS"].SHA256
	l.prepare(caller, hex64("a"), `{"inputSha256":"`+digest+`","assemblyId":null,"model":null,"chains":null}`, asPrepared)
	if got := l.found(caller, params).Prepared; got == nil || got.CacheKey != hex64("a") {
		t.Errorf("got %+v", got)
	}
}

func TestAPreparationByName(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	caller, other := l.account(), l.account()
	taskID := l.prepare(caller, hex64("a"), `{}`, `{}`)
	l.prepare(caller, hex64("b"), `{}`, `{}`, "receptor.json")
	l.prepare(other, hex64("c"), `{}`, `{}`)
	l.file(caller, "mine.pdbqt", 1, "")
	named := func(cacheKey, identity, how, toolchain, image, more string) string {
		return fmt.Sprintf(
			`"ligandIdentity":%s,"dockingExecution":{"preparedReceptor":{"cacheKey":%q,"receptorIdentitySha256":%q,"preparationSha256":%q,"toolchainSha256":%q,"workerImageDigest":"sha256:%s"%s}}`,
			ccd("ATP", ""), hex64(cacheKey), hex64(identity), hex64(how), hex64(toolchain), hex64(image), more)
	}
	artifact := func(sha string, size int) string {
		return fmt.Sprintf(
			`,"artifact":{"schema":"service.docking.artifact/v1","artifactId":"r","storageKey":"mine.pdbqt","sha256":%q,"byteSize":%d,"mediaType":"chemical/x-pdbqt","format":"pdbqt"}`, hex64(sha), size)
	}
	for _, params := range []string{named("a", "1", "2", "3", "3", ""), named("a", "1", "2", "3", "3", artifact("0", 1))} {
		got := l.found(caller, params).Prepared
		if got == nil || got.CacheKey != hex64("a") || got.Files["receptor.pdbqt"].StorageKey != taskID+"/receptor.pdbqt" ||
			len(got.Files) != len(preparedFiles) {
			t.Errorf("%s: got %+v", params, got)
		}
	}
	place := "simulationParams.dockingExecution.preparedReceptor."
	for _, c := range []struct {
		name, params string
		code         fault.Code
		place        string
	}{
		{"unknown", named("f", "1", "2", "3", "3", ""), fault.ArtifactNotFound, place + "cacheKey: "},
		{"another account's", named("c", "1", "2", "3", "3", ""), fault.ArtifactNotFound, place + "cacheKey: "},
		{"another identity", named("a", "9", "2", "3", "3", ""), fault.Validation, place + "receptorIdentitySha256: "},
		{"another preparation", named("a", "1", "9", "3", "3", ""), fault.Validation, place + "preparationSha256: "},
		{"another toolchain", named("a", "1", "2", "9", "9", ""), fault.Validation, place + "toolchainSha256: "},
		{"another image", named("a", "1", "2", "3", "9", ""), fault.WorkerImageMismatch, place + "workerImageDigest: "},
		{"another file", named("a", "1", "2", "3", "3", artifact("9", 1)), fault.Validation, place + "artifact: "},
		{"files that are gone", named("b", "1", "2", "3", "3", ""), fault.ArtifactNotFound, place + "cacheKey: "},
	} {
		_, err := l.Submit(access.With(t.Context(), caller), caller, "", request(t, dock(c.params)))
		wantFault(t, c.name, err, c.code, c.place)
	}
}
