// Package blast is the engines blastp and blastn: sequence search with NCBI BLAST+ against a database of the deployment. It plans
// shards, writes their command lines and reads their outputs; the Python programs beside it, which it embeds, cut the queries, run
// the search and join its results. It runs nothing itself and reads no database.
//
// A job has three stages. "split": one shard that checks the queries and cuts them into parts of even length. "search": shards
// "search-0001"…, one process of BLAST+ each, which search one part against the whole database, so that hits, scores and
// expectation values are those of one run over all queries. "merge": one shard that joins their results in the order of the
// queries.
package blast

import (
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// oldestVersion is the first BLAST+ whose databases of version 5 are what its makeblastdb builds when nobody says otherwise.
const oldestVersion = "2.10"

// Blast is one of the two engines; it implements engines.Engine and every optional interface that it lists below. It has no state
// beside the name of its program.
type Blast struct {
	python.Reporting
	program string // IDProtein or IDNucleotide
}

var (
	_ engines.Engine     = Blast{}
	_ engines.Progresser = Blast{}
	_ engines.Explainer  = Blast{}
	_ engines.Wanter     = Blast{}
	_ engines.Repeater   = Blast{}
)

// NewProtein returns the engine blastp, which searches proteins with proteins.
func NewProtein() Blast { return Blast{program: IDProtein} }

// NewNucleotide returns the engine blastn, which searches nucleotides with nucleotides.
func NewNucleotide() Blast { return Blast{program: IDNucleotide} }

// Spec describes the engine.
func (b Blast) Spec() engines.Spec {
	return engines.Spec{
		ID:        b.program,
		Aliases:   []string{"ncbi" + b.program},
		Title:     "NCBI BLAST+ " + b.program,
		Hardware:  engines.HardwareCPU,
		Citations: b.citations(),
		Probe:     python.Probe(probeProgram, probeWayOut, b.checkVersions, b.program),
	}
}

// citations are the papers of the program, its algorithm and its heuristics.
func (b Blast) citations() []engines.Citation {
	list := []engines.Citation{
		{Text: "Camacho C, Coulouris G, Avagyan V, Ma N, Papadopoulos J, Bealer K, Madden TL. BLAST+: architecture and " +
			"applications. BMC Bioinformatics 2009, 10, 421.", DOI: "10.1186/1471-2105-10-421"},
		{Text: "Altschul SF, Gish W, Miller W, Myers EW, Lipman DJ. Basic local alignment search tool. J Mol Biol 1990, 215, 403.",
			DOI: "10.1016/S0022-2836(05)80360-2"},
		{Text: "Altschul SF, Madden TL, Schäffer AA, Zhang J, Zhang Z, Miller W, Lipman DJ. Gapped BLAST and PSI-BLAST: a new " +
			"generation of protein database search programs. Nucleic Acids Res 1997, 25, 3389.", DOI: "10.1093/nar/25.17.3389"},
	}
	if b.program == IDNucleotide {
		return append(list, engines.Citation{Text: "Zhang Z, Schwartz S, Wagner L, Miller W. A greedy algorithm for aligning DNA " +
			"sequences (megablast). J Comput Biol 2000, 7, 203.", DOI: "10.1089/10665270050081478"})
	}
	return append(list, engines.Citation{Text: "Schäffer AA, Aravind L, Madden TL, Shavirin S, Spouge JL, Wolf YI, Koonin EV, " +
		"Altschul SF. Improving the accuracy of PSI-BLAST protein database searches with composition-based statistics. Nucleic " +
		"Acids Res 2001, 29, 2994.", DOI: "10.1093/nar/29.14.2994"})
}

// probeProgram prints the versions of the interpreter and of the program that its argument names.
const probeProgram = `import json, re, subprocess, sys
name = sys.argv[1]
ended = subprocess.run([name, "-version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
printed = ended.stdout.decode(errors="replace")
found = re.search(re.escape(name) + r": (\d+[0-9A-Za-z.+]*)", printed)
print(json.dumps({"python": ".".join(map(str, sys.version_info[:3])), name: found[1] if found else ""}))`

const probeWayOut = "install NCBI BLAST+ " + oldestVersion + " or later (Debian's ncbi-blast+)"

// checkVersions refuses a program that is too old.
func (b Blast) checkVersions(versions map[string]string) error {
	if found := versions[b.program]; !python.AtLeast(found, oldestVersion) {
		return fmt.Errorf("%s %q is too old or unknown; %s", b.program, found, probeWayOut)
	}
	return nil
}

var ownPrograms = searching.Digest()

// Programs implements engines.Repeater.
func (Blast) Programs() string { return ownPrograms }

// Repeats implements engines.Repeater.
func (Blast) Repeats(plan []engines.Shard) []engines.Repeat { return engines.RepeatAll(plan) }
