package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/scheduler"
)

// The benchmarks of what is not run twice: a screen that is mostly known, and one of which nothing is.
const (
	knownID, freshID = "reuse/known", "reuse/fresh"

	knownLigands, newLigands = 1000, 100
	knownGoal                = 0.12 // of the first screen, in time and money
	freshLigands             = 24
	freshGoal                = 0.99
	lookedUp                 = 10_000 // identities
	lookUps                  = 21
	lookUpGoalMs             = 50
	smallBoxEdgeAngstrom     = 15 // the ligands are small, and there are many
)

// reusing are screens of small ligands into one receptor.
type reusing struct {
	system *system
	target Target
	slots  int
}

// screener is a client of an account that has the receptor.
type screener struct {
	*reusing
	api   *client.Client
	scene client.Uploaded
}

func (r *reusing) newScreener(ctx context.Context, options client.Options) (*screener, error) {
	options.Server = r.system.url
	api, err := client.New(options)
	if err != nil {
		return nil, err
	}
	scene, err := api.UploadFile(ctx, r.target.Path)
	if err != nil {
		api.Close()
		return nil, fmt.Errorf("upload the receptor: %w", err)
	}
	return &screener{r, api, scene}, nil
}

func (o Options) measureReuse(ctx context.Context, s *system, _ string) (results []Result, err error) {
	r := &reusing{system: s, target: o.Target, slots: o.Slots}
	for _, one := range []struct {
		id      string
		measure func(ctx context.Context, pairs int, told func(string)) (Result, error)
	}{{knownID, r.known}, {freshID, r.fresh}} {
		if !o.wants(one.id) {
			continue
		}
		result, err := one.measure(ctx, o.Pairs, o.told(one.id))
		if err != nil {
			return results, fmt.Errorf("%s: %w", one.id, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// The heads of small ligands: those of what is docked first, and one of what comes later, which has the same links and tails.
var (
	heads = []string{"c1ccccc1", "Cc1ccccc1", "Fc1ccccc1", "Clc1ccccc1", "Oc1ccccc1", "Nc1ccccc1", "COc1ccccc1", "N#Cc1ccccc1",
		"c1ccncc1", "c1ccsc1"}
	laterHead = []string{"Brc1ccccc1"}
)

// smallLigands are the first n of some amides, ethers and sulfonamides of ten to twenty heavy atoms, all different: 128 a head.
func smallLigands(n int, heads []string) []mol.LigandEntry {
	links := []string{"C(=O)N", "NC(=O)", "CC(=O)N", "S(=O)(=O)N", "CO", "CN", "NC(=O)N", "C=C"}
	tails := []string{"C", "CC", "CCC", "C(C)C", "CCO", "CCN", "CC#N", "CCOC", "C1CC1", "C1CCCC1", "C1CCCCC1", "c1ccccc1",
		"c1ccncc1", "c1ccc(F)cc1", "c1ccc(C)cc1", "CC(F)(F)F"}
	ligands := make([]mol.LigandEntry, 0, n)
	for i := range n {
		head, link := heads[i%len(heads)], links[i/len(heads)%len(links)]
		smiles := head + link + tails[i/len(heads)/len(links)%len(tails)]
		ligands = append(ligands, mol.LigandEntry{LigandID: fmt.Sprintf("L%02d-%04d", len(heads), i+1), Label: smiles,
			Source: mol.LigandSource{SMILES: &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: smiles}}})
	}
	return ligands
}

// screened is what a screen has taken and cost.
type screened struct {
	seconds    float64 // from the submission to the job's end
	micropence int64
	known      int // tasks, by the answer to the submission
}

// screen docks ligands, one a task.
func (r *screener) screen(ctx context.Context, ligands []mol.LigandEntry) (screened, error) {
	exhaustiveness, shardSize, edge := mol.Exhaustiveness(screenExhaustiveness), 1, float64(smallBoxEdgeAngstrom)
	picture, seed := vina.PictureNone, int64(screenSeed)
	began := time.Now()
	receipt, err := r.api.Submit(ctx, map[string]any{"jobType": "simulation", "simulator": vina.ID, "sceneFile": r.scene.StorageKey,
		"simulationParams": vina.Params{LigandLibrary: ligands, BoxCenterAngstrom: &r.target.Center,
			BoxSizeAngstrom: &mol.BoxSize{edge, edge, edge}, Exhaustiveness: &exhaustiveness, Seed: &seed,
			DockingExecution: &vina.DockingExecution{ShardSize: &shardSize},
			DockingReport:    &vina.DockingReport{Picture: &picture}}}, "")
	if err != nil {
		return screened{}, err
	}
	if err := ended(ctx, r.api, receipt.Body.JobID); err != nil {
		return screened{}, err
	}
	took := time.Since(began).Seconds()
	bill, err := readCharges(ctx, r.system.db, receipt.Body.JobID)
	return screened{took, bill.AccruedMicropence, receipt.Body.KnownTasks}, err
}

// known docks a library, and then a larger one that begins with it.
func (r *reusing) known(ctx context.Context, _ int, told func(string)) (Result, error) {
	account, err := r.newScreener(ctx, client.Options{APIKey: r.system.key})
	if err != nil {
		return Result{}, err
	}
	defer account.api.Close()
	told(fmt.Sprintf("%d ligands", knownLigands))
	all := smallLigands(knownLigands, heads)
	first, err := account.screen(ctx, all)
	if err != nil {
		return Result{}, err
	}
	all = append(all, smallLigands(newLigands, laterHead)...)
	told(fmt.Sprintf("%d ligands, of which %d are known", len(all), knownLigands))
	second, err := account.screen(ctx, all)
	if err != nil {
		return Result{}, err
	}
	told(fmt.Sprintf("%d identities", lookedUp))
	milliseconds, err := timeLookUps(ctx, r.system.db, r.system.account)
	if err != nil {
		return Result{}, err
	}
	wall, money := second.seconds/first.seconds, float64(second.micropence)/float64(first.micropence)
	return Result{
		ID: knownID, Name: "never pay twice", Peer: fmt.Sprintf("itself, %d ligands of which none was", knownLigands),
		Workload: fmt.Sprintf("%d ligands of which %d were docked before, one a task, exhaustiveness %d, %d cores, from the "+
			"submission to the job's end", len(all), knownLigands, screenExhaustiveness, r.slots),
		Goal:       fmt.Sprintf("at most %g of its time and money; look-ups under %d ms", knownGoal, lookUpGoalMs),
		Met:        wall <= knownGoal && money <= knownGoal && milliseconds < lookUpGoalMs,
		Comparison: Comparison{Unit: "s", Ours: []float64{second.seconds}, Peer: []float64{first.seconds}}.judged(1),
		Figures: map[string]float64{"wallOfTheFirst": wall, "billOfTheFirst": money, "knownTasks": float64(second.known),
			"lookUpMilliseconds": milliseconds},
		Notes: []string{fmt.Sprintf("one run of each; lookUpMilliseconds is the median of %d look-ups of %d identities", lookUps,
			lookedUp)},
		MeasuredAt: time.Now().UTC(),
	}, nil
}

// fresh docks what an account has never docked, with and without asking whether it has. All screens have the same seed, so that
// they are the same work, and each is an account's first.
func (r *reusing) fresh(ctx context.Context, pairs int, told func(string)) (Result, error) {
	ligands, accounts := smallLigands(freshLigands, heads), 0
	with := func(options client.Options) Arm {
		return func(ctx context.Context) (float64, error) {
			accounts++
			var err error
			if options.APIKey, _, err = r.system.openAccount(ctx, fmt.Sprintf("fresh-%d@molfabric.local", accounts)); err != nil {
				return 0, err
			}
			account, err := r.newScreener(ctx, options)
			if err != nil {
				return 0, err
			}
			defer account.api.Close()
			got, err := account.screen(ctx, ligands)
			if err == nil && got.known > 0 {
				err = errors.New("a screen that nobody has run is known")
			}
			return got.seconds, err
		}
	}
	result := Result{
		ID: freshID, Name: "never pay twice", Peer: "itself, told to run everything", Goal: fmt.Sprintf("≥ %g", freshGoal),
		Workload: fmt.Sprintf("%d ligands of which none was docked before, one a task, exhaustiveness %d, %d cores, from the "+
			"submission to the job's end", freshLigands, screenExhaustiveness, r.slots), MeasuredAt: time.Now().UTC(),
	}
	var err error
	result.Comparison, err = compare(ctx, "s", pairs, with(client.Options{}), with(client.Options{NoReuse: true}), told)
	result.Met = result.Comparison.Median >= freshGoal
	return result, err
}

// timeLookUps asks for what an account has made, as a submission does, and returns the median milliseconds of a look-up.
func timeLookUps(ctx context.Context, db *sqlx.DB, accountID string) (float64, error) {
	var wanted []engines.Identity
	held, err := readIdentities(ctx, db, accountID)
	if err != nil {
		return 0, err
	}
	for i := range lookedUp { // those that are known, and as many others as are missing
		identity := engines.Identity{}
		if i < len(held) {
			copy(identity[:], held[i])
		} else {
			text, _ := json.Marshal(i)
			copy(identity[:], "unknown "+string(text))
		}
		wanted = append(wanted, identity)
	}
	store := scheduler.InPostgres(db, nil)
	found, err := repeated(lookUps, func(ctx context.Context) (float64, error) {
		began := time.Now()
		made, err := store.MadeBefore(ctx, accountID, wanted)
		if err == nil && len(made) != len(held) {
			err = fmt.Errorf("%d of %d identities were found", len(made), len(held))
		}
		return float64(time.Since(began).Microseconds()) / 1000, err
	})(ctx)
	return found, err
}
