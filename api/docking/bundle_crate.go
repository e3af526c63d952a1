package docking

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/rocrate"
)

// licence stands where the owner has to choose one.
const licence = "No licence has been granted yet. The results belong to the account that ran the docking; its owner may put a " +
	"licence here."

// program is what people should know of a program beside its version.
type program struct {
	title, url string
	cite       []string // its papers: DOIs, or how the citation begins
}

// known are the programs of a docking by the names that they are reported under.
var known = map[string]program{
	"vina": {"AutoDock Vina", "https://github.com/ccsb-scripps/AutoDock-Vina",
		[]string{"10.1021/acs.jcim.1c00203", "10.1002/jcc.21334"}},
	"rdkit":       {"RDKit", "https://www.rdkit.org", []string{"10.5281/zenodo.591637"}},
	"meeko":       {"Meeko", "https://github.com/forlilab/Meeko", []string{"Meeko"}},
	"molscrub":    {"molscrub", "https://github.com/forlilab/molscrub", []string{"molscrub"}},
	"pdb2pqr":     {"PDB2PQR", "https://github.com/Electrostatics/pdb2pqr", []string{"10.1002/pro.3280"}},
	"propka":      {"PROPKA", "https://github.com/jensengroup/propka", []string{"10.1021/ct100578z"}},
	"prolif":      {"ProLIF", "https://prolif.readthedocs.io", []string{"10.1186/s13321-021-00548-6"}},
	"posebusters": {"PoseBusters", "https://posebusters.readthedocs.io", []string{"10.1039/D3SC04185A"}},
	"fpocket":     {"fpocket", "https://github.com/Discngine/fpocket", nil},
	"gemmi":       {"Gemmi", "https://gemmi.readthedocs.io", nil},
	"mdanalysis":  {"MDAnalysis", "https://www.mdanalysis.org", nil},
	"numpy":       {"NumPy", "https://numpy.org", nil},
	"scipy":       {"SciPy", "https://scipy.org", nil},
	"python":      {"Python", "https://www.python.org", nil},
}

// titleOf is a program's name for people.
func titleOf(name string) string { return cmp.Or(known[name].title, name) }

// part is what a step of a docking does, for people, and the programs that do it, the most telling first.
type part struct {
	title    string
	programs []string
}

var parts = map[vina.Kind]part{
	vina.KindReceptor: {"Preparation of the receptor", []string{"pdb2pqr", "meeko"}},
	vina.KindLigands:  {"Preparation of the ligands", []string{"rdkit"}},
	vina.KindRedock:   {"Docking of the structure's own ligand", []string{"vina"}},
	vina.KindDock:     {"Docking", []string{"vina"}},
	vina.KindAnalyse:  {"Analysis of the poses", []string{"prolif", "posebusters", "rdkit"}},
	vina.KindRank:     {"Ranking and report", []string{"rdkit"}},
}

// unknownVersion stands for the version of a program that has not come to tell it.
const unknownVersion = "not reported"

// crate describes the bundle. own are the files that are not the job's.
func (d dossier) crate(own []parcel) rocrate.Crate {
	c := rocrate.Crate{
		Name: d.title(),
		Description: "Receptor, ligands, search, scores and their origin of one docking run. methods.md tells it in words; " +
			"artifacts.csv lists every file of the run with its SHA-256, included here or not.",
		Published: d.endedAt(), License: licence, Identifier: d.run.ID, Properties: d.properties(),
	}
	for _, one := range own {
		c.Files = append(c.Files, rocrate.File{
			Path: one.path, MediaType: ownFiles[one.path].mediaType, Description: ownFiles[one.path].about, SHA256: one.sha256,
			ByteSize: one.byteSize,
		})
	}
	for _, f := range d.files {
		if f.included {
			c.Files = append(c.Files, rocrate.File{Path: f.path, MediaType: mediaType(f.MediaType), SHA256: f.SHA256,
				ByteSize: f.ByteSize})
		}
	}
	c.Files = append(c.Files, d.givenFiles()...)
	for _, name := range slices.Sorted(maps.Keys(d.documents.programs)) {
		c.Programs = append(c.Programs, rocrate.Program{Name: name, Version: d.documents.programs[name], URL: known[name].url})
	}
	for _, one := range d.steps {
		action := d.action(one)
		if !slices.ContainsFunc(c.Programs, func(p rocrate.Program) bool { return p.Name == action.Program }) {
			c.Programs = append(c.Programs, rocrate.Program{Name: action.Program, Version: unknownVersion,
				URL: known[action.Program].url})
		}
		c.Actions = append(c.Actions, action)
	}
	for _, citation := range d.spec.Citations {
		c.Citations = append(c.Citations, rocrate.Citation(citation))
	}
	return c
}

// ownFiles are the files of every bundle that are not the job's.
var ownFiles = map[string]struct{ mediaType, about string }{
	fileMethods: {"text/markdown", "A paragraph for a paper's methods section with its references, and the versions of the " +
		"programs."},
	fileArtifacts:  {list.CSV, "Every file of the run with its SHA-256, and whether it is here."},
	fileProvenance: {list.JSON, "The job: its tasks and their attempts, workers, times, costs, inputs and outputs."},
	fileReceipt: {list.JSON, "The service's signed statement of the job, its files, its use and its bill (DSSE, in-toto); " +
		"`molfabric verify` checks it."},
	fileRequest: {list.JSON, "The submission, with every default filled in."},
}

// mediaType is a media type without its parameters.
func mediaType(full string) string {
	name, _, _ := strings.Cut(full, ";")
	return strings.TrimSpace(name)
}

func (d dossier) title() string {
	ligands := "1 ligand"
	if d.run.LigandCount != 1 {
		ligands = strconv.Itoa(d.run.LigandCount) + " ligands"
	}
	return fmt.Sprintf("Docking of %s into %s with %s", ligands, d.receptorName(), engineName)
}

// givenFiles are the receptor and the ligands' files, which are not in the bundle.
func (d dossier) givenFiles() (files []rocrate.File) {
	seen := map[string]bool{}
	for _, row := range d.given {
		if seen[row.StorageKey] {
			continue
		}
		seen[row.StorageKey] = true
		f := rocrate.File{
			Path: givenPath(row), Elsewhere: true, Name: row.Name, Description: "Given as " + row.StorageKey + ".",
			SHA256: row.SHA256.String, ByteSize: row.ByteSize.Int64,
		}
		if row.Kind == receptorTask && row.Name == receptorTask {
			f.SHA256 = cmp.Or(f.SHA256, d.receptorSHA256())
			if pdb := d.documents.input.PDBID; pdb != nil {
				f.Name = "Entry " + *pdb + " of the Protein Data Bank"
			}
		}
		files = append(files, f)
	}
	return files
}

// receptorTask is the name of the task that prepares the receptor, and of its input.
const receptorTask = "receptor"

// givenPath is a storage key as a part of a URI.
func givenPath(row givenRow) string { return (&url.URL{Path: row.StorageKey}).EscapedPath() }

// numberOfTask is what the names of tasks of one kind differ in; kindOfTask leaves it out.
var numberOfTask = regexp.MustCompile(`-[0-9]+$`)

func (d dossier) action(one step) rocrate.Action {
	kind := vina.KindOf(one.Stage, one.Kind)
	a := rocrate.Action{
		ID: one.Kind, Name: cmp.Or(parts[kind].title, one.Kind), Program: engineProgram, Failed: one.Failed == one.Tasks,
		StartedAt: wire.TimeOrNil(one.StartedAt), EndedAt: wire.TimeOrNil(one.FinishedAt),
	}
	for _, name := range parts[kind].programs {
		if d.documents.programs[name] != "" {
			a.Program = name
			break
		}
	}
	a.Description = fmt.Sprintf("%d %s", one.Tasks, plural(one.Tasks, "task"))
	if one.Failed > 0 {
		a.Description += fmt.Sprintf(", %d of which failed", one.Failed)
	}
	if len(one.argv) > 0 {
		a.Description = strings.Join(one.argv, " ") + " (" + a.Description + ")"
	}
	if kind == vina.KindReceptor || kind == vina.KindLigands {
		a.Inputs = append(a.Inputs, fileRequest)
	}
	for _, row := range d.given {
		if row.Kind == one.Kind {
			a.Inputs = append(a.Inputs, givenPath(row))
		}
	}
	for _, f := range d.files {
		switch {
		case !f.included:
		case f.Stage == one.Stage && numberOfTask.ReplaceAllString(f.Task, "") == one.Kind:
			a.Outputs = append(a.Outputs, f.path)
		case slices.Contains(one.needs, f.Name):
			a.Inputs = append(a.Inputs, f.path)
		}
	}
	return a
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// properties are the parameters and figures of the run.
func (d dossier) properties() []rocrate.Property {
	v := d.view
	list := []rocrate.Property{
		{Name: "status", Value: v.Status}, {Name: "seed", Value: v.Seed}, {Name: "exhaustiveness", Value: v.Exhaustiveness},
		{Name: "exhaustivenessAuto", Value: v.ExhaustivenessAuto}, {Name: "numModes", Value: v.NumModes},
		{Name: "energyRange", Value: v.EnergyRangeKcalMol, Unit: "kcal/mol"}, {Name: "cpuThreads", Value: v.CPUThreads},
		{Name: "scoringFunction", Value: v.Engine.ScoringFunction}, {Name: "ligands", Value: v.LigandCount},
		{Name: "ligandsDocked", Value: v.Counts.Completed}, {Name: "ligandsFailed", Value: v.Counts.Failed},
	}
	if box := v.Box; box != nil {
		list = append(list, rocrate.Property{Name: "boxSource", Value: box.Source},
			rocrate.Property{Name: "boxCenter", Value: triple(box.Center), Unit: "Å"},
			rocrate.Property{Name: "boxSize", Value: triple(box.Size), Unit: "Å"})
	}
	for _, one := range []struct {
		name  string
		value *string
	}{
		{"receptorIdentitySha256", v.Receptor.IdentitySHA256}, {"receptorPreparationSha256", v.Receptor.PreparationSHA256},
		{"receptorToolchainSha256", v.Receptor.ToolchainSHA256}, {"experimentId", &v.ExperimentID}, {"jobId", &v.JobID},
		{"batchId", v.BatchID}, {"reproducesRunId", v.ReproducesRunID},
	} {
		if one.value != nil {
			list = append(list, rocrate.Property{Name: one.name, Value: *one.value})
		}
	}
	if found := v.Validation; found != nil && found.RedockRMSDAngstrom != nil {
		list = append(list, rocrate.Property{Name: "redockRmsd", Value: *found.RedockRMSDAngstrom, Unit: "Å"})
	}
	list = append(list, rocrate.Property{Name: "cpuTime", Value: v.Timing.CPUSeconds, Unit: "s"})
	if v.Cost.Final != nil {
		list = append(list, rocrate.Property{Name: "cost", Value: *v.Cost.Final, Unit: v.Cost.Currency})
	}
	return list
}

// triple are three coordinates as text: as a list they would be a set, without an order.
func triple(v [3]float64) string { return fmt.Sprintf("%.3f, %.3f, %.3f", v[0], v[1], v[2]) }
