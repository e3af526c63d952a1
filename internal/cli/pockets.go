package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	// pocketFinder is the simulator that `pockets` asks for.
	pocketFinder  = "fpocket"
	pocketsFile   = "pockets.json"
	pocketsSchema = "molfabric.pockets/v1"
	// maxPockets is doc/contract.md §2.2's.
	maxPockets = 20
)

type pocketRequest = jobRequest[pocketParams]

type pocketParams struct {
	MaxPockets int `json:"maxPockets"`
}

// pockets is what is shown of pockets.json.
type pockets struct {
	Schema       string   `json:"schema"`
	PocketsFound int      `json:"pocketsFound"`
	Pockets      []pocket `json:"pockets"`
}

type pocket struct {
	Rank                int        `json:"rank"`
	Score               *float64   `json:"score"`
	DruggabilityScore   *float64   `json:"druggabilityScore"`
	VolumeCubicAngstrom *float64   `json:"volumeCubicAngstrom"`
	Residues            []struct{} `json:"residues"`
	DockingBox          struct {
		CenterAngstrom []float64 `json:"boxCenterAngstrom"`
		SizeAngstrom   []float64 `json:"boxSizeAngstrom"`
	} `json:"dockingBox"`
}

func pocketsCommand() *cobra.Command {
	var most int
	cmd := command(cobra.Command{
		Use: "pockets FILE", Short: "Find a protein's pockets, with boxes to dock into",
		Long: `Finds the pockets of a protein with fpocket: uploads the file (.pdb or .cif, perhaps compressed with gzip),
submits a job, follows it, and lists the pockets with a box for ` + "`molfabric dock --box`" + `. A high druggability says that
the pocket looks like those that bind drugs, not that it is the one you want. --json prints the pockets whole, with their residues,
and the job's id.`,
		Example: "  molfabric pockets 1uyd.pdb --max 3",
	}, one("FILE"), func(ctx context.Context, inv *invocation, args []string) error {
		if most < 1 || most > maxPockets {
			return usage("--max %d: must be 1 to %d", most, maxPockets)
		}
		if err := checkPlain(args[0], receptorBound); err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		return inv.findPockets(ctx, args[0], most)
	})
	offerNoReuse(cmd)
	cmd.Flags().IntVar(&most, "max", 10, fmt.Sprintf("most pockets, 1 to %d", maxPockets))
	return cmd
}

// findPockets runs the job and shows what it has found.
func (inv *invocation) findPockets(ctx context.Context, path string, most int) error {
	scene, err := inv.uploadPlain(ctx, path, plainName(path), receptorBound, client.UploadOptions{})
	if err != nil {
		return err
	}
	receipt, err := inv.submit(ctx, pocketRequest{
		JobType: "simulation", Simulator: pocketFinder, SceneFile: scene.StorageKey,
		JobName:          shorten("pockets of "+receptor{path: path}.title(), maxLabelChars),
		SimulationParams: pocketParams{MaxPockets: most},
	}, "")
	if err != nil {
		return err
	}
	inv.tellSubmitted(receipt.Body)
	j, err := inv.follow(ctx, receipt.Body.JobID, nil)
	if err != nil {
		return err
	}
	if j.Body.Status != job.Completed {
		return endOf(j.Body, "")
	}
	return inv.showPockets(ctx, j.Body)
}

func (inv *invocation) showPockets(ctx context.Context, j contract.Job) error {
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return err
	}
	var document json.RawMessage
	if err := inv.readDocument(ctx, outputs.Body, pocketsFile, &document); err != nil {
		return err
	}
	var found pockets
	if err := json.Unmarshal(document, &found); err != nil || found.Schema != pocketsSchema {
		return fmt.Errorf("job %s has no %s that this program can read", j.JobID, pocketsFile)
	}
	if !inv.json {
		return pocketsTable(inv.out, found)
	}
	document, err = withJob(document, j.JobID)
	if err != nil {
		return fmt.Errorf("writing the pockets of job %s: %w", j.JobID, err)
	}
	return inv.print(document)
}

// withJob adds the id of the job that has made a document to its members.
func withJob(document json.RawMessage, jobID string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	members["jobId"] = json.RawMessage(strconv.Quote(jobID))
	return json.Marshal(members)
}

func pocketsTable(w io.Writer, found pockets) error {
	if len(found.Pockets) == 0 {
		_, err := fmt.Fprintln(w, "\nNo pockets. Is it a whole protein?")
		return err
	}
	t := newTable(painter(w), []int{1, 2, 3, 4, 5}, "pocket", "score", "druggability", "volume (Å³)", "residues", "box")
	for _, p := range found.Pockets {
		t.AppendRow(table.Row{
			p.Rank, decimals(p.Score, 3), decimals(p.DruggabilityScore, 3), decimals(p.VolumeCubicAngstrom, 0), len(p.Residues),
			"--box " + boxFlag(p.DockingBox.CenterAngstrom, p.DockingBox.SizeAngstrom),
		})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := render(w, t); err != nil {
		return err
	}
	if found.PocketsFound > len(found.Pockets) {
		_, err := fmt.Fprintf(w, "%d of %d pockets; --max shows more\n", len(found.Pockets), found.PocketsFound)
		return err
	}
	return nil
}

// boxFlag writes a box as --box takes it.
func boxFlag(center, size []float64) string {
	return strings.ReplaceAll(triple(append(append([]float64(nil), center...), size...), ","), " ", "")
}
