package vina

import (
	"math"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// maxHeavyAtoms is the largest ligand that is docked. Vina keeps a table for every pair of ligand atoms; at 100 heavy atoms
// that is 6 GB, and a search with as many rotatable bonds finds nothing. prepare_ligands.py refuses what is larger.
const maxHeavyAtoms = 100

// Cost model, fitted to AutoDock Vina 1.2.7 on one core of a 2-core server: aspirin (13 heavy atoms) 0.4, dasatinib (33) 5.6,
// imatinib (37) 6.9, nilotinib (39) 7.6 and bosutinib (36) 10.6 CPU-seconds per unit of exhaustiveness in a 22 Å box.
const (
	pythonStartCPUSeconds     = 1.2    // interpreter, RDKit, Meeko
	receptorCPUSeconds        = 6.0    // PDB2PQR, PROPKA and Meeko for 300 residues
	ligandCPUSeconds          = 0.1    // protonation, embedding, force field, Meeko
	analyseStartCPUSeconds    = 2.0    // interpreter, RDKit, ProLIF, PoseBusters, receptor
	analysePoseCPUSeconds     = 0.25   // interactions and checks of a pose
	cnnPoseCPUSeconds         = 0.05   // the CNN's score of a pose
	energyCPUSecondsPerSquare = 0.004  // per heavy atom squared: the conformers that a ligand's internal energy is held against
	rankCPUSeconds            = 0.01   // a ligand's place in the tables and the report
	reusedCPUSeconds          = 1.0    // a receptor that is prepared already
	dockStartCPUSeconds       = 0.5    // interpreter, receptor
	autoStartCPUSeconds       = 0.6    // interpreter, and RDKit for the ligands' symmetries
	mapsCPUSecondsPerVolume   = 3.7e-5 // per Å³ of the box
	roundCPUSecondsPerVolume  = 1.7e-5 // per Å³ of the box and round of an automatic search: maps of one ligand's atom types
	roundStartCPUSeconds      = 0.1    // a round: receptor, pair tables
	searchCPUSecondsPerCube   = 1.5e-4 // per heavy atom cubed and unit of exhaustiveness
)

func mapsCPUSeconds(b boxRequest) float64 {
	return dockStartCPUSeconds + mapsCPUSecondsPerVolume*b.volumeCubicAngstrom(usualPocketEdgeAngstrom)
}

func searchCPUSeconds(heavyAtoms, exhaustiveness float64) float64 {
	return searchCPUSecondsPerCube * heavyAtoms * heavyAtoms * heavyAtoms * exhaustiveness
}

// work is what something is expected to take in CPU seconds, and the most that it can; 0 where that is not bounded.
type work struct{ expected, most float64 }

func (w work) plus(other work) work { return work{w.expected + other.expected, w.most + other.most} }

// mostOr is the most, or what is given where there is none.
func (w work) mostOr(seconds float64) float64 { return max(w.most, seconds) }

// startWork is that of a docking process before its first ligand.
func startWork(e mol.Exhaustiveness, b boxRequest) work {
	if e == mol.AutoExhaustiveness {
		return work{autoStartCPUSeconds, autoStartCPUSeconds}
	}
	return work{expected: mapsCPUSeconds(b)}
}

// searchWork is that of a ligand.
func searchWork(e mol.Exhaustiveness, heavyAtoms float64, b boxRequest) work {
	if e != mol.AutoExhaustiveness {
		return work{expected: searchCPUSeconds(heavyAtoms, float64(e))}
	}
	bound := autoSearchRule.boundOf(heavyAtoms)
	round := roundStartCPUSeconds + roundCPUSecondsPerVolume*b.volumeCubicAngstrom(usualPocketEdgeAngstrom)
	of := func(exhaustiveness float64) float64 {
		return searchCPUSeconds(heavyAtoms, exhaustiveness) + round*autoSearchRule.rounds(exhaustiveness)
	}
	return work{expected: of(bound.expected), most: of(float64(bound.Exhaustiveness))}
}

// roundCPUSeconds keeps plans free of digits that mean nothing.
func roundCPUSeconds(seconds float64) float64 { return math.Round(seconds*10) / 10 }

// Caps of the shards. Time limits leave a factor of twenty over the cost model for slower and shared machines.
const (
	mebibyte          = 1 << 20
	gibibyte          = 1 << 30
	slowdown          = 20
	leastTime         = 15 * time.Minute
	mostTime          = 72 * time.Hour
	prepareLimit      = 5 * time.Minute  // a ligand: the processor time that it may take, on a busy machine
	analyseLimit      = 12 * time.Minute // a ligand, likewise
	maxLogBytes       = 4 * mebibyte
	bytesPerRanked    = 64 << 10  // a ligand's record in results.json with 100 poses, and in the report
	bytesPerPair      = 400 << 10 // Vina's table of one pair of ligand atoms, measured
	bytesPerGridPoint = 310       // all affinity maps together, measured
	gridSpacing       = 0.375     // Å, Vina's default
)

// Processor time after which a program gives a ligand up: not time on the clock, so that a busy machine changes no result.
const (
	prepareLigandCPUSeconds = 120 // ordinary ligands take 0.1 s, a macrocycle of 38 heavy atoms 0.5 s
	analyseLigandCPUSeconds = 300 // imatinib's nine poses take 6 s, a flexible ligand of 57 heavy atoms 18 s
)

func prepareNeeds(limit time.Duration) engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: 3 * gibibyte, FileBytes: 256 * mebibyte, Processes: 32, TimeLimit: limit,
		MaxLogBytes: maxLogBytes, ScratchBytes: gibibyte,
	}
}

// dockNeeds allows for the program, the affinity maps, and the pair tables of two ligands: Vina builds the next ligand's
// before it frees the last one's.
func dockNeeds(threads int, b boxRequest, heavyAtoms, expectedCPUSeconds float64) engines.Resources {
	atoms := 1.25 * heavyAtoms // polar hydrogens are atoms too
	points := b.volumeCubicAngstrom(largestPocketEdgeAngstrom) / (gridSpacing * gridSpacing * gridSpacing)
	memory := int64(gibibyte + points*bytesPerGridPoint + atoms*atoms*bytesPerPair)
	work := math.Min(slowdown*expectedCPUSeconds, mostTime.Seconds()) // before the conversion, which could overflow
	limit := min(leastTime+time.Duration(work*float64(time.Second)), mostTime)
	return engines.Resources{
		CPUs: threads, MemoryBytes: max(memory, 2*gibibyte), FileBytes: 256 * mebibyte, Processes: 32 + 2*threads,
		TimeLimit: limit.Round(time.Second), MaxLogBytes: maxLogBytes, ScratchBytes: 512 * mebibyte,
	}
}

func analyseNeeds(ligands int) engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: 4 * gibibyte, FileBytes: 256 * mebibyte, Processes: 32,
		TimeLimit:   leastTime + time.Duration(ligands)*analyseLimit,
		MaxLogBytes: maxLogBytes, ScratchBytes: gibibyte,
	}
}

// gateNeeds is for a program that compares two numbers.
func gateNeeds() engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: 512 * mebibyte, FileBytes: mebibyte, Processes: 8, TimeLimit: 5 * time.Minute,
		MaxLogBytes: mebibyte, ScratchBytes: mebibyte,
	}
}

func rankNeeds(ligands int) engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: 4 * gibibyte, FileBytes: 2 * gibibyte, Processes: 32,
		TimeLimit:   leastTime + time.Duration(ligands)*5*time.Second,
		MaxLogBytes: maxLogBytes, ScratchBytes: gibibyte + int64(ligands)*bytesPerRanked,
	}
}
