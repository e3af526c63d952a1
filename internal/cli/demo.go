package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/abl1"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mol"
)

const (
	demoEmail = "demo@molfabric.local"
	// demoSeed makes the demonstration's scores the same everywhere.
	demoSeed = 42
)

// demoNative is the ligand of the structure that the demonstration docks into: imatinib.
var demoNative = residueName{ComponentID: "STI", residuePlace: residuePlace{Chain: "A", Residue: 201}}

// demoLigands are imatinib, of which the crystal shows where it belongs, the parent of the class that it was made from (Zimmermann
// et al., Arch. Pharm. 329, 371, 1996), and a drug that has nothing to do with it.
var demoLigands = []ligand{
	{label: "imatinib", componentID: demoNative.ComponentID},
	{label: "phenylaminopyrimidine", smiles: "c1ccc(cc1)Nc1nccc(n1)-c1cccnc1"},
	{label: "aspirin", smiles: "CC(=O)OC1=CC=CC=C1C(=O)O"},
}

// DemoOptions say where the demonstration runs.
type DemoOptions struct {
	Server  string    // address of a running server
	Home    string    // directory that keeps demo.json, the account, and demo/, the structure and the results
	Cores   int       // that the server's workers use, for the guess at the time; 0 means all of this machine
	Program string    // how its user calls this program, e.g. bin/molfabric
	Out     io.Writer // takes everything that is shown
	// Link says that the server carries the web app and goes on after the demonstration: then it ends with a link into its result.
	Link bool
	// Exhaustiveness of the searches; 0 goes on until independent searches agree, as `molfabric dock` does. Tests search less.
	Exhaustiveness int
}

// demoAccount is the demonstration's account, kept in a file that its owner alone can read.
type demoAccount struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// RunDemo docks a small library through the public API, by the same code as `molfabric dock`, and explains what it does. It
// may be run again: the account stays, and the results are replaced. The error is one of a command, for ExitCode.
func RunDemo(ctx context.Context, o DemoOptions) error {
	d := demo{DemoOptions: o, paint: painter(o.Out)}
	if d.Cores <= 0 {
		d.Cores = runtime.NumCPU()
	}
	if err := d.run(ctx); err != nil {
		if errors.Is(err, errInterrupted) || ctx.Err() == nil {
			return err
		}
		return errInterrupted
	}
	return nil
}

type demo struct {
	DemoOptions
	paint   paint
	inv     *invocation
	browser *client.Client // signed in by password, as a browser is
}

func (d *demo) run(ctx context.Context) error {
	fmt.Fprintf(d.Out, "%s\nDocks imatinib back into the kinase c-Abl, where a crystal shows its place, and two others to "+
		"compare,\n"+
		"through the REST API of %s.\n", d.paint.bold("molfabric: demonstration"), d.Server)
	d.title(1, "An account with free credit")
	if err := d.account(ctx); err != nil {
		return err
	}
	defer d.inv.api.Close()
	defer d.browser.Close()
	d.title(2, "The structure")
	plan, err := d.plan()
	if err != nil {
		return err
	}
	d.title(3, "The price, before anything runs")
	if err := d.price(ctx, plan); err != nil {
		return err
	}
	d.title(4, "Docking")
	d.say("scores estimate the binding free energy in kcal/mol: lower is better")
	j, err := d.inv.dock(ctx, plan)
	if err != nil {
		return err
	}
	result, best, err := d.found(ctx, j.JobID)
	if err != nil {
		return err
	}
	if err := d.goOn(ctx, j, plan.folder, best.PoseID); err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "\n%s\n", d.paint.bold(whereItLies(result, best)))
	return nil
}

func (d *demo) title(number int, text string) {
	fmt.Fprintf(d.Out, "\n%s\n", d.paint.bold(fmt.Sprintf("%d. %s", number, text)))
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.Out, "  "+format+"\n", args...) }

// account signs in, or up where there is no account yet, and makes a key.
func (d *demo) account(ctx context.Context) error {
	signing, err := client.New(client.Options{Server: d.Server})
	if err != nil {
		return usage("%v", err)
	}
	d.browser = signing
	account, err := d.sign(ctx, signing)
	if err != nil {
		return err
	}
	key, err := d.key(ctx, signing)
	if err != nil {
		return err
	}
	api, err := client.New(client.Options{Server: d.Server, APIKey: key.Secret})
	if err != nil {
		return usage("%v", err)
	}
	d.inv = &invocation{api: api, signedIn: true, in: strings.NewReader(""), out: d.Out, err: d.Out, now: time.Now,
		getenv: os.Getenv}
	balance, err := api.Balance(ctx)
	if err != nil {
		return err
	}
	d.say("account   %s", account.Body.Email)
	d.say("credit    %s available, %s of it free this month", balance.Body.AvailableDisplay,
		pence(balance.Body.MonthlyAvailableCents))
	d.say("API key   %s…%s, made for this run", key.Prefix, key.Last4)
	return nil
}

// sign uses the account of an earlier run while the server knows it. A server that has forgotten it gets it again; one whose
// demonstration account belongs to a lost file gets another.
func (d *demo) sign(ctx context.Context, api *client.Client) (account client.Answer[contract.Account], err error) {
	path := filepath.Join(d.Home, "demo.json")
	var kept demoAccount
	err = readPrivate(path, &kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return account, err
	}
	if err == nil {
		account, err = api.SignIn(ctx, kept.Email, kept.Password)
		if client.CodeOf(err) != fault.Unauthorized {
			return account, err
		}
	}
	fresh := demoAccount{Email: demoEmail, Password: rand.Text()}
	account, err = api.SignUp(ctx, fresh.Email, fresh.Password, "Demonstration")
	if client.CodeOf(err) == fault.Validation { // the address is taken
		fresh.Email = "demo-" + strings.ToLower(rand.Text()[:8]) + "@molfabric.local"
		account, err = api.SignUp(ctx, fresh.Email, fresh.Password, "Demonstration")
	}
	if err == nil && api.Session() == "" {
		err = fmt.Errorf("%s opens accounts when their address has been proved, which the demonstration cannot do: give it a "+
			"home of its own", d.Server)
	}
	if err != nil {
		return account, err
	}
	return account, writePrivate(path, fresh)
}

// demoKeyName marks the keys that the demonstration has made, of which one at a time is good.
const demoKeyName = "demonstration"

func (d *demo) key(ctx context.Context, api *client.Client) (key contract.CreatedKey, err error) {
	keys, err := api.ListKeys(ctx)
	if err != nil {
		return key, err
	}
	for _, old := range keys.Body.Keys {
		if old.Name == demoKeyName && old.RevokedAt == nil {
			if _, err := api.RevokeKey(ctx, old.ID); err != nil {
				return key, err
			}
		}
	}
	made, err := api.CreateKey(ctx, contract.CreateRequest{Name: demoKeyName, Environment: "live", Scopes: contract.Scopes})
	return made.Body, err
}

// plan writes the structure into the home and describes the docking: what is not said, `molfabric dock` finds by itself.
func (d *demo) plan() (docking, error) {
	folder := filepath.Join(d.Home, "demo")
	path, err := abl1.WriteEntry(folder)
	if err != nil {
		return docking{}, err
	}
	seed, native, exhaustiveness := int64(demoSeed), demoNative, mol.AutoExhaustiveness
	if d.Exhaustiveness > 0 {
		exhaustiveness = mol.Exhaustiveness(d.Exhaustiveness)
	}
	plan := docking{
		receptor: receptor{path: path},
		ligands:  append([]ligand(nil), demoLigands...), name: "demonstration: 3 ligands into c-Abl", top: len(demoLigands),
		folder: filepath.Join(folder, "results"),
		search: search{exhaustiveness: &exhaustiveness, seed: &seed, redock: &redock{named: &native}},
	}
	nameLigands(plan.ligands)
	d.say("c-Abl with imatinib bound, entry 1IEP of the Protein Data Bank, its own numbering   %s", path)
	d.say("the box is laid around imatinib, which is taken out; seed %d", demoSeed)
	// A run before this one has left files that would look like this one's.
	return plan, os.RemoveAll(plan.folder)
}

func (d *demo) price(ctx context.Context, plan docking) error {
	price, err := d.inv.price(ctx, plan)
	if err != nil {
		return err
	}
	d.say("%s for %d ligands; likely at most %s", money(price.Body.EstimatedCost, price.Body.Currency), len(plan.ligands),
		money(price.Body.Range.High, price.Body.Currency))
	if spent, ok := cpuTime(price.Body); ok {
		d.say("it will take about %s on %d cores", minutes(wallTime(spent, len(plan.ligands), d.Cores)), d.Cores)
	}
	return nil
}

// wallTime guesses how long work of one thread for each ligand takes on so many cores.
func wallTime(cpu time.Duration, ligands, cores int) time.Duration {
	rounds := (ligands + cores - 1) / cores
	return max(cpu/time.Duration(cores), cpu/time.Duration(ligands)*time.Duration(rounds))
}

// minutes is a duration for people: whole minutes, rounded up.
func minutes(d time.Duration) string {
	n := int((d + time.Minute - 1) / time.Minute)
	if n <= 1 {
		return "a minute"
	}
	return fmt.Sprintf("%d minutes", n)
}

// goOn closes with the account's state and what to do next. folder holds the results; poseID is of the best pose, if there is one.
func (d *demo) goOn(ctx context.Context, j contract.Job, folder, poseID string) error {
	balance, err := d.inv.api.Balance(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "\n%s\n", d.paint.bold("How to go on"))
	d.say("%s of the credit is left; job %s is in the account's list.", balance.Body.AvailableDisplay, j.JobID)
	d.say("The best pose in its site, as a picture: %s", filepath.Join(folder, "best.png"))
	for _, step := range [][2]string{
		{"make up", "installs the rest (all engines), starts the system and leaves it running"},
		{d.Program + " login --sign-up", "opens an account of your own"},
		{d.Program + " dock --help", "docks your own ligands"}, {d.Server + "/docs", "the API, to read and to try"},
	} {
		d.say("%-32s %s", step[0], step[1])
	}
	if !d.Link || poseID == "" {
		return nil
	}
	link, err := d.browser.MakeSignInLink(ctx, "/poses/"+poseID)
	if err != nil {
		return err
	}
	d.say("The best pose in 3D, by a link that signs a browser in, once, within 15 minutes:")
	d.say("%s", link.Body.URL)
	return nil
}

// found is imatinib with its best pose; both are empty where it has none.
func (d *demo) found(ctx context.Context, jobID string) (result contract.DockingResult, best contract.DockingPose, err error) {
	result.Label = demoLigands[0].label
	run, _, err := d.inv.api.RunOfJob(ctx, jobID)
	if err != nil {
		return result, best, err
	}
	named := client.ResultFilter{Page: client.Page{Limit: 1}, Text: result.Label}
	results, err := d.inv.api.DockingResults(ctx, run.RunID, named)
	if err != nil || len(results.Body.Results) == 0 {
		return result, best, err
	}
	result = results.Body.Results[0]
	poses, err := d.inv.api.DockingPoses(ctx, result.ResultID, client.Page{Limit: 1})
	if err != nil || len(poses.Body.Poses) == 0 {
		return result, best, err
	}
	return result, poses.Body.Poses[0], nil
}

// whereItLies says in one line where a ligand came to lie, and what holds it there.
func whereItLies(result contract.DockingResult, best contract.DockingPose) string {
	var parts []string
	if rmsd := best.ReferenceRMSDAngstrom; rmsd != nil {
		parts = append(parts, fmt.Sprintf("%.1f Å from the crystal", *rmsd))
	}
	if held := bondedTo(result.Interactions); held != "" {
		parts = append(parts, held)
	}
	if len(parts) == 0 {
		return result.Label + " has no pose"
	}
	return result.Label + " " + strings.Join(parts, ", ")
}

// bondedTo names the residues of hydrogen bonds in the order of their numbers: "hydrogen bonds to THR 315 and MET 318".
func bondedTo(contacts []string) string {
	numbers := map[string]int{}
	for _, contact := range contacts {
		parts := strings.Split(contact, ":")
		if len(parts) != 4 || parts[3] != "hydrogen_bond" {
			continue
		}
		number, _ := strconv.Atoi(strings.TrimRight(parts[2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) // it orders alone
		numbers[parts[1]+" "+parts[2]] = number
	}
	residues := slices.SortedFunc(maps.Keys(numbers), func(a, b string) int {
		return cmp.Or(numbers[a]-numbers[b], strings.Compare(a, b))
	})
	switch len(residues) {
	case 0:
		return ""
	case 1:
		return "a hydrogen bond to " + residues[0]
	}
	last := len(residues) - 1
	return "hydrogen bonds to " + strings.Join(residues[:last], ", ") + " and " + residues[last]
}
