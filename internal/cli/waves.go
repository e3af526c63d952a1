package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/molfabric/molfabric/internal/casefile"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// What `waves` asks for.
const (
	modelSWAN      = "swan"
	modelWaveWatch = "wavewatch3"
	// deckWaveWatch is what a case of WAVEWATCH III has at its top, and no other.
	deckWaveWatch = "ww3_grid.nml"
	waveResults   = "results.json"
	waveSchema    = "molfabric.waves.results/v1"
	waveScenarios = "scenarios.csv"

	maxScenariosShown = 20
)

type waveRequest struct {
	jobRequest[waveParams]
	Recovery *waveRecovery `json:"recovery,omitempty"`
}

type waveParams struct {
	Decks    []string `json:"waveDecks,omitempty"`
	Switches string   `json:"waveSwitches,omitempty"`
	Start    string   `json:"waveStart,omitempty"`

	Scenarios string `json:"waveScenarios,omitempty"`
}

type waveRecovery struct {
	Mode string `json:"mode"`
}

// waveFlags are the flags of `waves` as they are written.
type waveFlags struct {
	decks                    []string
	model, switches, start   string
	scenarios                string
	name, folder             string
	resumable, detach, watch bool
}

const wavesText = `Runs a case of SWAN, the model of waves near the shore, or of WAVEWATCH III, that of oceans and seas. The case is a folder with
everything that its decks name, or that folder as .zip or .tar.gz. With ww3_grid.nml at its top it is one of WAVEWATCH III. Of SWAN
the deck is INPUT, or every .swn file at the top; each is a task of its own. --scenarios names a table in the case: each row is a
run of one deck, with the row's cells in place of {column}. Decks are read before they cost anything, and the first thing wrong is
named with its line. A run that ended without converging says so.`

func wavesCommand() *cobra.Command {
	var options waveFlags
	cmd := command(cobra.Command{
		Use: "waves CASE", Short: "Run a case of the wave models SWAN and WAVEWATCH III", Long: wavesText,
		Example: `  molfabric waves bay.zip --watch --out results
  molfabric waves bay/ --deck storm.swn --resumable --detach
  molfabric waves bay/ --scenarios storms.csv --out results
  molfabric waves ocean/ --switches 22012164d52d --out results`,
	}, one("CASE"), func(ctx context.Context, inv *invocation, args []string) error {
		if options.folder != "" && (options.detach || !options.watch) {
			return usage("--detach and --output exclude each other")
		}
		packed, name, found, err := packCase(args[0])
		if err != nil {
			return err
		}
		if options.model == "" {
			options.model = modelOf(found)
		}
		if err := options.check(); err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		return inv.runWaves(ctx, packed, name, options)
	})
	offerNoReuse(cmd)
	flags := cmd.Flags()
	flags.SortFlags = false // the order below goes from what is run to how
	flags.StringVar(&options.model, "model", "", "swan or wavewatch3 (default: by the decks of the case)")
	flags.StringSliceVar(&options.decks, "deck", nil, "deck of SWAN to run, by its name in the case; may be given several times")
	flags.StringVar(&options.scenarios, "scenarios", "", "table of scenarios of SWAN, by its name in the case: CSV, a row a run")
	flags.StringVar(&options.switches, "switches", "", "build of WAVEWATCH III, by the SHA-256 of its switch file or its first "+
		"digits")
	flags.StringVar(&options.start, "start", "", "begin of WAVEWATCH III: restart or cold (default: restart where the case has "+
		"restart.ww3)")
	flags.BoolVar(&options.resumable, "resumable", false, "save a run over time on the way: it goes on when its worker is lost")
	flags.StringVar(&options.name, "name", "", "name of the job (default: made from the case)")
	flags.StringVarP(&options.folder, "output", "o", "", "folder to download the results into; also --out")
	flags.BoolVar(&options.watch, "watch", true, "stay, and show progress and result")
	flags.BoolVar(&options.detach, "detach", false, "submit, and do not stay")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "out" {
			name = "output"
		}
		return pflag.NormalizedName(name)
	})
	return cmd
}

// modelOf is the model of a case, by its decks.
func modelOf(c *casefile.Case) string {
	if _, there := c.Find(deckWaveWatch); there {
		return modelWaveWatch
	}
	return modelSWAN
}

// check refuses flags of one model with the other.
func (f waveFlags) check() error {
	switch {
	case f.model != modelSWAN && f.model != modelWaveWatch:
		return usage("--model is %q; it must be %s or %s", f.model, modelSWAN, modelWaveWatch)
	case f.model == modelWaveWatch && (len(f.decks) > 0 || f.scenarios != ""):
		return usage("--deck and --scenarios are of %s; a case of %s is run whole", modelSWAN, modelWaveWatch)
	case f.model == modelSWAN && f.switches+f.start != "":
		return usage("--switches and --start are of %s, and the case is one of %s", modelWaveWatch, modelSWAN)
	}
	return nil
}

// packCase reads the archive of a case, or packs its folder, and holds it to what the service takes.
func packCase(path string) (packed []byte, name string, found *casefile.Case, err error) {
	name = filepath.Base(filepath.Clean(path))
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", nil, invalidInput("%v", err)
	}
	if info.IsDir() {
		name += ".zip"
		packed, err = packFolder(path)
	} else {
		packed, err = readUpTo(path, casefile.MaxArchiveBytes)
	}
	if err != nil {
		return nil, "", nil, err
	}
	if found, err = casefile.Read(packed); err != nil {
		return nil, "", nil, invalidInput("%s: %v", path, err)
	}
	return packed, name, found, nil
}

func readUpTo(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, invalidInput("%v", err)
	}
	defer func() { _ = file.Close() }() // only read
	return io.ReadAll(io.LimitReader(file, most+1))
}

// packFolder packs the regular files of a folder.
func packFolder(folder string) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	if err := archive.AddFS(os.DirFS(folder)); err != nil {
		return nil, invalidInput("%s: %v", folder, err)
	}
	err := archive.Close()
	return out.Bytes(), err
}

func (inv *invocation) runWaves(ctx context.Context, packed []byte, name string, f waveFlags) error {
	scene, err := inv.api.UploadWith(ctx, name, bytes.NewReader(packed), int64(len(packed)), client.UploadOptions{})
	if err != nil {
		return inv.unsubmitted(ctx, err)
	}
	request := waveRequest{jobRequest: jobRequest[waveParams]{JobType: "simulation", Simulator: f.model,
		SimulationParams: waveParams{f.decks, f.switches, f.start, f.scenarios}}}
	if f.resumable {
		request.Recovery = &waveRecovery{"resumable"}
	}
	request.SceneFile = scene.StorageKey
	request.JobName = shorten(labelOf(first(f.name, "waves of "+name)), maxLabelChars)
	receipt, err := inv.submit(ctx, request, "")
	if err != nil {
		return err
	}
	if f.detach || !f.watch {
		return inv.showReceipt(receipt)
	}
	inv.tellSubmitted(receipt.Body)
	_, err = inv.complete(ctx, receipt.Body.JobID, defaultTop,
		func(j contract.Job) error { return inv.deliverWaves(ctx, j, f.folder) })
	return err
}

// waves is what is shown of a deck's results.json.
type waves struct {
	Schema      string `json:"schema"`
	Deck        string `json:"deck"`
	Convergence struct {
		Message string `json:"message"`
	} `json:"convergence"`
	Checks []struct {
		Check string `json:"check"`
		Holds bool   `json:"holds"`
	} `json:"checks"`
	Fields map[string]struct {
		Times             int
		Least, Mean, Most float64
	} `json:"fields"`
}

// deliverWaves shows what a job has computed, and downloads it where that is asked for.
func (inv *invocation) deliverWaves(ctx context.Context, j contract.Job, folder string) error {
	if j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return nil
	}
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return err
	}
	if !inv.json {
		if err := inv.showWaves(ctx, j.JobID, outputs.Body); err != nil {
			return err
		}
	}
	if folder == "" {
		return nil
	}
	if err := inv.download(ctx, j.JobID, outputs.Body.Outputs, folder); err != nil {
		return err
	}
	if !inv.json {
		fmt.Fprintf(inv.out, "%d files lie in %s; report.html shows them.\n", len(outputs.Body.Outputs), folder)
	}
	return nil
}

// showWaves shows the table of scenarios where a job has one, else what each deck has come to.
func (inv *invocation) showWaves(ctx context.Context, jobID string, outputs contract.Outputs) error {
	for _, output := range outputs.Outputs {
		if output.Name != waveScenarios {
			continue
		}
		text, err := inv.api.FetchOutput(ctx, jobID, output, maxDocumentBytes)
		if err != nil {
			return err
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(rows) == 0 {
			return fmt.Errorf("job %s has a %s that this program cannot read: %w", jobID, output.Name, err)
		}
		scenariosTable(inv.out, rows)
		return nil
	}
	for _, output := range outputs.Outputs {
		if output.Name != waveResults && !strings.HasSuffix(output.Name, "."+waveResults) {
			continue
		}
		var found waves
		if err := inv.readDocument(ctx, outputs, output.Name, &found); err != nil {
			return err
		}
		if found.Schema != waveSchema {
			return fmt.Errorf("job %s has a %s that this program cannot read", jobID, output.Name)
		}
		wavesTable(inv.out, found)
	}
	return nil
}

// scenariosTable shows the first scenarios: their cells, their state, and the most of each quantity.
func scenariosTable(w io.Writer, rows [][]string) {
	shown := make([]int, 0, len(rows[0]))
	for i, column := range rows[0] {
		if !strings.HasSuffix(column, " least") && !strings.HasSuffix(column, " mean") {
			shown = append(shown, i)
		}
	}
	pick := func(row []string) table.Row {
		cells := make(table.Row, len(shown))
		for i, from := range shown {
			cells[i] = row[from]
		}
		return cells
	}
	head := make([]string, len(shown))
	for i, from := range shown {
		head[i] = rows[0][from]
	}
	t := newTable(painter(w), nil, head...)
	for _, row := range rows[1:min(len(rows), maxScenariosShown+1)] {
		t.AppendRow(pick(row))
	}
	fmt.Fprintf(w, "\n%s\n", t.Render())
	if more := len(rows) - 1 - maxScenariosShown; more > 0 {
		fmt.Fprintf(w, "… and %d more; %s has all of them.\n", more, waveScenarios)
	}
}

func wavesTable(w io.Writer, found waves) {
	fmt.Fprintf(w, "\n%s: %s\n", found.Deck, found.Convergence.Message)
	for _, one := range found.Checks {
		if !one.Holds {
			fmt.Fprintf(w, "This does not hold: %s.\n", one.Check)
		}
	}
	if len(found.Fields) == 0 {
		return
	}
	t := newTable(painter(w), []int{2, 3, 4, 5}, "quantity", "times", "least", "mean", "most")
	for _, name := range slices.Sorted(maps.Keys(found.Fields)) {
		one := found.Fields[name]
		row := table.Row{name, one.Times}
		for _, value := range []float64{one.Least, one.Mean, one.Most} {
			row = append(row, fmt.Sprintf("%.4g", value))
		}
		t.AppendRow(row)
	}
	fmt.Fprintln(w, t.Render())
}
