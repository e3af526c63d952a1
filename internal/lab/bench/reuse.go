package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
	knownScreens             = 3    // each with new ligands of its own
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

// smallLigands are n amides, ethers and sulfonamides of ten to twenty heavy atoms, all different. Their order is one of chance, and
// always the same, so that any part of them takes about as long as another of its size. There are 1,408.
func smallLigands(n int) []mol.LigandEntry {
	heads := []string{"c1ccccc1", "Cc1ccccc1", "Fc1ccccc1", "Clc1ccccc1", "Oc1ccccc1", "Nc1ccccc1", "COc1ccccc1", "N#Cc1ccccc1",
		"c1ccncc1", "c1ccsc1", "Brc1ccccc1"}
	links := []string{"C(=O)N", "NC(=O)", "CC(=O)N", "S(=O)(=O)N", "CO", "CN", "NC(=O)N", "C=C"}
	tails := []string{"C", "CC", "CCC", "C(C)C", "CCO", "CCN", "CC#N", "CCOC", "C1CC1", "C1CCCC1", "C1CCCCC1", "c1ccccc1",
		"c1ccncc1", "c1ccc(F)cc1", "c1ccc(C)cc1", "CC(F)(F)F"}
	ligands := make([]mol.LigandEntry, 0, n)
	order := rand.New(rand.NewPCG(screenSeed, 0)).Perm(len(heads) * len(links) * len(tails)) //nolint:gosec // it is no secret
	for i, which := range order[:n] {
		smiles := heads[which%len(heads)] + links[which/len(heads)%len(links)] + tails[which/len(heads)/len(links)]
		ligands = append(ligands, mol.LigandEntry{LigandID: fmt.Sprintf("L%04d", i+1), Label: smiles,
			Source: mol.LigandSource{SMILES: &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: smiles}}})
	}
	return ligands
}

// screened is what a screen has taken and cost.
type screened struct {
	seconds    float64 // from the submission to the job's end
	micropence int64
	known      int // tasks, by the answer to the submission
	beside
}

// beside is what a screen took beside its engines, in seconds of a core.
type beside struct {
	engines float64 // what all attempts took, from their starts to their ends
	waited  float64 // cores without an attempt, while their stage had one still to start and after the last one's end
	used    float64 // processor time of the system that no attempt is charged
}

// screen docks ligands, one a task.
func (r *screener) screen(ctx context.Context, ligands []mol.LigandEntry) (screened, error) {
	exhaustiveness, shardSize, edge := mol.Exhaustiveness(screenExhaustiveness), 1, float64(smallBoxEdgeAngstrom)
	picture, seed := vina.PictureNone, int64(screenSeed)
	before, err := r.system.cpu()
	if err != nil {
		return screened{}, err
	}
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
	end := time.Now()
	after, err := r.system.cpu()
	if err != nil {
		return screened{}, err
	}
	bill, err := readCharges(ctx, r.system.db, receipt.Body.JobID)
	if err != nil {
		return screened{}, err
	}
	attempts, err := readAttempts(ctx, r.system.db, receipt.Body.JobID)
	if err != nil {
		return screened{}, err
	}
	took := besides(attempts, began, end, r.slots)
	for _, a := range attempts {
		after -= time.Duration(a.CPUMicroseconds) * time.Microsecond
	}
	took.used = (after - before).Seconds()
	return screened{end.Sub(began).Seconds(), bill.AccruedMicropence, receipt.Body.KnownTasks, took}, nil
}

// besides tells what attempts took between two moments, and how long their cores waited. That some cores have nothing left to start
// while the others end a stage is how the lengths of its last tasks fall, and not counted.
func besides(attempts []attemptTimes, from, until time.Time, cores int) (b beside) {
	var stages []int
	for _, a := range attempts {
		b.engines += a.Finished.Sub(a.Started).Seconds()
		stages = append(stages, a.Stage)
	}
	slices.Sort(stages)
	ended := from // the stage before
	for _, stage := range slices.Compact(stages) {
		begin, starting := ended, ended
		for _, a := range attempts {
			if a.Stage == stage {
				starting, ended = later(starting, a.Started), later(ended, a.Finished)
			}
		}
		b.waited += float64(cores) * starting.Sub(begin).Seconds()
		for _, a := range attempts {
			if a.Stage == stage && a.Started.Before(starting) {
				b.waited -= earlier(a.Finished, starting).Sub(a.Started).Seconds()
			}
		}
	}
	b.waited += float64(cores) * until.Sub(ended).Seconds()
	return b
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// known docks a library, and then larger ones that begin with it.
func (r *reusing) known(ctx context.Context, _ int, told func(string)) (Result, error) {
	account, err := r.newScreener(ctx, client.Options{APIKey: r.system.key})
	if err != nil {
		return Result{}, err
	}
	defer account.api.Close()
	told(fmt.Sprintf("%d ligands", knownLigands))
	all := smallLigands(knownLigands + knownScreens*newLigands)
	first, err := account.screen(ctx, all[:knownLigands])
	if err != nil {
		return Result{}, err
	}
	var walls, bills, seconds, knownTasks []float64
	for i := range knownScreens {
		told(fmt.Sprintf("%d ligands, of which %d are known", knownLigands+newLigands, knownLigands))
		unseen := all[knownLigands+i*newLigands:][:newLigands]
		again, err := account.screen(ctx, slices.Concat(all[:knownLigands], unseen))
		if err != nil {
			return Result{}, err
		}
		walls, seconds = append(walls, again.seconds/first.seconds), append(seconds, again.seconds)
		bills = append(bills, float64(again.micropence)/float64(first.micropence))
		knownTasks = append(knownTasks, float64(again.known))
	}
	told(fmt.Sprintf("%d identities", lookedUp))
	milliseconds, err := timeLookUps(ctx, r.system.db, r.system.account)
	if err != nil {
		return Result{}, err
	}
	wall, money := median(walls), median(bills)
	return Result{
		ID: knownID, Name: "never pay twice", Peer: fmt.Sprintf("itself, %d ligands of which none was", knownLigands),
		Workload: fmt.Sprintf("%d ligands of which %d were docked before, one a task, exhaustiveness %d, %d cores, from the "+
			"submission to the job's end", knownLigands+newLigands, knownLigands, screenExhaustiveness, r.slots),
		Goal:       fmt.Sprintf("at most %g of its time and money; look-ups under %d ms", knownGoal, lookUpGoalMs),
		Met:        wall <= knownGoal && money <= knownGoal && milliseconds < lookUpGoalMs,
		Comparison: Comparison{Unit: "s", Ours: seconds, Peer: slices.Repeat([]float64{first.seconds}, knownScreens)}.judged(1),
		Figures: map[string]float64{"wallOfTheFirst": wall, "billOfTheFirst": money, "lowestWall": slices.Min(walls),
			"highestWall": slices.Max(walls), "lowestBill": slices.Min(bills), "highestBill": slices.Max(bills),
			"knownTasks": median(knownTasks), "lookUpMilliseconds": milliseconds},
		Notes: []string{fmt.Sprintf("one run of the first, and the medians of %d of the second, each with %d new ligands; "+
			"lookUpMilliseconds is the median of %d look-ups of %d identities", knownScreens, newLigands, lookUps, lookedUp)},
		MeasuredAt: time.Now().UTC(),
	}, nil
}

// fresh docks what an account has never docked, with and without asking whether it has. All screens have the same seed, so that
// they are the same work, and each is an account's first. A machine that does the same dockings in one minute or in one and a
// quarter hides a hundredth, so what is compared is what one screen's engines took, the same for all, and what each screen took
// beside its own.
func (r *reusing) fresh(ctx context.Context, pairs int, told func(string)) (Result, error) {
	ligands, accounts := smallLigands(freshLigands), 0
	screen := func(ctx context.Context, options client.Options) (screened, error) {
		accounts++
		var err error
		if options.APIKey, _, err = r.system.openAccount(ctx, fmt.Sprintf("fresh-%d@molfabric.local", accounts)); err != nil {
			return screened{}, err
		}
		account, err := r.newScreener(ctx, options)
		if err != nil {
			return screened{}, err
		}
		defer account.api.Close()
		got, err := account.screen(ctx, ligands)
		if err == nil && got.known > 0 {
			err = errors.New("a screen that nobody has run is known")
		}
		return got, err
	}
	told("a screen, for what its engines take")
	first, err := screen(ctx, client.Options{})
	if err != nil {
		return Result{}, err
	}
	figures := map[string]float64{"enginesCoreSeconds": first.engines}
	with := func(name string, options client.Options) Arm {
		var waited, used, seconds []float64
		return func(ctx context.Context) (float64, error) {
			got, err := screen(ctx, options)
			waited, used, seconds = append(waited, got.waited), append(used, got.used), append(seconds, got.seconds)
			figures[name+"WaitedCoreSeconds"], figures[name+"UsedCoreSeconds"] = median(waited), median(used)
			figures[name+"Seconds"] = median(seconds)
			return first.engines + got.waited + got.used, err
		}
	}
	result := Result{
		ID: freshID, Name: "never pay twice", Peer: "itself, told to run everything", Goal: fmt.Sprintf("≥ %g", freshGoal),
		Workload: fmt.Sprintf("%d ligands of which none was docked before, one a task, exhaustiveness %d, %d cores, from the "+
			"submission to the job's end", freshLigands, screenExhaustiveness, r.slots),
		Figures: figures, MeasuredAt: time.Now().UTC(),
		Notes: []string{"compared are the core seconds of one screen's engines, the same for all, with those that each screen's " +
			"cores waited and that the system used beside the engines; a core that waits while the system works counts twice"},
	}
	result.Comparison, err = compare(ctx, "core s", pairs, with("ours", client.Options{}),
		with("peer", client.Options{NoReuse: true}), told)
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
