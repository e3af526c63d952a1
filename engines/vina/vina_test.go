package vina

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/mol"
)

const testDigest = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

func smiles(id, text string) mol.LigandEntry {
	return mol.LigandEntry{LigandID: id, Label: "Ligand " + id, Source: mol.LigandSource{
		SMILES: &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: text}}}
}

func artifact(id, key, format string) mol.LigandEntry {
	return mol.LigandEntry{LigandID: id, Label: "Ligand " + id, Source: mol.LigandSource{
		Artifact: &mol.ArtifactSource{Kind: mol.SourceArtifact, Artifact: reference(key, format)}}}
}

func reference(key, format string) mol.ArtifactReference {
	return mol.ArtifactReference{Schema: mol.ArtifactSchema, ArtifactID: "a", StorageKey: key, SHA256: testDigest, ByteSize: 1234,
		MediaType: "text/plain", Format: format}
}

func ptr[T any](v T) *T { return &v }

// params is a request for one ligand in the peptide's box; change adapts it.
func params(change func(*Params)) Params {
	ligand := smiles("aspirin", "CC(=O)Oc1ccccc1C(=O)O")
	p := Params{
		LigandIdentity:    &ligand,
		BoxCenterAngstrom: &mol.BoxCenter{-9, -3, 3},
		BoxSizeAngstrom:   &mol.BoxSize{18, 18, 18},
		Exhaustiveness:    ptr(mol.Exhaustiveness(1)),
		Seed:              ptr(int64(42)),
		DockingReport:     &DockingReport{Picture: ptr(PictureNone)}, // a browser for every little docking is much
	}
	if change != nil {
		change(&p)
	}
	return p
}

func library(ligands ...mol.LigandEntry) func(*Params) {
	return func(p *Params) { p.LigandIdentity, p.LigandLibrary = nil, ligands }
}

func requestFor(p Params) engines.Request {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return engines.Request{JobID: "job_test", SceneFile: engines.Object{StorageKey: "scene.pdb", ByteSize: 100}, Params: text}
}

func manyLigands(count int, text string) []mol.LigandEntry {
	ligands := make([]mol.LigandEntry, count)
	for i := range ligands {
		ligands[i] = smiles(fmt.Sprintf("l%d", i), text)
	}
	return ligands
}

func planCases() []enginestest.PlanCase {
	return []enginestest.PlanCase{
		{Name: "one-ligand", Golden: true, Request: requestFor(params(nil))},
		{Name: "library", Golden: true, Request: requestFor(params(func(p *Params) {
			library(smiles("a", "C"), smiles("b", "CC"), artifact("c", "lig.sdf", "sdf"))(p)
			p.DockingExecution = &DockingExecution{ShardSize: ptr(2)}
			p.ReceptorArtifact = ptr(reference("receptor.pdbqt", "pdbqt"))
			p.CPUThreads, p.Exhaustiveness, p.Seed = ptr(256), ptr(mol.Exhaustiveness(4)), nil
		}))},
		{Name: "validated", Golden: true, Request: validatedRequest(nil)},
		{Name: "native-alone", Request: validatedRequest(func(p *Params) {
			p.LigandLibrary,
				p.DockingValidation.GateRMSDAngstrom = nil, nil
		})},
		{Name: "converging", Golden: true, Request: requestFor(params(func(p *Params) {
			library(smiles("a", "C"), smiles("imatinib", "Cc1ccc(cc1Nc2nccc(n2)c3cccnc3)NC(=O)c4ccc(cc4)CN5CCN(CC5)C"))(p)
			p.Exhaustiveness = ptr(mol.AutoExhaustiveness)
		}))},
		{Name: "ten-thousand", Request: requestFor(params(library(manyLigands(10_000, "CCO")...)))},
		{Name: "long-smiles", Request: requestFor(params(func(p *Params) {
			library(manyLigands(300, strings.Repeat("C", 4096))...)(p)
			p.DockingExecution = &DockingExecution{ShardSize: ptr(7)}
		}))},
	}
}

// validatedRequest docks into an entry of the PDB that an earlier job has prepared, around its native ligand, which is docked
// first and guards the library.
func validatedRequest(change func(*Params)) engines.Request {
	object := func(name string) engines.Object {
		return engines.Object{StorageKey: name, SHA256: testDigest, ByteSize: 1}
	}
	sti := mol.LigandEntry{LigandID: "sti", Label: "Imatinib", Source: mol.LigandSource{
		CCD: &mol.CCDSource{Kind: mol.SourceCCD, ComponentID: "sti"}}}
	r := requestFor(params(func(p *Params) {
		library(smiles("small", "CC"), sti)(p)
		p.DockingReport = nil
		p.BoxCenterAngstrom, p.BoxSizeAngstrom = nil, nil
		p.ReceptorPDBID, p.ReceptorChains = ptr("1iep"), []string{"A"}
		p.PocketLigand, p.PocketLigandChain = ptr("STI"), ptr("A")
		p.DockingValidation = &DockingValidation{
			NativeReference: &NativeReference{ComponentID: "STI", Chain: "A", Residue: 201}, GateRMSDAngstrom: ptr(2.0),
		}
		if change != nil {
			change(p)
		}
	}))
	r.Found = engines.Found{
		Structures: map[string]engines.Object{"1IEP": object("public/structures/1iep.cif")},
		Components: map[string]engines.Component{"STI": {Name: "Imatinib",
			SMILES: "Cc1ccc(cc1Nc2nccc(n2)c3cccnc3)NC(=O)c4ccc(cc4)CN5CCN(CC5)C"}},
		Prepared: &engines.PreparedReceptor{CacheKey: testDigest, ReceptorIdentitySHA256: testDigest, PreparationSHA256: testDigest,
			ToolchainSHA256: testDigest,
			Files: map[string]engines.Object{
				outputReceptor: object("prepared/receptor.pdbqt"), outputReceptorPDB: object("prepared/receptor.pdb"),
				outputReceptorReport: object("prepared/receptor.json"), outputSerials: object("prepared/serials.json"),
			}},
	}
	return r
}

func refusedCases() []enginestest.RefusedCase {
	with := func(name, field string, change func(*Params)) enginestest.RefusedCase {
		return enginestest.RefusedCase{Name: name, Field: field, Request: requestFor(params(change))}
	}
	noScene := requestFor(params(nil))
	noScene.SceneFile = engines.Object{}
	bcif := requestFor(params(nil))
	bcif.SceneFile.StorageKey = "x/receptor.BCIF"
	return []enginestest.RefusedCase{
		with("no ligand", "ligandIdentity", func(p *Params) { p.LigandIdentity = nil }),
		with("both ligands", "ligandLibrary", func(p *Params) { p.LigandLibrary = manyLigands(1, "C") }),
		with("no size", "boxSizeAngstrom", func(p *Params) { p.BoxSizeAngstrom = nil }),
		with("same ids", "ligandLibrary[2].ligandId", library(smiles("a", "C"), smiles("b", "C"), smiles("a", "N"))),
		with("a ligand that is no SMILES", "ligandIdentity.source.smiles",
			func(p *Params) { p.LigandIdentity = ptr(smiles("a", "C1CC")) }),
		with("a library of nothing but such", "ligandLibrary[0].source.smiles", library(smiles("a", "aspirin"), smiles("b", "C("))),
		with("ligand format", "ligandLibrary[0].source.artifact.format", library(artifact("a", "k", "mmcif"))),
		with("receptor format", "receptorArtifact.format", func(p *Params) { p.ReceptorArtifact = ptr(reference("r", "sdf")) }),
		with("empty receptor", "receptorArtifact.byteSize", func(p *Params) {
			p.ReceptorArtifact = ptr(reference("r", "pdb"))
			p.ReceptorArtifact.ByteSize = 0
		}),
		with("component kept and removed", "receptorPreparation.retainComponents[0]", func(p *Params) {
			p.ReceptorPreparation = &mol.ReceptorPreparation{RemoveComponents: []string{"zn"}, RetainComponents: []string{"ZN"}}
		}),
		with("entry of the PDB and a file", "receptorPdbId", func(p *Params) {
			p.ReceptorPDBID, p.ReceptorArtifact = ptr("1iep"), ptr(reference("r", "pdb"))
		}),
		with("chain of no ligand", "pocketLigandChain", func(p *Params) {
			p.PocketLigandChain, p.BoxCenterAngstrom = ptr("A"),
				nil
		}),
		with("residue of no ligand", "pocketLigandResidue", func(p *Params) {
			p.PocketLigandResidue, p.BoxCenterAngstrom = ptr(0),
				nil
		}),
		with("gate without a native ligand", "dockingValidation.gateRmsdAngstrom", func(p *Params) {
			p.DockingValidation = &DockingValidation{GateRMSDAngstrom: ptr(2.0)}
		}),
		{Name: "no scene", Field: "sceneFile", Request: noScene},
		{Name: "BinaryCIF scene", Field: "sceneFile", Request: bcif},
	}
}

func progressCases() []enginestest.ProgressCase {
	return []enginestest.ProgressCase{
		{Line: `{"progress": 0.42, "message": "docking imatinib (2 of 5)"}`, Fraction: 0.42, OK: true},
		{Line: `{"progress": 1.0, "message": "done"}`, Fraction: 1, OK: true},
		{Line: `{"progress": 7, "message": "x"}`, Fraction: 1, OK: true},
		{Line: `{"progress": null}`},
		{Line: `{"progress": "half"}`},
		{Line: `{"progress": 0.4`},
		{Line: "0%   10   20   30   40   50   60   70   80   90   100%"},
		{Line: ""},
		{Line: `{"progress": 0.5, "message": "` + strings.Repeat("x", 8<<10) + `"}`},
	}
}

func TestEngine(t *testing.T) {
	t.Parallel()
	enginestest.Run(t, New(), enginestest.Cases{
		Plans: planCases(), Refused: refusedCases(), Progress: progressCases(), Live: liveCases(),
	})
}

func TestPlanFillsDefaults(t *testing.T) {
	t.Parallel()
	p := params(func(p *Params) { p.Exhaustiveness, p.Seed = nil, nil })
	got, err := resolve(requestFor(p))
	if err != nil {
		t.Fatal(err)
	}
	if got.exhaustiveness != 8 || got.numModes != 9 || got.energyRangeKcalMol != 3 || got.threads != 1 || got.shardSize != 1 {
		t.Errorf("got %+v, want Vina's defaults", got)
	}
	if got.seed != 1 {
		t.Errorf("got seed %d, want 1: a docking without a seed is the same in every job", got.seed)
	}
}

func TestSeedZeroIsKeptAndNeverRandom(t *testing.T) {
	t.Parallel()
	got, err := resolve(requestFor(params(func(p *Params) { p.Seed = ptr(int64(0)) })))
	if err != nil || got.seed != 0 {
		t.Fatalf("got seed %d, %v; want 0", got.seed, err)
	}
	if engineSeed(0) == 0 || engineSeed(-5) != -5 {
		t.Errorf("got engine seeds %d and %d; Vina must never see 0", engineSeed(0), engineSeed(-5))
	}
}

func TestLigandsOfADockingShardComeFromOneChunk(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 3, 7, 10} {
		shards, err := New().Plan(requestFor(params(func(p *Params) {
			library(manyLigands(157, strings.Repeat("C", 3000))...)(p)
			p.DockingExecution = &DockingExecution{ShardSize: ptr(size)}
		})))
		if err != nil {
			t.Fatal(err)
		}
		chunkOf, docked := map[int]string{}, 0
		for _, shard := range shards {
			switch shard.Stage {
			case stagePrepare:
				var p ligandsParams
				_ = json.Unmarshal(shard.Params, &p)
				for _, ligand := range p.Ligands {
					chunkOf[ligand.Index] = shard.Name
				}
			case stageDock:
				var p dockParams
				_ = json.Unmarshal(shard.Params, &p)
				for _, index := range p.Indices {
					docked++
					if chunkOf[index] != shard.Inputs[2].From.Shard {
						t.Errorf("shardSize %d: ligand %d is in %s, its docking shard reads %s", size, index, chunkOf[index],
							shard.Inputs[2].From.Shard)
					}
				}
			}
		}
		if docked != 157 {
			t.Errorf("shardSize %d: %d ligands are docked, want 157", size, docked)
		}
	}
}

func TestTheLastDockingShardsAreSmall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		ligands []mol.LigandEntry
		first   int // ligands of the first docking shard
		last    int // and of the last
	}{
		{"a long library", manyLigands(1000, strings.Repeat("C", 30)), 10, 1},
		{"a short library of long searches", manyLigands(20, strings.Repeat("C", 40)), 2, 1},
		{"searches of no account", manyLigands(20, "C"), 10, 10},
		{"one ligand", manyLigands(1, "CCO"), 1, 1},
	} {
		plan, err := Vina{}.Plan(requestFor(params(func(p *Params) {
			library(test.ligands...)(p)
			p.DockingExecution = &DockingExecution{ShardSize: ptr(10)}
		})))
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		docked := map[int]bool{}
		for _, shard := range plan {
			if shard.Stage == stageDock {
				docking, err := paramsOf[dockParams](shard)
				if err != nil {
					t.Fatal(err)
				}
				sizes = append(sizes, len(docking.Indices))
				for _, index := range docking.Indices {
					docked[index] = true
				}
			}
		}
		if sizes[0] != test.first || sizes[len(sizes)-1] != test.last || len(docked) != len(test.ligands) ||
			slices.Max(sizes) > 10 {
			t.Errorf("%s: %d of %d ligands in shards of %v, want the first of %d and the last of %d", test.name, len(docked),
				len(test.ligands), sizes, test.first, test.last)
		}
	}
}

func TestNeedsGrowWithWork(t *testing.T) {
	t.Parallel()
	small := boxRequest{SizeAngstrom: &mol.BoxSize{20, 20, 20}}
	great := boxRequest{SizeAngstrom: &mol.BoxSize{100, 100, 100}}
	a, b := dockNeeds(1, small, 20, 10), dockNeeds(4, great, 100, 1e9)
	if a.MemoryBytes != 2<<30 || b.MemoryBytes < 10<<30 || b.MemoryBytes > 16<<30 {
		t.Errorf("got %d and %d bytes, want 2 GiB and 10 to 16 GiB", a.MemoryBytes, b.MemoryBytes)
	}
	if a.TimeLimit < 15*time.Minute || b.TimeLimit != mostTime {
		t.Errorf("got %v and %v, want at least 15 min and %v", a.TimeLimit, b.TimeLimit, mostTime)
	}
	// Expected CPU-seconds at exhaustiveness 8 against what was measured on ABL1.
	for text, want := range map[string]float64{
		"CC(=O)Oc1ccccc1C(=O)O": 3.3,
		"CN1CCN(CC1)Cc1ccc(cc1)C(=O)Nc1ccc(C)c(c1)Nc1nccc(n1)-c1cccnc1": 55,
		"Cc1nc(Nc2ncc(s2)C(=O)Nc2c(C)cccc2Cl)cc(n1)N1CCN(CCO)CC1":       45,
	} {
		got := searchCPUSeconds(heavyAtomsGuess(smiles("x", text).Source, nil), 8)
		if got < want/1.6 || got > want*1.6 {
			t.Errorf("%s: the model says %.1f CPU-seconds, measured %.1f", text, got, want)
		}
	}
}

func TestProbeRefusesOldVina(t *testing.T) {
	t.Parallel()
	check := New().Spec().Probe.Check
	if got, err := check([]byte("noise\n{\"vina\":\"1.2.7\",\"rdkit\":\"2026.9.1\"}\n")); err != nil || got["rdkit"] != "2026.9.1" {
		t.Errorf("got %v, %v; want the versions", got, err)
	}
	for _, version := range []string{"1.2.3", "1.1.2", "", "1.2"} {
		if _, err := check([]byte(`{"vina":"` + version + `"}`)); err == nil || !strings.Contains(err.Error(), "1.2.5") {
			t.Errorf("Vina %q: got %v, want an error that names 1.2.5", version, err)
		}
	}
}

// TestParamsSchema checks the struct tags through huma, as the API does.
func TestParamsSchema(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"exhaustiveness":8,"cpuThreads":1,"seed":-2147483648,"boxSizeAngstrom":20}`: "",
		`{"exhaustiveness":"auto"}`:             "",
		`{"exhaustiveness":128}`:                "",
		`{"exhaustiveness":"Auto"}`:             "exhaustiveness",
		`{"exhaustiveness":"8"}`:                "exhaustiveness",
		`{"exhaustiveness":1.5}`:                "exhaustiveness",
		`{"exhaustiveness":0}`:                  "exhaustiveness",
		`{"exhaustiveness":129}`:                "exhaustiveness",
		`{"numModes":101}`:                      "numModes",
		`{"energyRangeKcalMol":0.05}`:           "energyRangeKcalMol",
		`{"seed":2147483648}`:                   "seed",
		`{"seed":1.5}`:                          "seed",
		`{"cpuThreads":257}`:                    "cpuThreads",
		`{"ligandLibrary":[]}`:                  "ligandLibrary",
		`{"dockingExecution":{"shardSize":11}}`: "dockingExecution.shardSize",
		`{"dockingExecution":{}}`:               "",
		`{"boxCenterAngstrom":[1,2]}`:           "boxCenterAngstrom",
		`{"box":1}`:                             "box",
	} {
		var body any
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatal(err)
		}
		registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
		result := &huma.ValidateResult{}
		huma.Validate(registry, registry.Schema(reflect.TypeFor[Params](), true, ""), huma.NewPathBuffer([]byte{}, 0),
			huma.ModeWriteToServer, body, result)
		switch {
		case want == "" && len(result.Errors) > 0:
			t.Errorf("input %s, got %v, want accepted", text, result.Errors)
		case want != "" && (len(result.Errors) == 0 || !strings.Contains(result.Errors[0].Error(), want)):
			t.Errorf("input %s, got %v, want an error about %s", text, result.Errors, want)
		}
	}
}

// FuzzProgress feeds foreign lines to the progress parser: whatever comes, the fraction stays within [0, 1].
func FuzzProgress(f *testing.F) {
	for _, c := range progressCases() {
		f.Add(c.Line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if fraction, _, ok := New().Progress(line); ok && (fraction < 0 || fraction > 1 || fraction != fraction) {
			t.Errorf("Progress(%q) is %v", line, fraction)
		}
	})
}
