package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// The box around the place of imatinib (abl1.SiteCenterAngstrom), made smaller; small molecules in it dock within seconds.
const boxMembers = `"boxCenterAngstrom":[15.19,53.9,16.92],"boxSizeAngstrom":18`

var smiles = map[string]string{
	"aspirin": "CC(=O)Oc1ccccc1C(=O)O", "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "paracetamol": "CC(=O)Nc1ccc(O)cc1",
	"ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "nicotine": "CN1CCC[C@H]1c1cccnc1", "benzamidine": "NC(=N)c1ccccc1",
}

// docking is a submission that docks the named molecules.
func docking(sceneKey string, exhaustiveness int, names ...string) json.RawMessage {
	return dockingWith(`,"dockingReport":{"picture":"none"}`, sceneKey, exhaustiveness, names...)
}

// dockingWith is such a request with further parameters, each after a comma.
func dockingWith(further, sceneKey string, exhaustiveness int, names ...string) json.RawMessage {
	var ligands []string
	for _, name := range names {
		ligands = append(ligands, fmt.Sprintf(`{"ligandId":%q,"label":%q,"source":{"kind":"smiles","smiles":%q}}`, name, name,
			smiles[name]))
	}
	return json.RawMessage(fmt.Sprintf(`{"jobType":"simulation","simulator":"autodock-vina","sceneFile":%q,"jobName":"test",
		"simulationParams":{"ligandLibrary":[%s],%s,"exhaustiveness":%d,"seed":42%s}}`, sceneKey, strings.Join(ligands, ","), boxMembers, exhaustiveness, further))
}

// TestDockWithTheCommandLine is the whole path of a user who docks: sign-up, a key, an upload, a library with one broken
// ligand, the ranking, the files, the bill, and the same system after a restart.
func TestDockWithTheCommandLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	dir := t.TempDir()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	run := func(stdin string, args ...string) (stdout string, code int) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "MOLFABRIC_CONFIG="+filepath.Join(dir, "config.json"), "NO_COLOR=1")
		cmd.Stdin = strings.NewReader(stdin)
		var out, diagnostics bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &diagnostics
		code = exitCode(cmd.Run())
		t.Logf("molfabric %s → %d\n%s%s", strings.Join(args, " "), code, out.String(), diagnostics.String())
		return out.String(), code
	}
	if _, code := run("a long enough password\n", "login", "--server", s.url, "--sign-up", "--email", "chemist@example.org",
		"--password-stdin"); code != 0 {
		t.Fatal("sign-up failed")
	}
	if _, code := run("", "dock", receptor(t), "--ligand", "unfinished=C1CC("); code != 2 {
		t.Errorf("exit code %d, want 2 for text that is no SMILES, before anything is submitted", code)
	}
	// Of a carbon with five bonds only the engine can tell.
	table, code := run("", "dock", receptor(t), "--center", "15.19,53.9,16.92", "--size", "18", "--exhaustiveness", "1", "--seed",
		"7", "--picture", "none", "--ligand", "aspirin="+smiles["aspirin"], "--ligand", "caffeine="+smiles["caffeine"], "--ligand",
		"broken=CC(C)(C)(C)C", "-o", filepath.Join(dir, "results"))
	if code != 8 {
		t.Errorf("exit code %d, want 8 for a job with a broken ligand", code)
	}
	for _, want := range []string{"aspirin", "caffeine", "broken", "parse", "kcal/mol", "£"} {
		if !strings.Contains(table, want) {
			t.Errorf("the report does not mention %q", want)
		}
	}
	for _, name := range []string{"results.json", "results.csv", "best.sdf", "provenance.json"} {
		if found, _ := filepath.Glob(filepath.Join(dir, "results", "*"+name)); len(found) == 0 {
			if _, err := os.Stat(filepath.Join(dir, "results", name)); err != nil {
				t.Errorf("the results hold no %s", name)
			}
		}
	}
	receipts := checkReceipt(t, dir, run)
	jobs, _ := run("", "jobs", "--json")
	balance, _ := run("", "balance", "--json")
	s.down()
	s.up()
	if again, _ := run("", "jobs", "--json"); again != jobs {
		t.Errorf("after a restart the jobs are %s, before %s", again, jobs)
	}
	if again, _ := run("", "balance", "--json"); again != balance {
		t.Errorf("after a restart the balance is %s, before %s", again, balance)
	}
	if again, _ := run("", "receipt", receipts.jobID, "-o", "-"); again != receipts.text {
		t.Errorf("after a restart the receipt is %s, before %s", again, receipts.text)
	}
}

type keptReceipt struct{ jobID, text string }

// checkReceipt fetches the receipt of the newest job, which is the one in its bundle, and holds the job's files in dir/results
// against it: as they are, and with one byte of a pose changed.
func checkReceipt(t *testing.T, dir string, run func(stdin string, args ...string) (string, int)) keptReceipt {
	t.Helper()
	var list contract.JobList
	if text, _ := run("", "jobs", "--json"); json.Unmarshal([]byte(text), &list) != nil || len(list.Jobs) == 0 {
		t.Fatalf("got the jobs %s", text)
	}
	kept := keptReceipt{jobID: list.Jobs[0].JobID}
	file, results := filepath.Join(dir, "receipt.json"), filepath.Join(dir, "results")
	kept.text, _ = run("", "receipt", kept.jobID, "-o", "-")
	if _, code := run("", "receipt", kept.jobID, "-o", file); code != 0 {
		t.Fatal("the job has no receipt")
	}
	if _, code := run("", "bundle", kept.jobID, "-o", filepath.Join(dir, "crate.zip")); code != 0 {
		t.Fatal("the job has no bundle")
	}
	crate, err := zip.OpenReader(filepath.Join(dir, "crate.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer crate.Close()
	bundled, err := fs.ReadFile(crate, "receipt.json")
	if err != nil || strings.TrimSpace(string(bundled)) != strings.TrimSpace(kept.text) {
		t.Errorf("the bundle has the receipt %s (%v), want %s", bundled, err, kept.text)
	}
	if said, code := run("", "verify", file, "--dir", results); code != 0 || !strings.Contains(said, kept.jobID) ||
		!strings.Contains(said, "COMPLETED_WITH_FAILURES") {
		t.Errorf("untouched results: got %d %s", code, said)
	}
	poses, err := filepath.Glob(filepath.Join(results, "poses", "*.pdbqt"))
	if err != nil || len(poses) == 0 {
		t.Fatal("the results have no poses", err)
	}
	text, err := os.ReadFile(poses[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(poses[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	var verdict struct{ Changed []string }
	said, code := run("", "verify", file, "--dir", results, "--json")
	if err := json.Unmarshal([]byte(said), &verdict); err != nil || code != 11 || len(verdict.Changed) != 1 ||
		verdict.Changed[0] != "poses/"+filepath.Base(poses[0]) {
		t.Errorf("a byte of %s was changed: got %d %s (%v)", poses[0], code, said, err)
	}
	return kept
}

// TestLossesChangeNothing kills the worker and flushes Redis in the middle of a job, and expects the results of an
// undisturbed run, byte for byte, and one charge.
func TestLossesChangeNothing(t *testing.T) {
	t.Parallel()
	server, _ := redistest.Private(t)
	s := start(t, "REDIS_URL="+server.URL())
	c := s.user()
	scene, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"aspirin", "caffeine", "paracetamol", "ibuprofen", "nicotine", "benzamidine"}
	submit := func() string {
		receipt, err := c.Submit(t.Context(), docking(scene.StorageKey, 2, names...), "")
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Body.JobID
	}
	calm := submit()
	if ended := s.await(c, calm); ended.Status != job.Completed {
		t.Fatalf("undisturbed job ended as %s: %v", ended.Status, ended.Error)
	}
	want := output(t, c, calm, "results.json")

	disturbed := submit()
	s.eventually("docking has begun", func() bool { return s.docked(c, disturbed) >= 1 })
	if err := syscall.Kill(s.worker(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.eventually("a new worker docks", func() bool { return s.docked(c, disturbed) >= 2 })
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	store := redis.NewClient(options)
	defer store.Close()
	if err := store.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	ended := s.await(c, disturbed)
	if ended.Status != job.Completed {
		t.Fatalf("disturbed job ended as %s: %v", ended.Status, ended.Error)
	}
	if got := output(t, c, disturbed, "results.json"); !bytes.Equal(got, want) {
		t.Errorf("the disturbed job's results differ:\n%s\nwant\n%s", got, want)
	}
	chargedOnce(t, c, disturbed)
}

// chargedOnce expects one charge of a job and nothing held any more.
func chargedOnce(t *testing.T, c *client.Client, jobID string) {
	t.Helper()
	chargedTimes(t, c, jobID, 1)
}

// chargedTimes expects the job's charges to be so many, of at most what was held, and nothing to be held any longer.
func chargedTimes(t *testing.T, c *client.Client, jobID string, times int) {
	t.Helper()
	entries, err := c.Transactions(t.Context(), client.Page{}, jobID)
	if err != nil {
		t.Fatal(err)
	}
	n, held, charged := 0, int64(0), int64(0)
	for _, entry := range entries.Body.Transactions {
		switch entry.Type {
		case "charge":
			n++
			charged -= entry.AmountCents
		case "hold":
			held -= entry.AmountCents
		}
	}
	if n != times || charged > held {
		t.Errorf("%d charges of %d pence in all, want %d of at most the %d held", n, charged, times, held)
	}
	balance, err := c.Balance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if balance.Body.HeldCents != 0 {
		t.Errorf("%d pence still held", balance.Body.HeldCents)
	}
}

// TestRestartInMidJob stops the whole system while a job is docking, without time to finish, and expects the next start to end
// the job and charge it once.
func TestRestartInMidJob(t *testing.T) {
	t.Parallel()
	serverstest.Long(t)
	s := start(t, "MOLFABRIC_DRAIN_GRACE=1ms")
	c := s.user()
	scene, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := c.Submit(t.Context(), docking(scene.StorageKey, 2, "ibuprofen", "nicotine", "aspirin"), "")
	if err != nil {
		t.Fatal(err)
	}
	s.eventually("docking has begun", func() bool { return s.docked(c, receipt.Body.JobID) >= 0 && s.attempts() > 0 })
	s.down()
	s.up()
	if before, err := c.Job(t.Context(), receipt.Body.JobID); err != nil || before.Body.Terminal {
		t.Fatalf("the job did not outlive the restart unfinished: %+v, %v", before, err)
	}
	if ended := s.await(c, receipt.Body.JobID); ended.Status != job.Completed {
		t.Fatalf("ended as %s: %v", ended.Status, ended.Error)
	}
	chargedOnce(t, c, receipt.Body.JobID)
}

// attempts is how many attempts have a directory on the system's worker.
func (s *system) attempts() int {
	found, _ := filepath.Glob(filepath.Join(s.home, "scratch", "*", "task_*"))
	return len(found)
}

// docked is how many tasks beyond the two preparations have succeeded.
func (s *system) docked(c *client.Client, jobID string) int {
	s.t.Helper()
	state, err := c.Job(s.t.Context(), jobID)
	if err != nil {
		s.t.Fatal(err)
	}
	return state.Body.Progress.Tasks.Succeeded - 2
}

// TestCancelEndsTheEngine cancels a job whose engine runs, and expects its process to be gone and the used time charged.
func TestCancelEndsTheEngine(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.user()
	scene, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := c.Submit(t.Context(), docking(scene.StorageKey, 128, "ibuprofen", "nicotine"), "")
	if err != nil {
		t.Fatal(err)
	}
	s.eventually("docking runs", func() bool {
		return s.docked(c, receipt.Body.JobID) == 0 && s.attempts() > 0 &&
			len(childrenOf(s.worker())) > 0
	})
	if _, err := c.Cancel(t.Context(), receipt.Body.JobID, "enough"); err != nil {
		t.Fatal(err)
	}
	ended := s.await(c, receipt.Body.JobID)
	if ended.Status != job.Cancelled || ended.StatusReason == nil || *ended.StatusReason != "enough" {
		t.Errorf("ended as %s (%v), want %s with the reason given", ended.Status, ended.StatusReason, job.Cancelled)
	}
	s.eventually("the engine's processes and directories are gone",
		func() bool { return s.attempts() == 0 && len(childrenOf(s.worker())) == 0 })
	chargedOnce(t, c, receipt.Body.JobID)
	_, err = c.Cancel(t.Context(), receipt.Body.JobID, "")
	if err != nil {
		t.Errorf("cancel again: %v", err)
	}
}

// TestBadInput sends what users get wrong. What can be seen at submit is refused there by the name of its field; what only the
// engine can see ends as a typed failure of the job, which costs nothing.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, stranger := s.user(), s.user()
	scene, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := stranger.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(from, to string) json.RawMessage {
		text := string(docking(scene.StorageKey, 1, "aspirin"))
		if !strings.Contains(text, from) {
			t.Fatalf("the request holds no %s", from)
		}
		return json.RawMessage(strings.Replace(text, from, to, 1))
	}
	malformed := filepath.Join(t.TempDir(), "broken.pdb")
	if err := os.WriteFile(malformed, []byte("this is no structure\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken, err := c.UploadFile(t.Context(), malformed)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		request json.RawMessage
		code    fault.Code
		field   string
	}{
		{"malformed receptor", edit(scene.StorageKey, broken.StorageKey), fault.Validation,
			"sceneFile: the receptor's file has no atoms"},
		{"box away from the receptor", edit(`[15.19,53.9,16.92]`, `[900,900,900]`), fault.Validation,
			"simulationParams.boxCenterAngstrom"},
		{"unparsable SMILES", edit(smiles["aspirin"], "not a molecule"), fault.Validation,
			"simulationParams.ligandLibrary[0].source.smiles"},
		{"absent ligand", edit(boxMembers, `"pocketLigand":"STI"`), fault.Validation, "simulationParams.pocketLigand"},
		{"empty SMILES", edit(fmt.Sprintf("%q", smiles["aspirin"]), `""`), fault.Validation,
			"simulationParams.ligandLibrary[0].source.smiles"},
		{"box without volume", edit(`"boxSizeAngstrom":18`, `"boxSizeAngstrom":0`), fault.Validation,
			"simulationParams.boxSizeAngstrom"},
		{"box of two numbers", edit(`[15.19,53.9,16.92]`, `[1,2]`), fault.Validation, "simulationParams.boxCenterAngstrom"},
		{"box without a size", edit(`,"boxSizeAngstrom":18`, ""), fault.Validation, "simulationParams.boxSizeAngstrom"},
		{"wrong type", edit(`"exhaustiveness":1`, `"exhaustiveness":"one"`), fault.Validation, "simulationParams.exhaustiveness"},
		{"unknown field", edit(`"exhaustiveness":1`, `"thoroughness":1`), fault.Validation, "thoroughness"},
		{"null", edit(`"exhaustiveness":1`, `"exhaustiveness":null`), fault.Validation, "simulationParams.exhaustiveness"},
		{"no scene", edit(fmt.Sprintf(`"sceneFile":%q,`, scene.StorageKey), ""), fault.Validation, "sceneFile"},
		{"unknown upload", edit(scene.StorageKey, scene.StorageKey+"x"), fault.SceneNotFound, "sceneFile"},
		{"another account's upload", edit(scene.StorageKey, foreign.StorageKey), fault.SceneNotFound, "sceneFile"},
		{"unknown simulator", edit(`"autodock-vina"`, `"smina"`), fault.UnsupportedSimulator, "simulator"},
		{"pipeline", edit(`"jobType":"simulation"`, `"jobType":"pipeline"`), fault.PipelineDisabled, "pipeline"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.Submit(t.Context(), test.request, "")
			var refused *client.Error
			if !errors.As(err, &refused) || client.CodeOf(err) != test.code || !strings.Contains(refused.Message, test.field) {
				t.Errorf("got %v, want %s naming %s", err, test.code, test.field)
			}
		})
	}
	unknown := s.withUnknownAtom(c)
	for _, test := range []struct {
		name    string
		request json.RawMessage
		code    string
	}{
		{"atom type that Vina does not know", edit(scene.StorageKey, unknown.StorageKey), "RECEPTOR_UNREADABLE"},
		{"carbon with five bonds", edit(smiles["aspirin"], "CC(C)(C)(C)C"), "NO_LIGAND_DOCKED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			receipt, err := c.Submit(t.Context(), test.request, "")
			if err != nil {
				t.Fatal(err)
			}
			ended := s.await(c, receipt.Body.JobID)
			if ended.Status != job.Failed || ended.Error == nil || ended.Error.Code != test.code ||
				ended.Error.FailureClass != "USER_INPUT" {
				t.Errorf("ended as %s with %+v, want FAILED with %s", ended.Status, ended.Error, test.code)
			}
			if ended.Cost.Final == nil || *ended.Cost.Final != "0.00" || ended.StatusReason == nil ||
				!strings.HasSuffix(*ended.StatusReason, "Nothing is charged.") {
				t.Errorf("cost %+v, reason %v; want nothing charged, and that it is said", ended.Cost, ended.StatusReason)
			}
		})
	}
}

// withUnknownAtom uploads the receptor with an atom of a type that AutoDock Vina does not know.
func (s *system) withUnknownAtom(c *client.Client) client.Uploaded {
	s.t.Helper()
	text, err := os.ReadFile(receptor(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "ATOM") {
			lines[i] = lines[i][:77] + "Zz"
			break
		}
	}
	path := filepath.Join(s.t.TempDir(), "unknown.pdbqt")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	uploaded, err := c.UploadFile(s.t.Context(), path)
	if err != nil {
		s.t.Fatal(err)
	}
	return uploaded
}
