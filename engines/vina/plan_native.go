package vina

import (
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// nativeShard prepares the native ligand from the receptor's structure, as the only ligand of the job.
func (p *planner) nativeShard() []chunk {
	p.stage++
	only := chunk{name: "ligands-0000", stage: stageNative, last: 1}
	entry, _ := p.ligandParams(0)
	entry.File, entry.Format = outputNative, formatNative
	p.add(engines.Shard{
		Stage: only.stage, Name: only.name, Preparation: true, Items: 1, Inputs: []engines.Input{fromReceptor(outputNative)},
		Needs: prepareNeeds(12 * time.Minute), ExpectedCPUSeconds: pythonStartCPUSeconds + ligandCPUSeconds,
	}, ligandsParams{
		Program: programLigands, Seed: p.seed, LigandCPUSeconds: prepareLigandCPUSeconds, Ligands: []ligandParams{entry},
	})
	return []chunk{only}
}

// formatNative marks the native ligand as the receptor's preparation has taken it out of the structure.
const formatNative = "native"

// redockShards docks the native ligand before the library, and lets a gate stop the job when its pose is not found again.
func (p *planner) redockShards() {
	if p.native == nil {
		return
	}
	p.stage++
	atoms := float64(usualHeavyAtoms)
	if component, ok := p.components[strings.ToUpper(p.native.ComponentID)]; ok {
		atoms = min(atomLetters(component.SMILES), maxHeavyAtoms)
	}
	work := startWork(p.exhaustiveness, p.box).plus(p.searchWork(atoms))
	p.add(engines.Shard{
		Stage: stageRedock, Name: shardRedock, Essential: true, Items: 1,
		Inputs:             []engines.Input{fromReceptor(outputReceptor), fromReceptor(outputBox), fromReceptor(outputNative)},
		Needs:              p.moreThreads(dockNeeds(p.threads, p.box, max(atoms, largeHeavyAtoms), work.mostOr(work.expected)), 1),
		ExpectedCPUSeconds: roundCPUSeconds(work.expected), MostCPUSeconds: roundCPUSeconds(work.most),
	}, redockParams{
		Program: programRedock, Search: p.search(), ThresholdAngstrom: valueOr(p.gateRMSDAngstrom, thresholdAngstrom),
		Seed: p.seed, ProtonationPh: *p.preparation.ProtonationPh, LigandCPUSeconds: prepareLigandCPUSeconds, RankBy: p.rankBy,
	})
	if p.gateRMSDAngstrom == nil {
		return
	}
	p.stage++
	p.add(engines.Shard{
		Stage: stageGate, Name: shardGate, Essential: true, Items: 1,
		Inputs: []engines.Input{{Name: outputRedocked, From: &engines.From{Stage: stageRedock, Shard: shardRedock,
			Output: outputRedocked}}},
		Needs: gateNeeds(), ExpectedCPUSeconds: 0.1,
	}, gateParams{Program: programGate, GateRMSDAngstrom: *p.gateRMSDAngstrom})
}

// nativeIndex is the place in the library of the ligand that is the native one, which is then docked once and measured; -1 where
// the native ligand is docked again by itself: because the library lacks it, or prepares it otherwise, or waits for a gate.
func (p *planner) nativeIndex() int {
	if p.nativeAlone {
		return 0
	}
	if p.native == nil || p.gateRMSDAngstrom != nil {
		return -1
	}
	return slices.IndexFunc(p.ligands, func(l mol.LigandEntry) bool {
		return l.Source.CCD != nil && strings.EqualFold(l.Source.CCD.ComponentID, p.native.ComponentID) &&
			*l.Preparation.ProtonationPh == *p.preparation.ProtonationPh
	})
}

// measureShard holds the poses of a ligand of the job, which is the native one, against the crystal's. A library does without it
// when that ligand fails.
func (p *planner) measureShard(index int, docked []dockGroup) {
	group := docked[slices.IndexFunc(docked, func(g dockGroup) bool { return slices.Contains(g.indices, index) })]
	p.add(engines.Shard{
		Stage: stageAnalyse, Name: shardRedock, Essential: p.nativeAlone, Items: 1,
		Inputs: []engines.Input{fromReceptor(outputReceptor), fromReceptor(outputNative), group.chunk.prepared(),
			group.docked(false)},
		Needs: prepareNeeds(10 * time.Minute), ExpectedCPUSeconds: pythonStartCPUSeconds,
	}, redockParams{
		Program: programRedock, Search: p.search(), ThresholdAngstrom: valueOr(p.gateRMSDAngstrom, thresholdAngstrom),
		Seed: p.seed, ProtonationPh: *p.preparation.ProtonationPh, LigandCPUSeconds: prepareLigandCPUSeconds, RankBy: p.rankBy,
		LigandIndex: &index,
	})
}

// redockStage is the stage of the shard that says how far the native ligand's poses are from the crystal's.
func (p *planner) redockStage() string {
	if p.nativeIndex() >= 0 {
		return stageAnalyse
	}
	return stageRedock
}
