package cli

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/job"
)

// reportFile is what a reader of a docking's results opens first.
const reportFile = "report.html"

// delivered are the files and folders of a docking that its user gets, in the order in which they are explained. What the tasks
// have written for one another stays on the server; `outputs` fetches that too.
var delivered = []struct{ name, meaning string }{
	{resultsFile, "all results, for programs"}, {"results.csv", "every ligand with its score, for spreadsheets"},
	{"best.png", "the best pose in its site"}, {"box.png", "the box in the whole receptor"},
	{"best.mvsx", "the scene of best.png, which molfabric image draws again"},
	{"best.sdf", "the best pose of each ligand"}, {"poses", "all poses, as SDF and PDBQT"},
	{"complexes", "receptor and best pose of the best ligands, as PDB"}, {"native", "the structure's own ligand: crystal pose and redocked poses"},
	{"receptor.pdb", "the prepared receptor"}, {"receptor.pdbqt", "the receptor as it was docked into"},
	{"receptor.json", "what the preparation did"}, {"box.json", "the box and where it comes from"}, {"redock.json", "the redocking in figures"},
	{"provenance.json", "programs, parameters, seed and checksums"}, {timingsFile, "CPU time of each ligand"},
}

// isDelivered reports whether a docking's file is one of those.
func isDelivered(name string) bool {
	name = path.Clean(name)
	folder, _, _ := strings.Cut(name, "/")
	if folder == name && name == reportFile {
		return true
	}
	for _, file := range delivered {
		if file.name == folder {
			return true
		}
	}
	return false
}

// deliver downloads a docking's files, also those of one that failed, or says how to get the results.
func (inv *invocation) deliver(ctx context.Context, j client.Job, folder string) error {
	if folder != "" {
		outputs, err := inv.api.AllOutputs(ctx, j.JobID)
		if err != nil {
			return err
		}
		files := slices.DeleteFunc(outputs.Outputs, func(o client.Output) bool { return !isDelivered(o.Name) })
		if err := inv.download(ctx, files, folder); err != nil {
			return err
		}
	}
	if inv.json || folder == "" && j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return nil
	}
	fmt.Fprintf(inv.out, "\n%s\n", painter(inv.out).bold("Results"))
	if folder == "" {
		fmt.Fprintf(inv.out, "  molfabric outputs %s -o results   downloads report, tables, poses and provenance\n", j.JobID)
		return nil
	}
	if there(folder, reportFile) {
		fmt.Fprintf(inv.out, "  Open %s first: scores, structures and contacts in one page.\n", filepath.Join(folder, reportFile))
	} else {
		fmt.Fprintf(inv.out, "  %s\n", folder)
	}
	for _, file := range delivered {
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
