package docking

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
)

// maxChainsNamed bounds the chains that a sentence names.
const maxChainsNamed = 12

// references numbers papers in the order in which a text cites them.
type references struct {
	all  []engines.Citation
	used []engines.Citation
}

// cite is the mark behind what the papers of some programs stand for; "" when they have none.
func (r *references) cite(programs ...string) string {
	var numbers []string
	for _, name := range programs {
		for _, paper := range known[name].cite {
			if number := r.number(paper); number > 0 {
				numbers = append(numbers, strconv.Itoa(number))
			}
		}
	}
	if len(numbers) == 0 {
		return ""
	}
	return " [" + strings.Join(numbers, ",") + "]"
}

// number is the place of a paper among those cited; 0 for one that the engine does not list.
func (r *references) number(paper string) int {
	at := slices.IndexFunc(r.all, func(c engines.Citation) bool {
		return strings.EqualFold(c.DOI, paper) || strings.HasPrefix(c.Text, paper)
	})
	if at < 0 {
		return 0
	}
	if !slices.Contains(r.used, r.all[at]) {
		r.used = append(r.used, r.all[at])
	}
	return slices.Index(r.used, r.all[at]) + 1
}

// methods is a paragraph for a paper with its references, and the versions of the programs, in Markdown.
func (d dossier) methods() []byte {
	r := &references{all: d.spec.Citations}
	sentences := slices.DeleteFunc([]string{
		d.receptorSentence(r), d.ligandSentence(r), d.dockingSentence(r), d.validationSentence(), d.analysisSentence(r),
		d.outcomeSentence(),
	}, func(sentence string) bool { return sentence == "" })
	var out strings.Builder
	fmt.Fprintf(&out, "# Methods\n\n%s\n", strings.Join(sentences, " "))
	if len(r.used) > 0 {
		out.WriteString("\n## References\n\n")
	}
	for i, paper := range r.used {
		fmt.Fprintf(&out, "%d. %s", i+1, plainMarkdown(paper.Text))
		if paper.DOI != "" {
			fmt.Fprintf(&out, " <https://doi.org/%s>", paper.DOI)
		}
		out.WriteString("\n")
	}
	out.WriteString("\n## Versions\n\n| Program | Version | Home page |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(d.documents.programs)) {
		page := ""
		if known[name].url != "" {
			page = "<" + known[name].url + ">"
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", plainMarkdown(titleOf(name)), plainMarkdown(d.documents.programs[name]), page)
	}
	fmt.Fprintf(&out, "\nRun `%s`, seed %d. The command lines, digests and times are in %s and %s.\n", d.run.ID, d.run.Seed,
		fileMetadata, fileProvenance)
	return []byte(out.String())
}

// version is a program with its version, where that is known.
func (d dossier) version(name string) string {
	if version := d.documents.programs[name]; version != "" {
		return titleOf(name) + " " + plainMarkdown(version)
	}
	return titleOf(name)
}

// prepared is what a sentence needs of a receptor's preparation as it is stored.
type prepared struct {
	Format      string `json:"format"`
	Preparation struct {
		ProtonationMethod string   `json:"protonationMethod"`
		ProtonationPh     *float64 `json:"protonationPh"`
		ForceField        string   `json:"forceField"`
	} `json:"preparation"`
	Identity struct {
		InputSHA256 string `json:"inputSha256"`
	} `json:"identity"`
}

// preparedReceptor reads it; nothing of it is known when the receptor was never prepared or is stored otherwise.
func (d dossier) preparedReceptor() (p prepared) {
	if d.run.Receptor != nil && json.Unmarshal(*d.run.Receptor, &p) != nil {
		return prepared{}
	}
	return p
}

// receptorSHA256 is the digest of the receptor's file; "" when it is not known.
func (d dossier) receptorSHA256() string {
	if given := d.documents.input.SHA256; given != nil {
		return *given
	}
	return d.preparedReceptor().Identity.InputSHA256
}

// receptorName is what was docked into, in a few words: PDB 1IEP, assembly 1, chain A.
func (d dossier) receptorName() string {
	name := "an uploaded structure"
	if digest := d.receptorSHA256(); digest != "" {
		name += " (SHA-256 " + digest[:min(len(digest), 12)] + "…)"
	}
	if pdb := d.documents.input.PDBID; pdb != nil {
		name = "PDB " + *pdb
	}
	selection := d.documents.receptor.Identity
	if selection == nil {
		return name
	}
	if selection.AssemblyID != nil {
		name += ", assembly " + *selection.AssemblyID
	}
	if selection.Model != nil {
		name += ", model " + strconv.Itoa(*selection.Model)
	}
	if chains := selection.Chains; len(chains) > 0 {
		more := ""
		if len(chains) > maxChainsNamed {
			more = fmt.Sprintf(" and %d more", len(chains)-maxChainsNamed)
			chains = chains[:maxChainsNamed]
		}
		name += ", " + plural(len(selection.Chains), "chain") + " " + strings.Join(chains, ", ") + more
	}
	return name
}

func (d dossier) receptorSentence(r *references) string {
	p := d.preparedReceptor()
	subject := "The receptor was " + plainMarkdown(d.receptorName())
	switch {
	case d.run.Receptor == nil:
		return subject + ". The run ended before it was prepared."
	case p.Format == "pdbqt":
		return subject + ", given as PDBQT and docked into as it was."
	case p.Preparation.ProtonationMethod == "meeko":
		return subject + ". It was protonated and converted with " + d.version("meeko") + r.cite("meeko") + "."
	}
	conditions := ""
	if p.Preparation.ProtonationPh != nil {
		conditions = fmt.Sprintf(" at pH %g", *p.Preparation.ProtonationPh)
	}
	if p.Preparation.ForceField != "" {
		conditions += " (" + plainMarkdown(p.Preparation.ForceField) + " force field)"
	}
	protonated := fmt.Sprintf("%s. It was protonated with %s and %s%s%s", subject, d.version("pdb2pqr"), d.version("propka"),
		conditions, r.cite("pdb2pqr", "propka"))
	return protonated + " and converted with " + d.version("meeko") + r.cite("meeko") + "."
}

func (d dossier) ligandSentence(r *references) string {
	o, total := d.origins, d.run.LigandCount
	var given []string
	for _, one := range []struct {
		count int
		as    string
	}{{o.SMILES, "SMILES"}, {o.Components, "components of the Chemical Component Dictionary"}, {o.Files, "files"}} {
		if one.count > 0 {
			given = append(given, fmt.Sprintf("%d as %s", one.count, one.as))
		}
	}
	subject := fmt.Sprintf("%d %s %s given (%s)", total, plural(total, "ligand"), was(total), strings.Join(given, ", "))
	if o.AsTheyWere == total {
		return subject + " in PDBQT and docked without a preparation."
	}
	if d.documents.programs["molscrub"] == "" {
		return subject + "." // none was prepared
	}
	sentence := subject + ", protonated with " + d.version("molscrub") + r.cite("molscrub")
	sentence += ", embedded in three dimensions with " + d.version("rdkit") + " (ETKDGv3, then MMFF94s)" + r.cite("rdkit")
	sentence += " and converted with " + d.version("meeko") + r.cite("meeko")
	if o.AsTheyWere > 0 {
		sentence += fmt.Sprintf(", except %d that %s in PDBQT", o.AsTheyWere, was(o.AsTheyWere))
	}
	return sentence + "."
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// boxOrigins say in words where a box comes from.
var boxOrigins = map[string]string{
	"explicit":       "placed by its given centre and size",
	"ligandFile":     "laid around a given ligand",
	"pocketLigand":   "laid around the structure's own ligand",
	"pocketResidues": "laid around the given residues of the pocket",
	"fpocket":        "laid around the best pocket that fpocket found",
}

func (d dossier) dockingSentence(r *references) string {
	v := d.view
	if v.Box == nil {
		return ""
	}
	sentence := "The search used " + d.version(engineProgram) + " with its Vina scoring function" + r.cite(engineProgram)
	return sentence + fmt.Sprintf(" in a box of %g × %g × %g Å centred at (%s) Å, %s, %s, at most %d %s a ligand "+
		"within %g kcal/mol of the best, the random seed %d and %d %s a search.",
		v.Box.Size[0], v.Box.Size[1], v.Box.Size[2], triple(v.Box.Center),
		cmp.Or(boxOrigins[v.Box.Source], "placed as given"), searchLength(v),
		v.NumModes, plural(v.NumModes, "pose"), v.EnergyRangeKcalMol, v.Seed, v.CPUThreads, plural(v.CPUThreads, "thread"))
}

// searchLength says how long each ligand was searched for.
func searchLength(v contract.DockingRun) string {
	if v.ExhaustivenessAuto {
		return fmt.Sprintf("in independent rounds with seeds of their own until two had found the same best pose "+
			"(within 1.5 Å and 0.5 kcal/mol), up to an exhaustiveness of %d", v.Exhaustiveness)
	}
	return fmt.Sprintf("with an exhaustiveness of %d", v.Exhaustiveness)
}

func (d dossier) validationSentence() string {
	v := d.view.Validation
	if v == nil || v.RedockRMSDAngstrom == nil {
		return ""
	}
	return fmt.Sprintf("As a check, the structure's own ligand %s was taken out and docked again: its best-scored pose lies %.2f "+
		"Å from the crystal pose "+
		"(root mean square deviation of the heavy atoms in place, corrected for symmetry).", plainMarkdown(v.NativeComponentID),
		*v.RedockRMSDAngstrom)
}

func (d dossier) analysisSentence(r *references) string {
	var done []string
	if d.documents.programs["prolif"] != "" {
		done = append(done, "interactions were found with "+d.version("prolif")+r.cite("prolif"))
	}
	if d.documents.programs["posebusters"] != "" {
		done = append(done, "poses were checked with "+d.version("posebusters")+r.cite("posebusters"))
	}
	text := strings.Join(done, " and ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// stagesInWords are the stages at which a ligand fails, as a sentence names them.
var stagesInWords = map[string]string{
	"parse": "reading the ligand", "protonate": "protonation", "embed": "3D embedding", "dock": "docking",
	"parse_output": "reading the poses",
}

func (d dossier) outcomeSentence() string {
	c := d.view.Counts
	sentence := fmt.Sprintf("Of %d %s, %d %s docked; they are ranked by the score of their best pose, and ligand efficiency is "+
		"that score, sign reversed, by heavy atoms.",
		c.Total, plural(c.Total, "ligand"), c.Completed, was(c.Completed))
	var failed []string
	for _, stage := range slices.Sorted(maps.Keys(d.failures)) {
		failed = append(failed, fmt.Sprintf("%d in %s", d.failures[stage], cmp.Or(stagesInWords[stage], "a run that ended before")))
	}
	if len(failed) > 0 {
		sentence += " The others failed: " + strings.Join(failed, ", ") + "."
	}
	return sentence
}

// plainMarkdown is foreign text on one line that Markdown takes for nothing else.
func plainMarkdown(foreign string) string {
	var out strings.Builder
	for _, c := range strings.Join(strings.Fields(foreign), " ") {
		if strings.ContainsRune("\\`*_{}[]<>#|~", c) {
			out.WriteByte('\\')
		}
		out.WriteRune(c)
	}
	return out.String()
}
