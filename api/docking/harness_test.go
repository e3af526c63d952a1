package docking_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/docking"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/tenant"
)

const base = "/api/v1/molecular/docking"

// lab is a front door with the group's operations, on real stores.
type lab struct {
	*apitest.Door
	t        *testing.T
	objects  *object.Store
	keyring  *keys.Service
	dockings *docking.Service
	spec     *huma.OpenAPI
	ahead    atomic.Int64 // nanoseconds that the group's clock is ahead
}

func open(t *testing.T) *lab {
	t.Helper()
	objects, _ := objecttest.New(t)
	return openOn(t, objects, nil)
}

// submitting is the group that submits jobs and knows where their results come from.
type submitting interface {
	docking.Submitter
	docking.Provenancer
}

// openOn is open on an object store; submitter may be nil where nothing is submitted.
func openOn(t *testing.T, objects *object.Store, submitter func(*api.Deps) submitting) *lab {
	t.Helper()
	l := &lab{t: t, objects: objects}
	l.Door = apitest.Open(t, apitest.Unhurried, func(deps *api.Deps) {
		l.keyring = keys.New(deps.DB, deps.Config.KeySecrets, deps.Log, deps.Now)
		group := docking.Deps{
			DB: deps.DB, Objects: objects, Engines: engines.NewRegistry(vina.New()), Currency: "GBP", Log: deps.Log,
			Now: func() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())) },
		}
		if submitter != nil {
			made := submitter(deps)
			group.Submitter, group.Provenance = made, made
		}
		service := docking.New(group)
		l.dockings = service
		deps.Groups = []func(huma.API){func(a huma.API) { docking.Register(a, service); l.spec = a.OpenAPI() }}
	})
	return l
}

// chemist sends requests with one key.
type chemist struct {
	*lab
	*apitest.Caller
}

// account opens an account and makes a key of it.
func (l *lab) account() chemist {
	l.t.Helper()
	accountID := id.New("acct_")
	l.exec(`INSERT INTO accounts (id, email, name, password_hash, created_at) VALUES ($1, $2, '', '', now())`, accountID,
		accountID+"@example.org")
	return l.keyOf(accountID, access.Live, access.JobsRead, access.JobsWrite)
}

func (l *lab) keyOf(accountID, environment string, scopes ...string) chemist {
	l.t.Helper()
	made, err := l.keyring.Create(tenant.With(l.t.Context(), accountID), accountID,
		contract.CreateRequest{Name: "test", Environment: environment, Scopes: scopes})
	if err != nil {
		l.t.Fatal(err)
	}
	c := chemist{lab: l, Caller: l.WithKey(made.Secret)}
	c.AccountID = accountID
	return c
}

func (l *lab) exec(statement string, args ...any) {
	l.t.Helper()
	if _, err := l.DB.ExecContext(l.t.Context(), statement, args...); err != nil {
		l.t.Fatalf("%s: %v", statement, err)
	}
}

// get reads a resource below the group's base into a T and refuses members that T does not have.
func get[T any](c chemist, path string) T {
	c.t.Helper()
	got := c.Send("GET", base+path, "")
	if got.StatusCode != 200 {
		c.t.Fatalf("%s: got %d %s", path, got.StatusCode, got.Text)
	}
	var value T
	decoder := json.NewDecoder(bytes.NewReader([]byte(got.Text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		c.t.Fatalf("%s: %s: %v", path, got.Text, err)
	}
	return value
}

// want checks an answer's status and code, and that it names what was wrong.
func want(t *testing.T, what string, got apitest.Answer, status int, code fault.Code, named string) {
	t.Helper()
	var failure struct {
		Error string
		Code  fault.Code
	}
	if err := json.Unmarshal([]byte(got.Text), &failure); err != nil || got.StatusCode != status || failure.Code != code ||
		!strings.Contains(failure.Error, named) {
		t.Errorf("%s: got %d %s, want %d %s that names %q", what, got.StatusCode, got.Text, status, code, named)
	}
}

// ligand is one ligand of a docking as a test describes it.
type ligand struct {
	name, label  string
	status       string // COMPLETED unless given
	stage        string
	score        float64 // 0 for none
	efficiency   float64
	inchiKey     string
	passed       *bool
	interactions []string
	poses        int
	pdbqt        string // the digest that it stands for
	noSDF        bool
}

// docked is a docking job that a test has stored.
type docked struct {
	experiment, batch, run, job, task string
	results                           []string
	poses                             [][]string // by ligand, by rank
	sdf                               []string   // artifact of each ligand's poses; "" for none
}

// receptor is what a prepared receptor leaves with its run.
const receptor = `{"protonation":"PDB2PQR","notes":["two waters removed"],"reused":false,"preparation":{"protonationPh":7.4},
	"hashes":{"receptorIdentitySha256":"11","preparationSha256":"22","toolchainSha256":"33","cacheKey":"44"},
	"identity":{"inputSha256":"55","assemblyId":"1","model":null,"chains":["A"]}}`

// dock stores a docking job of an account: of a library when batch is true. Everything in it was made at the given time.
func (l *lab) dock(accountID, status string, batch bool, at time.Time, ligands ...ligand) docked {
	l.t.Helper()
	d := docked{experiment: id.New("exp_"), job: id.New("job_"), task: id.New("task_"), run: id.New("run_")}
	l.exec(`INSERT INTO jobs (id, account_id, job_type, simulator, scene_file, request, status, stage_count, task_count,
		estimated_pence, held_pence, accrued_micropence, created_at, updated_at)
		VALUES ($1, $2, 'simulation', 'autodock-vina', 'receptor.pdb', '{}', $3, 1, 2, 150, 300, 2000000, $4, $4)`, d.job, accountID, status, at)
	if strings.HasPrefix(status, "COMPLETED") {
		l.exec(`UPDATE jobs SET started_at = $2, finished_at = $3, charged_pence = 125 WHERE id = $1`, d.job, at.Add(time.Second),
			at.Add(61*time.Second+500*time.Millisecond))
	}
	for i, task := range []struct{ id, stage, name string }{{id.New("task_"), "prepare", "receptor"},
		{d.task, "dock", "dock-00000"}} {
		l.exec(`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready,
			status)
			VALUES ($1, $2, $3, $4, $5, $4, $6, true, 1, 'cpu.autodock-vina', true, 'SUCCEEDED')`, task.id, d.job, accountID, i, task.stage, task.name)
		l.exec(`INSERT INTO task_attempts (task_id, attempt, outcome, cpu_us, finished_at) VALUES ($1, 1, 'LOST', 500000, $2), ($1,
			2, 'SUCCEEDED', $3, $2)`, task.id, at, 1_000_000*(i+1))
	}
	l.exec(`INSERT INTO docking_experiments (id, account_id, receptor_key, name, receptor, created_at)
		VALUES ($1, $2, $1, '1IEP', '{"pdbId":"1IEP","storageKey":null,"sha256":null,"format":"mmcif"}', $3)`,
		d.experiment, accountID, at)
	if batch {
		d.batch = id.New("batch_")
		l.exec(`INSERT INTO docking_batches (id, account_id, experiment_id, job_id, shard_size, seed, ligand_count, created_at)
			VALUES ($1, $2, $3, $4, 2, 7, $5, $6)`,
			d.batch, accountID, d.experiment, d.job, len(ligands), at)
	}
	l.exec(`INSERT INTO docking_runs (id, account_id, experiment_id, batch_id, job_id, request_id, request_run_id, exhaustiveness,
		num_modes, energy_range_kcal_mol, seed, cpu_threads,
			ligand_count, programs, box, receptor, created_at)
		VALUES ($1, $2, $3, nullif($4, ''), $5, 'req-1', 'mine', 8, 9, 3, 7, 1, $6, '{"vina":"1.2.7","prolif":"2.2.3"}',
			'{"source":"explicit","centerAngstrom":[1,2,3],"sizeAngstrom":[20,20,20],"notes":[]}', $7, $8)`,
		d.run, accountID, d.experiment, d.batch, d.job, len(ligands), receptor, at)
	for i, one := range ligands {
		l.addLigand(accountID, &d, i, one, at)
	}
	return d
}

func (l *lab) addLigand(accountID string, d *docked, index int, one ligand, at time.Time) {
	l.t.Helper()
	result := id.New("result_")
	if one.status == "" {
		one.status = "COMPLETED"
	}
	if one.label == "" {
		one.label = one.name
	}
	l.exec(`INSERT INTO docking_results (id, account_id, run_id, ligand_index, ligand_id, label, source, input_smiles, prepare_task,
		dock_task, status, failure_stage, error,
			canonical_smiles, inchi_key, heavy_atoms, best_score_kcal_mol, ligand_efficiency, pose_count, passed_checks,
			interactions, notes, pdbqt_sha256, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, 'smiles', 'CCO', 'ligands-0000', 'dock-00000', $7, nullif($8, ''), nullif($8, ''), 'CCO',
		nullif($9, ''), 3, nullif($10::float8, 0), nullif($11::float8, 0), $12,
			$13, $14, '["a salt was taken off"]', nullif($15, ''), $16, $16)`,
		result, accountID, d.run, index, one.name, one.label, one.status, one.stage, one.inchiKey, one.score, one.efficiency,
		one.poses, one.passed, interactionsOf(one), one.pdbqt, at)
	d.results = append(d.results, result)
	poses, sdf := []string{}, ""
	if one.poses > 0 && !one.noSDF {
		sdf = l.file(accountID, d, fmt.Sprintf("poses/%05d.sdf", index+1), "sdf", "result", sdfOf(one))
	}
	for rank := 1; rank <= one.poses; rank++ {
		pose := id.New("pose_")
		l.exec(`INSERT INTO docking_poses (id, account_id, result_id, rank, score_kcal_mol, rmsd_lower_bound, rmsd_upper_bound,
			inter, intra, torsional, unbound, checks, interactions, sdf_artifact, created_at)
			VALUES ($1, $2, $3, $4, $5::float8 + ($4 - 1) * 0.5, $4 - 1, $4, -10, -1, 1, -1, $6, $7, nullif($8, ''), $9)`,
			pose, accountID, result, rank, one.score, checksOf(rank), contactsOf(rank), sdf, at)
		poses = append(poses, pose)
	}
	d.poses, d.sdf = append(d.poses, poses), append(d.sdf, sdf)
}

// file stores a file of a docking job and returns its artifact's id.
func (l *lab) file(accountID string, d *docked, name, format, role, content string) string {
	l.t.Helper()
	// No key has such parts: a store may take them for ways.
	artifact, key := id.New("art_"), "accounts/"+accountID+"/"+d.job+"/"+strings.ReplaceAll(name, "..", "up")
	if _, err := l.objects.Put(l.t.Context(), key, strings.NewReader(content), "text/plain", ""); err != nil {
		l.t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	l.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type, format,
		created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'text/plain', $10, now())`,
		artifact, d.job, d.task, accountID, name, role, key, hex.EncodeToString(sum[:]), len(content), format)
	return artifact
}

// sdfOf is a file with a record a pose.
func sdfOf(one ligand) string {
	var text strings.Builder
	for rank := 1; rank <= one.poses; rank++ {
		fmt.Fprintf(&text, "%s\n     RDKit          3D\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    %d.0000    0.0000    "+
			"0.0000 C   0  0\nM  END\n>  <ligandId>\n%s\n\n>  <poseRank>\n%d\n\n$$$$\n",
			one.name, rank, one.name, rank)
	}
	return text.String()
}

func interactionsOf(one ligand) any {
	if one.interactions == nil {
		return nil
	}
	return "{" + strings.Join(one.interactions, ",") + "}"
}

// checksOf are the checks of a pose; of the third and all after it nothing is known.
func checksOf(rank int) any {
	if rank > 2 {
		return nil
	}
	return fmt.Sprintf(`{"passed":%t,"tool":"PoseBusters 0.6.5","tests":{"bond_lengths":true,"clash":%t}}`, rank == 1, rank == 1)
}

func contactsOf(rank int) any {
	if rank > 2 {
		return nil
	}
	return `[{"type":"hydrogen_bond","receptor":{"chain":"A","residue":381,"insertionCode":"","residueName":"ASP","atomName":"N","atomSerial":2534},"ligand":{"atomIndices":[3]},"distanceAngstrom":2.9,"angleDegrees":161.5},
		{"type":"hydrophobic","receptor":{"chain":"A","residue":52,"insertionCode":"A","residueName":"LEU","atomName":"CD1","atomSerial":null},"ligand":{"atomIndices":[5,6]},"distanceAngstrom":3.8,"angleDegrees":null,"method":{"tool":"PLIP","version":"2.4"}}]`
}

func yes(value bool) *bool { return &value }

// noon is the time of most of what tests store.
var noon = time.Date(2026, time.November, 21, 12, 0, 0, 123456000, time.UTC)
