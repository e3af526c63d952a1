package vina

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/internal/parallel"
)

// The stages of a docking job, in their order. Redocking and its gate are stages of jobs that ask for them. In a job that docks its
// native ligand alone, that ligand is prepared in a stage of its own, behind the receptor that it comes from, and measured after it
// was docked.
const (
	stagePrepare = "prepare"
	stageNative  = "native"
	stageRedock  = "redock"
	stageGate    = "gate"
	stageDock    = "dock"
	stageAnalyse = "analyse"
	stageRank    = "rank"
)

// Shards that a job has one of, and the outputs that pass from one to the next.
const (
	shardReceptor = "receptor"
	shardRedock   = "redock"
	shardGate     = "gate"
	shardRank     = "rank"

	outputReceptor       = "receptor.pdbqt"
	outputReceptorPDB    = "receptor.pdb"
	outputBest           = "best.pdb"
	outputReceptorReport = "receptor.json"
	outputSerials        = "serials.json"
	outputBox            = "box.json"
	outputNative         = "native.json"
	outputLigands        = "ligands.json"
	outputDocked         = "dock.json"
	outputRedocked       = "redock.json"
	outputRedockedSDF    = "native/redocked.sdf"
	outputAnalysis       = "analysis.json"
)

const (
	// maxChunkLigands bounds a preparation shard. Starting Python with RDKit and Meeko costs about 1.2 s, preparing a ligand
	// about 0.1 s: a chunk of 50 keeps the start below a fifth of the work and still spreads a library over the workers.
	maxChunkLigands = 50
	// maxChunkParamsBytes keeps a chunk of very long SMILES below engines.MaxShardParamsBytes.
	maxChunkParamsBytes = 512 << 10
	// maxThreads bounds the threads of one docking process, so that a task fits on ordinary workers; the result does not
	// depend on their number.
	maxThreads = 8
	// mostPosesAnalysed bounds the poses of a ligand whose interactions and checks are found: those that people look at.
	mostPosesAnalysed = 10
	// maxChunkPoses bounds the poses of an analysing shard, so that what it found stays below engines.MaxSummaryBytes.
	maxChunkPoses = 100
	// fewChunkPoses is that of small libraries, whose ligands take longer, and which should keep every worker busy to the end.
	fewChunkPoses = 40
	// mostEnergyChecked is the largest library whose poses' internal energies are held against an ensemble of conformers: that
	// takes longer than everything else that is looked at, and about a tenth of a docking.
	mostEnergyChecked = 100
)

// Plan cuts a docking request into its shards: receptor, ligand chunks, redocking where a native ligand is named, docking
// shards, analysis, pictures, ranking. What is expected to dock longest comes first, so that no long one is left for the end.
// Chunks follow the request, so that a library to which ligands are added keeps those that were prepared and analysed before.
func (Vina) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	plan := planner{request: q, order: sizes(q.ligands, q.components)}
	for run := range slices.Chunk(plan.order, plan.chunkLigands()) {
		slices.SortStableFunc(run, func(a, b sized) int { return cmp.Compare(b.heavyAtoms, a.heavyAtoms) })
	}
	if q.nativeAlone && q.nativeAt != nil {
		plan.order[0].heavyAtoms = float64(q.nativeAt.HeavyAtoms)
	}
	plan.shards = make([]planned, 0, fewestShards+len(plan.order)/plan.shardSize*5/4)
	plan.receptorShard()
	chunks := plan.ligandShards()
	native := plan.nativeIndex()
	if native < 0 {
		plan.redockShards()
	}
	plan.stage++
	first := len(plan.shards)
	docked := plan.dockShards(chunks)
	for i := range plan.shards[first:] {
		shard := &plan.shards[first+i]
		shard.Needs = plan.moreThreads(shard.Needs, len(docked))
	}
	plan.stage++
	if native >= 0 {
		plan.measureShard(native, docked)
	}
	plan.analyseShards(docked)
	plan.stage++
	plan.pictureShard()
	plan.rankShard()
	return plan.written()
}

const (
	// shareholders is among how many the rest of a library is shared when a shard's size is decided. A plan does not know how many
	// processors there will be: fewer never wait for each other, and more of them get their work in smaller pieces all the same.
	shareholders = 8
	// leastShareCPUSeconds is what a shard may take whatever is left: a few seconds keep nobody waiting.
	leastShareCPUSeconds = 5
)

// fewestShards is how many a plan has beside those that depend on how many ligands there are, at most.
const fewestShards = 8

type planner struct {
	request
	order  []sized // of the ligands
	stage  int     // index of the stage that is being planned
	shards []planned
}

// planned is a shard whose parameters are still to be written.
type planned struct {
	engines.Shard
	params any
}

// sized is a ligand, by its place in the request, and a guess of how many heavy atoms it has.
type sized struct {
	index      int
	heavyAtoms float64
}

// chunk is a run of the order that one preparation shard handles.
type chunk struct {
	name, stage string
	first, last int // places in the order, last excluded
}

// dockGroup is a docking shard, the preparation shard that its ligands come from, and how many they are.
type dockGroup struct {
	shard      string
	chunk      chunk
	indices    []int
	heavyAtoms float64 // of the largest of its ligands
}

// prepared are the ligands of a chunk, as an input.
func (c chunk) prepared() engines.Input {
	return engines.Input{Name: outputLigands, From: &engines.From{Stage: c.stage, Shard: c.name, Output: outputLigands}}
}

// docked are the poses of a group, as an input; optional says that a shard can do without them.
func (g dockGroup) docked(optional bool) engines.Input {
	return engines.Input{
		Name: "docked/" + g.shard + "/" + outputDocked,
		From: &engines.From{Stage: stageDock, Shard: g.shard, Output: outputDocked, Optional: optional},
	}
}

// sizes are the ligands in the request's order.
func sizes(ligands []mol.LigandEntry, components map[string]engines.Component) []sized {
	all := make([]sized, len(ligands))
	for i, ligand := range ligands {
		all[i] = sized{index: i, heavyAtoms: heavyAtomsGuess(ligand.Source, components)}
	}
	return all
}

// chunkLigands is how many ligands a preparation shard handles at most: a multiple of shardSize, so that the ligands of a docking
// shard always come from one chunk.
func (p *planner) chunkLigands() int { return max(maxChunkLigands/p.shardSize, 1) * p.shardSize }

func (p *planner) add(shard engines.Shard, params any) {
	shard.StageIndex = p.stage
	p.shards = append(p.shards, planned{shard, params})
}

// written are the shards with their parameters written.
func (p *planner) written() ([]engines.Shard, error) {
	runs, err := parallel.Runs(p.shards, func(run []planned) (shards []engines.Shard, err error) {
		shards = make([]engines.Shard, len(run))
		for i, each := range run {
			shards[i] = each.Shard
			if shards[i].Params, err = json.Marshal(each.params); err != nil {
				return nil, fmt.Errorf("vina: writing the parameters of shard %s: %w", each.Name, err)
			}
		}
		return shards, nil
	})
	return slices.Concat(runs...), err
}

// fromReceptor is an output of the prepared receptor, staged under its own name.
func fromReceptor(output string) engines.Input {
	return engines.Input{Name: output, From: &engines.From{Stage: stagePrepare, Shard: shardReceptor, Output: output}}
}

func (p *planner) receptorShard() {
	receptor := p.receptor
	shard := engines.Shard{
		Stage: stagePrepare, Name: shardReceptor, Essential: true, Preparation: true, Items: 1,
		Inputs:             []engines.Input{{Name: "receptor", Object: &receptor}},
		Needs:              prepareNeeds(30 * time.Minute),
		ExpectedCPUSeconds: receptorCPUSeconds,
	}
	params := receptorParams{
		Program: programReceptor, selection: p.selection, Preparation: p.preparation, Box: p.box,
		NativeReference: p.native, Components: p.receptorComponents(),
	}
	if found := p.prepared; found != nil {
		params.Prepared = &preparedParams{
			Required: p.preparedRequired, CacheKey: found.CacheKey, ReceptorIdentitySHA256: found.ReceptorIdentitySHA256,
			PreparationSHA256: found.PreparationSHA256, ToolchainSHA256: found.ToolchainSHA256,
		}
		for _, file := range preparedFiles {
			object := found.Files[file.output]
			shard.Inputs = append(shard.Inputs, engines.Input{Name: file.input, Object: &object, Optional: true})
		}
		shard.ExpectedCPUSeconds = reusedCPUSeconds
	}
	p.add(shard, params)
}

// preparedFiles are the outputs of an earlier preparation that a later one takes over, and their names there.
var preparedFiles = []struct{ output, input string }{
	{outputReceptor, "prepared.pdbqt"}, {outputReceptorPDB, "prepared.pdb"},
	{outputReceptorReport, "prepared.json"}, {outputSerials, "prepared-serials.json"},
}

// receptorComponents are the definitions of the components that the receptor's preparation may have to understand.
func (p *planner) receptorComponents() map[string]engines.Component {
	names := slices.Clone(p.preparation.RetainComponents)
	if p.native != nil {
		names = append(names, p.native.ComponentID)
	}
	if p.box.ComponentID != "" {
		names = append(names, p.box.ComponentID)
	}
	known := map[string]engines.Component{}
	for _, name := range names {
		if component, ok := p.components[strings.ToUpper(name)]; ok {
			known[strings.ToUpper(name)] = component
		}
	}
	return known
}

// ligandShards cuts the library into chunks.
func (p *planner) ligandShards() []chunk {
	if p.nativeAlone {
		return p.nativeShard()
	}
	var chunks []chunk
	most := p.chunkLigands()
	for first := 0; first < len(p.order); {
		params := ligandsParams{Program: programLigands, Seed: p.seed, LigandCPUSeconds: prepareLigandCPUSeconds}
		var inputs []engines.Input
		last, bytes := first, 0
		for last < len(p.order) && last-first < most {
			group := p.order[last:min(last+p.shardSize, len(p.order))]
			size := 0
			for _, ligand := range group {
				size += paramsBytes(p.ligands[ligand.index])
			}
			if last > first && bytes+size > maxChunkParamsBytes {
				break
			}
			for _, ligand := range group {
				entry, input := p.ligandParams(ligand.index)
				params.Ligands = append(params.Ligands, entry)
				if input != nil {
					inputs = append(inputs, *input)
				}
			}
			bytes += size
			last += len(group)
		}
		c := chunk{name: fmt.Sprintf("ligands-%04d", len(chunks)), stage: stagePrepare, first: first, last: last}
		p.add(engines.Shard{
			Stage: stagePrepare, Name: c.name, Preparation: true, Items: last - first, Inputs: inputs,
			Needs:              prepareNeeds(leastTime + time.Duration(last-first)*prepareLimit),
			ExpectedCPUSeconds: pythonStartCPUSeconds + float64(last-first)*ligandCPUSeconds,
		}, params)
		chunks = append(chunks, c)
		first = last
	}
	return chunks
}

// paramsBytes bounds what a ligand takes in a shard's parameters; JSON may write a character in six bytes.
func paramsBytes(ligand mol.LigandEntry) int {
	size := 256 + len(ligand.LigandID) + 6*len(ligand.Label)
	if ligand.Source.SMILES != nil {
		size += 6 * len(ligand.Source.SMILES.SMILES)
	}
	return size
}

func (p *planner) ligandParams(index int) (ligandParams, *engines.Input) {
	entry := p.ligands[index]
	params := ligandParams{Index: index, LigandID: entry.LigandID, Label: entry.Label,
		ProtonationPh: *entry.Preparation.ProtonationPh}
	switch source := entry.Source; {
	case source.SMILES != nil:
		params.SMILES = source.SMILES.SMILES
		return params, nil
	case source.CCD != nil:
		params.ComponentID = strings.ToUpper(source.CCD.ComponentID)
		params.SMILES = p.components[params.ComponentID].SMILES
		return params, nil
	}
	artifact := entry.Source.Artifact.Artifact
	object := objectOf(artifact)
	params.Format = artifact.Format
	params.File = fmt.Sprintf("ligand-%05d.%s", index+1, artifact.Format)
	return params, &engines.Input{Name: params.File, Object: &object}
}

func (p *planner) search() searchParams {
	params := searchParams{
		Exhaustiveness: p.exhaustiveness, NumModes: p.numModes, EnergyRangeKcalMol: p.energyRangeKcalMol,
		Seed: p.seed, EngineSeed: engineSeed(p.seed), CPUThreads: p.threads,
	}
	if p.exhaustiveness == mol.AutoExhaustiveness {
		rule := autoSearchRule
		if p.rankBy == rankByCNN {
			rule.ChooseBy = rankByCNN
		}
		params.Auto = &rule
	}
	return params
}

// searchWork is that of a ligand, with the choice among its poses.
func (p *planner) searchWork(heavyAtoms float64) work {
	search := searchWork(p.exhaustiveness, heavyAtoms, p.box)
	if p.exhaustiveness == mol.AutoExhaustiveness && p.rankBy == rankByCNN {
		choice := cnnPoseCPUSeconds * float64(autoSearchRule.Candidates)
		search = search.plus(work{choice, choice})
	}
	return search
}

// dockShards cuts the chunks into docking shards of at most shardSize ligands. Towards the end of the library they become smaller:
// a shard of several ligands takes no more than its share of what is still to be done (guided self-scheduling), so that no
// processor waits for the last of them. The groups are in the order of the chunks, their shards by falling work.
func (p *planner) dockShards(chunks []chunk) []dockGroup {
	var groups []dockGroup
	var shards []planned
	left := 0.0 // CPU seconds of the ligands that are in no shard yet
	for _, ligand := range p.order {
		left += p.searchWork(ligand.heavyAtoms).expected
	}
	for _, c := range chunks {
		for first := c.first; first < c.last; {
			searches := p.shareOf(left, p.order[first:min(first+p.shardSize, c.last)])
			last := first + len(searches)
			params := dockParams{Program: programDock, Search: p.search()}
			work, atoms := startWork(p.exhaustiveness, p.box), 0.0
			for i, ligand := range p.order[first:last] {
				params.Indices = append(params.Indices, ligand.index)
				work = work.plus(searches[i])
				left -= searches[i].expected
				atoms = max(atoms, ligand.heavyAtoms)
			}
			group := dockGroup{shard: fmt.Sprintf("dock-%05d", len(groups)), chunk: c, indices: params.Indices, heavyAtoms: atoms}
			shards = append(shards, planned{engines.Shard{
				Stage: stageDock, Name: group.shard, Items: len(params.Indices),
				Inputs:             []engines.Input{fromReceptor(outputReceptor), fromReceptor(outputBox), c.prepared()},
				Needs:              dockNeeds(p.threads, p.box, atoms, work.mostOr(work.expected)),
				ExpectedCPUSeconds: roundCPUSeconds(work.expected), MostCPUSeconds: roundCPUSeconds(work.most),
			}, params})
			groups = append(groups, group)
			first = last
		}
	}
	slices.SortStableFunc(shards, func(a, b planned) int { return cmp.Compare(b.ExpectedCPUSeconds, a.ExpectedCPUSeconds) })
	for _, shard := range shards {
		p.add(shard.Shard, shard.params)
	}
	return groups
}

// moreThreads lets each of so few docking shards that a worker of maxThreads cores would be idle beside them use its share of
// those cores. Poses do not depend on the threads.
func (p *planner) moreThreads(needs engines.Resources, shards int) engines.Resources {
	if p.threadsGiven {
		return needs
	}
	needs.MoreCPUs = max(min((maxThreads+shards-1)/shards, mostSearches(p.exhaustiveness))-needs.CPUs, 0)
	needs.Processes += 2 * needs.MoreCPUs
	return needs
}

// shareOf is the work of each of the first ligands that make a shard, of those that may: one at least.
func (p *planner) shareOf(left float64, ligands []sized) []work {
	share, together := max(left/shareholders, leastShareCPUSeconds), 0.0
	var searches []work
	for _, ligand := range ligands {
		search := p.searchWork(ligand.heavyAtoms)
		together += search.expected
		if len(searches) > 0 && together > share {
			break
		}
		searches = append(searches, search)
	}
	return searches
}

// analyseShards exports and examines what neighbouring docking shards of one chunk have found.
func (p *planner) analyseShards(docked []dockGroup) {
	poses := maxChunkPoses
	if p.checksEnergy() {
		poses = fewChunkPoses
	}
	most := max(poses/min(p.numModes, mostPosesAnalysed), 1)
	for number := 0; len(docked) > 0; number++ {
		count, ligands := 1, len(docked[0].indices)
		for count < len(docked) && docked[count].chunk.name == docked[0].chunk.name && ligands+len(docked[count].indices) <= most {
			ligands += len(docked[count].indices)
			count++
		}
		p.analyseShard(number, docked[:count])
		docked = docked[count:]
	}
}

func (p *planner) analyseShard(number int, docked []dockGroup) {
	params := analyseParams{
		Program: programAnalyse, MostPosesAnalysed: mostPosesAnalysed, InternalEnergy: p.checksEnergy(),
		LigandCPUSeconds: analyseLigandCPUSeconds, RankBy: p.rankBy,
	}
	inputs := []engines.Input{
		fromReceptor(outputReceptor), fromReceptor(outputReceptorPDB), fromReceptor(outputSerials), docked[0].chunk.prepared(),
	}
	if p.native != nil {
		inputs = append(inputs, fromReceptor(outputNative))
	}
	expected := analyseStartCPUSeconds
	for _, group := range docked {
		params.Indices = append(params.Indices, group.indices...)
		expected += p.analyseCPUSeconds(group)
		inputs = append(inputs, group.docked(true))
	}
	p.add(engines.Shard{
		Stage: stageAnalyse, Name: fmt.Sprintf("analyse-%04d", number), Items: len(params.Indices), Inputs: inputs,
		Needs:              analyseNeeds(len(params.Indices)),
		ExpectedCPUSeconds: roundCPUSeconds(expected),
	}, params)
}

func (p *planner) checksEnergy() bool { return len(p.ligands) <= mostEnergyChecked }

// analyseCPUSeconds is what the analysis of a docking shard's ligands is expected to take.
func (p *planner) analyseCPUSeconds(group dockGroup) float64 {
	seconds := 0.0
	for range group.indices {
		seconds += analysePoseCPUSeconds*float64(min(p.numModes, mostPosesAnalysed)) + cnnPoseCPUSeconds*float64(p.numModes)
		if p.checksEnergy() {
			seconds += energyCPUSecondsPerSquare * group.heavyAtoms * group.heavyAtoms
		}
	}
	return seconds
}

func (p *planner) rankShard() {
	count := len(p.ligands)
	inputs := []engines.Input{
		fromReceptor(outputReceptorReport), fromReceptor(outputReceptorPDB), fromReceptor(outputBox),
		{Name: "ligands", From: &engines.From{Stage: p.ligandStage(), Output: outputLigands}},
		{Name: "analysed", From: &engines.From{Stage: stageAnalyse, Output: outputAnalysis}},
	}
	if p.native != nil {
		inputs = append(inputs, engines.Input{Name: "redock", From: &engines.From{Stage: p.redockStage(), Output: outputRedocked}})
	}
	inputs = append(inputs, p.pictureInputs()...)
	p.add(engines.Shard{
		Stage: stageRank, Name: shardRank, Essential: true, Items: count, Inputs: inputs,
		Needs:              rankNeeds(count),
		ExpectedCPUSeconds: roundCPUSeconds(pythonStartCPUSeconds + float64(count)*rankCPUSeconds),
	}, rankParams{
		Program: programRank, Title: p.title, Library: p.library, LigandCount: count, ShardSize: p.shardSize,
		CPUThreadsAsked: p.threadsAsked, ReceptorPreparation: p.preparation, Search: p.search(), RankBy: p.rankBy,
		GateRMSDAngstrom: p.gateRMSDAngstrom, Depicted: p.depicted, Picture: p.picture, Citations: p.citations(),
	})
}

// ligandStage is the stage that prepares ligands.
func (p *planner) ligandStage() string {
	if p.nativeAlone {
		return stageNative
	}
	return stagePrepare
}

// What stands for a ligand of which nothing is known: a small drug for the time that it takes, a large one for the memory.
const (
	usualHeavyAtoms = 25
	largeHeavyAtoms = 60
)

// heavyAtomsGuess estimates a ligand's heavy atoms before anybody has read it, for time and memory only: the atom letters of
// a SMILES, or a file's size at about 80 bytes an atom.
func heavyAtomsGuess(source mol.LigandSource, components map[string]engines.Component) float64 {
	atoms := 0.0
	switch {
	case source.SMILES != nil:
		atoms = atomLetters(source.SMILES.SMILES)
	case source.CCD != nil:
		atoms = usualHeavyAtoms
		if component, ok := components[strings.ToUpper(source.CCD.ComponentID)]; ok {
			atoms = atomLetters(component.SMILES)
		}
	case source.Artifact != nil:
		atoms = max(float64(source.Artifact.Artifact.ByteSize)/160, usualHeavyAtoms)
	}
	return math.Min(math.Max(atoms, 5), maxHeavyAtoms)
}

func atomLetters(smiles string) float64 {
	atoms := 0
	for _, c := range smiles {
		if strings.ContainsRune("BCNOPSFIbcnops", c) {
			atoms++
		}
	}
	return float64(atoms)
}
