package cli

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// reportFile is what a reader of a docking's results opens first.
const reportFile = "report.html"

// delivered is a file or a folder of a job that its user gets, and what it is for.
type delivered struct{ name, meaning string }

// dockingFiles are those of a docking, in the order in which they are explained. What the tasks have written for one another stays
// on the server; `outputs` fetches that too.
var dockingFiles = []delivered{
	{resultsFile, "all results, for programs"}, {"results.csv", "every ligand with its score, for spreadsheets"},
	{"best.png", "the best pose in its site"}, {"box.png", "the box in the whole receptor"},
	{"best.mvsx", "the scene of best.png, which molfabric image draws again"},
	{"best.sdf", "the best pose of each ligand"}, {"poses", "all poses, as SDF and PDBQT"},
	{"complexes", "receptor and best pose of the best ligands, as PDB"},
	{"native", "the structure's own ligand: crystal pose and redocked poses"},
	{"receptor.pdb", "the prepared receptor"}, {"receptor.pdbqt", "the receptor as it was docked into"},
	{"receptor.json", "what the preparation did"}, {"box.json", "the box and where it comes from"},
	{"redock.json", "the redocking in figures"}, {"provenance.json", "programs, parameters, seed and checksums"},
	{timingsFile, "CPU time of each ligand"},
}

// among are the outputs that are one of the files, or lie in one of the folders; the report is always.
func among(files []delivered) func([]contract.Output) []contract.Output {
	return func(outputs []contract.Output) []contract.Output {
		return slices.DeleteFunc(outputs, func(o contract.Output) bool {
			name := path.Clean(o.Name)
			folder, _, _ := strings.Cut(name, "/")
			return name != reportFile && !slices.ContainsFunc(files, func(file delivered) bool { return file.name == folder })
		})
	}
}

// delivery is how the files of a kind of job come to their user.
type delivery struct {
	files  []delivered
	choose func([]contract.Output) []contract.Output // what is downloaded of a job's outputs
	later  string                                    // how to get the files, with %[1]s for the job's id
	report string                                    // what the report holds; "" for jobs without one
}

// deliver downloads a docking's files, or says how to get them.
func (inv *invocation) deliver(ctx context.Context, j contract.Job, folder string) error {
	return inv.hand(ctx, j, folder, delivery{
		files: dockingFiles, choose: among(dockingFiles), report: "scores, structures and contacts in one page",
		later: "  molfabric outputs %[1]s -o results   downloads report, tables, poses and provenance\n",
	})
}

// hand downloads a job's files, also those of one that failed, or says how to get the results.
func (inv *invocation) hand(ctx context.Context, j contract.Job, folder string, d delivery) error {
	if folder != "" {
		outputs, err := inv.api.AllOutputs(ctx, j.JobID)
		if err != nil {
			return err
		}
		if err := inv.download(ctx, j.JobID, d.choose(outputs.Body.Outputs), folder); err != nil {
			return err
		}
	}
	if inv.json || folder == "" && j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return nil
	}
	fmt.Fprintf(inv.out, "\n%s\n", painter(inv.out).bold("Results"))
	switch report := filepath.Join(folder, reportFile); {
	case folder == "":
		fmt.Fprintf(inv.out, d.later, j.JobID)
		return nil
	case d.report != "" && there(folder, reportFile):
		fmt.Fprintf(inv.out, "  Open %s first: %s.\n", report, d.report)
	default:
		fmt.Fprintf(inv.out, "  %s\n", filepath.Clean(folder))
	}
	for _, file := range d.files {
		if there(folder, file.name) {
			fmt.Fprintf(inv.out, "    %-17s %s\n", file.name, file.meaning)
		}
	}
	return nil
}

func there(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}
