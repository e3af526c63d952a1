package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mol"
)

const (
	demoEmail = "demo@molfabric.local"
	// demoBoxAngstrom is the edge of the demonstration's box. dockstring's own is 30 Å, made for blind searches; the ATP site
	// of ABL1 with the pocket behind it that imatinib reaches fits into 22 Å, and a smaller box is searched better in the same time.
	demoBoxAngstrom = 22
	// demoExhaustiveness is AutoDock Vina's own default.
	demoExhaustiveness = 8
	// demoSeed makes the demonstration's scores the same everywhere.
	demoSeed = 42
)

// demoLigands are four drugs that were made to bind ABL1, and one that was not.
var demoLigands = []ligand{
	{label: "imatinib", smiles: "CC1=C(C=C(C=C1)NC(=O)C2=CC=C(C=C2)CN3CCN(CC3)C)NC4=NC=CC(=N4)C5=CN=CC=C5"},
	{label: "dasatinib", smiles: "CC1=C(C(=CC=C1)Cl)NC(=O)C2=CN=C(S2)NC3=CC(=NC(=N3)C)N4CCN(CC4)CCO"},
	{label: "bosutinib", smiles: "CN1CCN(CC1)CCCOC2=C(C=C3C(=C2)N=CC(=C3NC4=CC(=C(C=C4Cl)Cl)OC)C#N)OC"},
	{label: "nilotinib", smiles: "CC1=C(C=C(C=C1)C(=O)NC2=CC(=CC(=C2)C(F)(F)F)N3C=C(N=C3)C)NC4=NC=CC(=N4)C5=CN=CC=C5"},
	{label: "aspirin", smiles: "CC(=O)OC1=CC=CC=C1C(=O)O"},
}

// DemoOptions say where the demonstration runs.
type DemoOptions struct {
	Server  string    // address of a running server
	Home    string    // directory that keeps demo.json, the account, and demo/, the receptor and the results
	Python  string    // the scientific Python, whose dockstring package holds the receptor
	Cores   int       // that the server's workers use, for the guess at the time; 0 means all of this machine
	Program string    // how its user calls this program, e.g. bin/molfabric
	Out     io.Writer // takes everything that is shown
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
	paint paint
	inv   *invocation
}

func (d *demo) run(ctx context.Context) error {
	fmt.Fprintf(d.Out, "%s\nDocks four kinase inhibitors, and aspirin for comparison, into the kinase ABL1, through the REST API of\n%s.\n",
		d.paint.bold("molfabric: demonstration"), d.Server)
	d.title(1, "An account with free credit")
	if err := d.account(ctx); err != nil {
		return err
	}
	defer d.inv.api.Close()
	d.title(2, "The receptor")
	plan, err := d.plan(ctx)
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
	return d.goOn(ctx, j)
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
	defer signing.Close()
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
	d.inv = &invocation{api: api, signedIn: true, in: strings.NewReader(""), out: d.Out, err: d.Out, now: time.Now, getenv: os.Getenv}
	balance, err := api.Balance(ctx)
	if err != nil {
		return err
	}
	d.say("account   %s", account.Email)
	d.say("credit    %s available, %s of it free this month", balance.AvailableDisplay, pence(balance.MonthlyAvailableCents))
	d.say("API key   %s…%s, made for this run", key.Prefix, key.Last4)
	return nil
}

// sign uses the account of an earlier run while the server knows it. A server that has forgotten it gets it again; one whose
// demonstration account belongs to a lost file gets another.
func (d *demo) sign(ctx context.Context, api *client.Client) (client.Account, error) {
	path := filepath.Join(d.Home, "demo.json")
	var kept demoAccount
	err := readPrivate(path, &kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return client.Account{}, err
	}
	if err == nil {
		account, err := api.SignIn(ctx, kept.Email, kept.Password)
		if client.CodeOf(err) != fault.Unauthorized {
			return account, err
		}
	}
	fresh := demoAccount{Email: demoEmail, Password: rand.Text()}
	account, err := api.SignUp(ctx, fresh.Email, fresh.Password, "Demonstration")
	if client.CodeOf(err) == fault.Validation { // the address is taken
		fresh.Email = "demo-" + strings.ToLower(rand.Text()[:8]) + "@molfabric.local"
		account, err = api.SignUp(ctx, fresh.Email, fresh.Password, "Demonstration")
	}
	if err != nil {
		return account, err
	}
	return account, writePrivate(path, fresh)
}

// demoKeyName marks the keys that the demonstration has made, of which one at a time is good.
const demoKeyName = "demonstration"

func (d *demo) key(ctx context.Context, api *client.Client) (client.Key, error) {
	keys, err := api.ListKeys(ctx)
	if err != nil {
		return client.Key{}, err
	}
	for _, old := range keys.Keys {
		if old.Name == demoKeyName && old.RevokedAt == nil {
			if _, err := api.RevokeKey(ctx, old.ID); err != nil {
				return client.Key{}, err
			}
		}
	}
	return api.CreateKey(ctx, client.NewKey{Name: demoKeyName, Environment: "live", Scopes: client.Scopes})
}

// plan writes the receptor into the home and describes the docking.
func (d *demo) plan(ctx context.Context) (docking, error) {
	target, err := findTarget(ctx, d.Python)
	if err != nil {
		return docking{}, err
	}
	path := filepath.Join(d.Home, "demo", "ABL1.pdbqt")
	if err := target.write(path); err != nil {
		return docking{}, err
	}
	exhaustiveness, seed, edge := demoExhaustiveness, int64(demoSeed), float64(demoBoxAngstrom)
	plan := docking{
		receptor: receptor{path: path}, box: dockBox{center: &target.center, size: &mol.BoxSize{edge, edge, edge}}, ligands: append([]ligand(nil), demoLigands...), name: "demonstration: 5 ligands into ABL1", top: len(demoLigands),
		folder: filepath.Join(d.Home, "demo", "results"),
		search: search{exhaustiveness: &exhaustiveness, seed: &seed},
	}
	nameLigands(plan.ligands)
	d.say("ABL1, from the dockstring package   %s", path)
	d.say("box of %d Å around %.1f, %.1f, %.1f Å, exhaustiveness %d, seed %d", demoBoxAngstrom, target.center[0], target.center[1], target.center[2], exhaustiveness, seed)
	// A run before this one has left files that would look like this one's.
	return plan, os.RemoveAll(plan.folder)
}

func (d *demo) price(ctx context.Context, plan docking) error {
	price, err := d.inv.price(ctx, plan)
	if err != nil {
		return err
	}
	d.say("%s for %d ligands; likely at most %s", money(price.EstimatedCost, price.Currency), len(plan.ligands), money(price.Range.High, price.Currency))
	if spent, ok := cpuTime(price); ok {
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

// goOn closes with the account's state and what to do next.
func (d *demo) goOn(ctx context.Context, j client.Job) error {
	balance, err := d.inv.api.Balance(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "\n%s\n", d.paint.bold("How to go on"))
	d.say("%s of the credit is left; job %s is in the account's list.", balance.AvailableDisplay, j.JobID)
	for _, step := range [][2]string{
		{"make up", "starts the system and leaves it running"}, {d.Program + " login --sign-up", "opens an account of your own"},
		{d.Program + " dock --help", "docks your own ligands"}, {d.Server + "/docs", "the API, to read and to try"},
	} {
		d.say("%-32s %s", step[0], step[1])
	}
	return nil
}
