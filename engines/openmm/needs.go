package openmm

import (
	"math"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// Sizes of the files that a run starts from, by which its atoms are guessed before anything is read.
const (
	bytesPerPDBAtom       = 81.0 // a line
	bytesPerInpcrdAtom    = 36.5 // three numbers of 12 columns; with velocities it is twice that, then the prmtop is nearer
	bytesPerPrmtopAtom    = 120.0
	atomsPerCubicNm       = 100.0 // of water
	daltonsPerHeavyAtom   = 14.2  // of a protein with its hydrogens
	radiusNmPerRootDalton = 0.066 // of a folded protein, by the cube root of its mass
	elongation            = 1.35  // how much further the farthest atom lies
	paddingNm             = 1.0   // as protein.py has it
	mostParticles         = 1_000_000.0

	// plannedFactor is how much larger than planned, and priced, a system may be: the guess knows nothing of its shape. A single
	// helix of 50 residues has 8 times the water that a globule of them would have.
	plannedFactor = 10
	// leastMaxAtoms lets small peptides be stretched out: a box of 6.3 nm is prepared in seconds.
	leastMaxAtoms = 25_000
)

// Cost model of the CPU platform, measured with OpenMM 8.6.1 (PME, 0.9 nm, HBonds): 1,262 atoms 4.8, 2,269 atoms 4.1 to 7.1 and
// 23,558 atoms 5.9 millionths of a CPU second per atom and step. The GPU's is from OpenMM's published figures for an H200
// (23,558 atoms 5,000, 92,224 atoms 2,200 steps a second), with room for slower cards. Preparing took 3 s of 14,551 atoms, 13 s of
// 47,554 and 26 s of 140,471.
const (
	startCPUSeconds             = 3.0
	prepareCPUSecondsPerAtom    = 3e-4
	stepCPUSecondsPerAtom       = 6e-6
	gpuSecondsPerStep           = 1e-4
	gpuStepSecondsPerAtom       = 1e-8
	unboundedMinimisationSteps  = 5000.0 // that an unbounded minimisation is worth, measured with 2,269 atoms
	stepsPerMinimiserIteration  = 1.5
	analyseCPUSecondsPerFrame   = 0.01
	analyseCPUSecondsPerAtom    = 2e-7 // and frame
	analyseStartCPUSeconds      = 6.0
	slowdown                    = 6 // of a busy or old machine, and of guessed atoms
	leastTime                   = 30 * time.Minute
	mostTime                    = 14 * 24 * time.Hour
	mostExpectedSimulateSeconds = 7 * 86400.0
)

// Caps of the shards. Of 14,551 atoms preparing took 140 MB and simulating 120 MB.
const (
	kibibyte             = 1 << 10
	mebibyte             = 1 << 20
	gibibyte             = 1 << 30
	prepareBytesPerAtom  = 16 * kibibyte
	simulateBytesPerAtom = 4 * kibibyte
	gpuBytesPerAtom      = 6 * kibibyte
	maxLogBytes          = 4 * mebibyte
	maxProcesses         = 64 // Python and the threads of OpenMM's platform, minimiser and PME
	bytesPerStateRow     = 130
	gpuHostBytes         = 3 * gibibyte // of the driver and its compiler
	savesBytes           = 2 * gibibyte // two saves and the structures of the largest system
)

// inputAtoms guesses the atoms that the files name, and whether that is all of the system.
func (q request) inputAtoms() (atoms float64, whole bool) {
	if amber := q.Input.Amber; amber != nil {
		return math.Min(float64(amber.Coordinates.ByteSize)/bytesPerInpcrdAtom, float64(amber.Prmtop.ByteSize)/bytesPerPrmtopAtom),
			true
	}
	return float64(q.Input.Protein.Coordinates.ByteSize) / bytesPerPDBAtom, false
}

// leastAtoms is a number of atoms that the system has at the least, if its files are about as they should be.
func (q request) leastAtoms() int64 {
	atoms, _ := q.inputAtoms()
	return max(int64(atoms/3), 1)
}

// likelyAtoms guesses the atoms with the water around a protein. A structure that is solvated already is taken for a protein,
// and guessed several times too large.
func (q request) likelyAtoms() float64 {
	atoms, whole := q.inputAtoms()
	if !whole {
		radius := radiusNmPerRootDalton * math.Cbrt(atoms*daltonsPerHeavyAtom) * elongation
		atoms = math.Max(atoms, atomsPerCubicNm*math.Pow(math.Max(2*radius+paddingNm, 2.4), 3))
	}
	return math.Min(math.Max(atoms, 100), mostParticles)
}

// maxAtoms is the largest system that this plan may turn out to be; prepare.py refuses a larger one before it lays the water.
func (q request) maxAtoms() int64 {
	return int64(math.Min(math.Max(plannedFactor*q.likelyAtoms(), leastMaxAtoms), mostParticles))
}

// steps of dynamics, with what minimising is worth.
func (q request) steps() float64 {
	p := q.Protocol
	steps := float64(p.ProductionSteps)
	if q.Execution.RestartCheckpoint != nil {
		return steps
	}
	if p.Minimization.Enabled {
		iterations := float64(p.Minimization.MaxIterations) * stepsPerMinimiserIteration
		if p.Minimization.MaxIterations == 0 {
			iterations = unboundedMinimisationSteps
		}
		steps += math.Min(iterations, unboundedMinimisationSteps)
	}
	return steps + float64(p.Equilibration.NVTSteps) + float64(p.Equilibration.NPTSteps)
}

// simulateSeconds is the expected wall time of the simulation of so many atoms.
func (q request) simulateSeconds(atoms float64) float64 {
	if q.devices > 0 {
		return startCPUSeconds + q.steps()*(gpuSecondsPerStep+gpuStepSecondsPerAtom*atoms)
	}
	return startCPUSeconds + q.steps()*stepCPUSecondsPerAtom*atoms/defaultCPUThreads
}

// cpus are the threads that keep busy: those of the CPU platform, or the one that feeds the GPU.
func (q request) cpus() int {
	if q.devices > 0 {
		return 1
	}
	return defaultCPUThreads
}

func limit(expectedSeconds float64) time.Duration {
	work := math.Min(slowdown*expectedSeconds, mostTime.Seconds()) // before the conversion, which could overflow
	return min(leastTime+time.Duration(work*float64(time.Second)), mostTime).Round(time.Second)
}

// memory is for so many atoms and some more, and never for more than the largest system has.
func memory(atoms float64, bytesPerAtom int64) int64 {
	return gibibyte + int64(math.Ceil(math.Min(atoms*slack, mostParticles)*float64(bytesPerAtom)/mebibyte))*mebibyte
}

// slack is for systems that have more atoms than was guessed.
const slack = 3

// trajectoryBytes bounds the trajectory whatever the atoms turn out to be.
func (q request) trajectoryBytes() int64 {
	most := float64(q.frames) * bytesPerPosition * mostParticles
	return int64(math.Min(most, maxTrajectoryBytes))
}

func (q request) prepareNeeds(atoms, expected float64) engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: memory(atoms, prepareBytesPerAtom), FileBytes: 2 * gibibyte, Processes: maxProcesses,
		TimeLimit: limit(expected), MaxLogBytes: maxLogBytes, ScratchBytes: 4 * gibibyte,
	}
}

// simulateNeeds leaves room for the trajectory and a second copy of it in saves.
func (q request) simulateNeeds(atoms, expected float64) engines.Resources {
	written := q.trajectoryBytes() + q.rows*bytesPerStateRow
	needs := engines.Resources{
		CPUs: q.cpus(), MemoryBytes: memory(atoms, simulateBytesPerAtom), FileBytes: written + gibibyte,
		Processes: maxProcesses + 2*q.cpus(), TimeLimit: limit(expected), MaxLogBytes: maxLogBytes,
		ScratchBytes: 2*written + savesBytes,
	}
	if q.devices > 0 {
		needs.MemoryBytes += gpuHostBytes
		needs.GPUs = q.devices
		needs.GPUMemoryBytes = memory(atoms/slack*2, gpuBytesPerAtom)
	}
	return needs
}

func (q request) analyseNeeds(atoms, expected float64) engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: gibibyte + memory(atoms, simulateBytesPerAtom), FileBytes: gibibyte, Processes: maxProcesses,
		TimeLimit: limit(expected), MaxLogBytes: maxLogBytes, ScratchBytes: gibibyte,
	}
}

// round keeps plans free of digits that mean nothing.
func round(seconds float64) float64 { return math.Round(seconds*10) / 10 }
