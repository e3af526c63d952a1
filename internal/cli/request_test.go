package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/mol"
)

func TestParseBox(t *testing.T) {
	t.Parallel()
	centers := map[string]*mol.BoxCenter{
		"15.8,14.6,3.9": {15.8, 14.6, 3.9}, " -1, 0 ,1e1": {-1, 0, 10}, "1,2": nil, "1,2,3,4": nil, "": nil, "a,b,c": nil,
		"1,2,NaN": nil, "1,2,Inf": nil,
	}
	for flag, want := range centers {
		got, err := parseCenter(flag)
		if (err == nil) != (want != nil) || want != nil && got != *want {
			t.Errorf("center %q: got %v, %v; want %v", flag, got, err, want)
		}
	}
	sizes := map[string]*mol.BoxSize{
		"22": {22, 22, 22}, "20,20,26": {20, 20, 26}, "1": {1, 1, 1}, "100": {100, 100, 100}, "0.9": nil, "101": nil, "20,20": nil,
		"-5": nil, "NaN": nil, "x": nil,
	}
	for flag, want := range sizes {
		got, err := parseSize("--size", flag)
		if (err == nil) != (want != nil) || want != nil && got != *want {
			t.Errorf("size %q: got %v, %v; want %v", flag, got, err, want)
		}
	}
}

func TestBoxFlags(t *testing.T) {
	t.Parallel()
	cube := &mol.BoxSize{22, 22, 22}
	tests := map[string]struct {
		flags boxFlags
		want  string // as the request has it; "" for a usage error
	}{
		"nothing":    {boxFlags{}, `{}`},
		"size alone": {boxFlags{size: "22"}, `{"boxSizeAngstrom":[22,22,22]}`},
		"center and size": {boxFlags{center: "1,2,3", size: "22"},
			`{"boxCenterAngstrom":[1,2,3],"boxSizeAngstrom":[22,22,22]}`},
		"box with an edge": {boxFlags{box: "1,2,3,22"}, `{"boxCenterAngstrom":[1,2,3],"boxSizeAngstrom":[22,22,22]}`},
		"box with three": {boxFlags{box: "1, 2,3,20,21,22"},
			`{"boxCenterAngstrom":[1,2,3],"boxSizeAngstrom":[20,21,22]}`},
		"ligand":            {boxFlags{ligand: "sti"}, `{"pocketLigand":"STI"}`},
		"ligand of a chain": {boxFlags{ligand: "STI:B"}, `{"pocketLigand":"STI","pocketLigandChain":"B"}`},
		"ligand at a place": {boxFlags{ligand: "STI:A:-5", size: "22"},
			`{"pocketLigand":"STI","pocketLigandChain":"A","pocketLigandResidue":-5,"boxSizeAngstrom":[22,22,22]}`},
		"residues": {boxFlags{residues: []string{"A:315", "A:52A"}},
			`{"pocketResidues":[{"chain":"A","residue":315},{"chain":"A","residue":52,"insertionCode":"A"}]}`},
		"bound ligand": {boxFlags{box: "bound", size: "22"},
			`{"boxSource":"boundLigand","boxSizeAngstrom":[22,22,22]}`},
		"best pocket":              {boxFlags{box: "pocket"}, `{"boxSource":"fpocket"}`},
		"no file of a ligand":      {boxFlags{from: "ligand.txt"}, ""},
		"a ligand's file and box":  {boxFlags{from: "ligand.sdf", box: "1,2,3,22"}, ""},
		"two places":               {boxFlags{box: "1,2,3,22", ligand: "STI"}, ""},
		"center without a size":    {boxFlags{center: "1,2,3"}, ""},
		"box and size":             {boxFlags{box: "1,2,3,22", size: "22"}, ""},
		"box of five":              {boxFlags{box: "1,2,3,4,5"}, ""},
		"box with a great edge":    {boxFlags{box: "1,2,3,200"}, ""},
		"component with a space":   {boxFlags{ligand: "S I"}, ""},
		"ligand without a chain":   {boxFlags{ligand: "STI:"}, ""},
		"ligand in no number":      {boxFlags{ligand: "STI:A:x"}, ""},
		"ligand too far":           {boxFlags{ligand: "STI:A:100000"}, ""},
		"ligand with four":         {boxFlags{ligand: "STI:A:1:2"}, ""},
		"residue without a number": {boxFlags{residues: []string{"A"}}, ""},
		"residue too far":          {boxFlags{residues: []string{"A:-10000"}}, ""},
	}
	for name, test := range tests {
		box, err := test.flags.read()
		if test.want == "" {
			if ExitCode(err) != ExitUsage {
				t.Errorf("%s: got %+v, %v; want a usage error", name, box, err)
			}
			continue
		}
		var params dockParams
		box.put(&params)
		text, _ := json.Marshal(params)
		if err != nil || string(text) != test.want {
			t.Errorf("%s: got %s, %v; want %s", name, text, err, test.want)
		}
	}
	if box, err := (&boxFlags{box: "1,2,3,22"}).read(); err != nil || *box.size != *cube {
		t.Errorf("got %+v, %v; want a cube", box, err)
	}
}

func TestParseRedock(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"sti:A:201B": `{"dockingValidation":{"nativeReference":{"componentId":"STI","chain":"A","residue":201,"insertionCode":"B"}}}`,
		boundWord:    `{"dockingValidation":{"redockBound":true}}`,
		"sti":        `{"dockingValidation":{"redockBound":true},"pocketLigand":"STI"}`,
		"STI:B":      `{"dockingValidation":{"redockBound":true},"pocketLigand":"STI","pocketLigandChain":"B"}`,
	} {
		got, err := parseRedock(flag)
		var params dockParams
		got.put(&params, nil)
		if text, _ := json.Marshal(params); err != nil || string(text) != want {
			t.Errorf("%s: got %s, %v; want %s", flag, text, err, want)
		}
	}
	for _, flag := range []string{"", "STI::201", "STI:A:", "TOO LONG:A:1", "STI:A:1:2", "STI:A A:1"} {
		if got, err := parseRedock(flag); ExitCode(err) != ExitUsage {
			t.Errorf("%q: got %+v, %v; want a usage error", flag, got, err)
		}
	}
	sti := &redock{ligand: &pocketLigand{componentID: "STI"}}
	if err := sti.checkBeside(dockBox{file: "ligand.sdf"}); ExitCode(err) != ExitUsage {
		t.Errorf("a component beside a file: got %v, want a usage error", err)
	}
	if err := sti.checkBeside(dockBox{center: &mol.BoxCenter{}}); err != nil {
		t.Errorf("a component in a given box: %v", err)
	}
}

// TestRedockArguments reads command lines whose --redock has no value of its own, or takes the next word for it.
func TestRedockArguments(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "1iep.pdb")
	if err := os.WriteFile(path, []byte("ATOM\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args    []string
		want    string // the request's validation and what it docks; "" for a usage error
		ligands int
	}{
		{[]string{path, "--redock"}, `{"redockBound":true}`, 0},
		{[]string{"--redock", path}, `{"redockBound":true}`, 0},
		{[]string{path, "--redock", "--ligand", "a=CCO"}, `{"redockBound":true}`, 1},
		{[]string{path, "--redock", "STI:A:201"}, `{"nativeReference":{"componentId":"STI","chain":"A","residue":201}}`, 0},
		{[]string{"--redock=STI:A:201", path}, `{"nativeReference":{"componentId":"STI","chain":"A","residue":201}}`, 0},
		{[]string{path, "--redock", "STI"}, `{"redockBound":true}`, 0},
		{[]string{"--receptor", path, "--redock", "STI:A:201", "--gate", "3"},
			`{"nativeReference":{"componentId":"STI","chain":"A","residue":201},"gateRmsdAngstrom":3}`, 0},
		{[]string{path, "--redock", "STI:A:201", "more"}, "", 0},
		{[]string{path, "STI:A:201", "--ligand", "a=CCO"}, "", 0},
		{[]string{path}, "", 0},
		{[]string{path, "--gate", "3", "--ligand", "a=CCO"}, "", 0},
	} {
		var options dockFlags
		cmd := &cobra.Command{Use: "dock", Args: options.arguments, RunE: func(_ *cobra.Command, args []string) error {
			d, err := options.docking(args)
			if err != nil {
				return err
			}
			text, err := json.Marshal(newDockRequest(d, dockFiles{}).SimulationParams.DockingValidation)
			if string(text) != c.want || len(d.ligands) != c.ligands || d.receptor.path != path {
				t.Errorf("%q: got %s of %q with %d ligands, want %s with %d", c.args, text, d.receptor.path, len(d.ligands), c.want,
					c.ligands)
			}
			return err
		}, SilenceErrors: true, SilenceUsage: true}
		options.define(cmd)
		cmd.SetArgs(c.args)
		if err := cmd.Execute(); (c.want == "") != (err != nil) || err != nil && ExitCode(err) != ExitUsage {
			t.Errorf("%q: got %v", c.args, err)
		}
	}
}

func TestReceptor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"r.pdb", "r.CIF", "r.pdbqt", "1abc", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("ATOM\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.pdb"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(name string) []string { return []string{filepath.Join(dir, name)} }
	tests := map[string]struct {
		flags receptorFlags
		args  []string
		code  int
		want  string // PDB id, or the file's name
	}{
		"entry":              {receptorFlags{}, []string{"1iep"}, ExitOK, "1IEP"},
		"entry by flag":      {receptorFlags{receptor: "1IEP"}, nil, ExitOK, "1IEP"},
		"twice":              {receptorFlags{receptor: "1IEP"}, []string{"1IEP"}, ExitUsage, ""},
		"nothing":            {receptorFlags{}, nil, ExitUsage, ""},
		"file":               {receptorFlags{}, in("r.pdb"), ExitOK, "r.pdb"},
		"capitals":           {receptorFlags{}, in("r.CIF"), ExitOK, "r.CIF"},
		"file that looks so": {receptorFlags{}, in("1abc"), ExitUsage, ""}, // a file goes first, and this is none
		"no entry":           {receptorFlags{}, []string{"abcd"}, ExitUsage, ""},
		"another file":       {receptorFlags{}, in("notes.txt"), ExitUsage, ""},
		"gone":               {receptorFlags{}, in("gone.pdb"), ExitInvalid, ""},
		"empty":              {receptorFlags{}, in("empty.pdb"), ExitInvalid, ""},
		"all flags": {receptorFlags{chains: []string{"A", "B"}, assembly: "1", model: 2, keep: []string{"zn"},
			remove: []string{"STI"}, protonation: "pdb2pqr-propka", forceField: "parse"}, in("r.pdb"), ExitOK, "r.pdb"},
		"waters":              {receptorFlags{waters: "structural"}, in("r.pdb"), ExitOK, "r.pdb"},
		"other waters":        {receptorFlags{waters: "all"}, in("r.pdb"), ExitUsage, ""},
		"kept and removed":    {receptorFlags{keep: []string{"zn"}, remove: []string{"ZN"}}, in("r.pdb"), ExitUsage, ""},
		"no component":        {receptorFlags{remove: []string{"water molecules"}}, in("r.pdb"), ExitUsage, ""},
		"no chain":            {receptorFlags{chains: []string{"A", ""}}, in("r.pdb"), ExitUsage, ""},
		"model":               {receptorFlags{model: -1}, in("r.pdb"), ExitUsage, ""},
		"method":              {receptorFlags{protonation: "reduce"}, in("r.pdb"), ExitUsage, ""},
		"force field":         {receptorFlags{forceField: "GROMOS"}, in("r.pdb"), ExitUsage, ""},
		"force field of none": {receptorFlags{forceField: "AMBER", protonation: "meeko"}, in("r.pdb"), ExitUsage, ""},
		"prepared already":    {receptorFlags{protonation: "meeko"}, in("r.pdbqt"), ExitUsage, ""},
	}
	for name, test := range tests {
		got, err := test.flags.read(test.args)
		if ExitCode(err) != test.code || err == nil && first(got.pdbID, filepath.Base(got.path)) != test.want {
			t.Errorf("%s: got %+v, %v; want %s and exit code %d", name, got, err, test.want, test.code)
		}
	}
}

func TestDockRequest(t *testing.T) {
	t.Parallel()
	ligands := []ligand{{id: "aspirin", label: "aspirin", smiles: "CC(=O)Oc1ccccc1C(=O)O"},
		{id: "lead-7", label: "lead 7", path: "dir/Lead 7.SDF"}}
	lead := client.Uploaded{StorageKey: "accounts/a/uploads/u/Lead_7.SDF", SHA256: "00ff", ByteSize: 812,
		ContentType: "chemical/x-mdl-sdfile"}
	files := dockFiles{ligands: map[string]client.Uploaded{"lead-7": lead}}
	plain := docking{receptor: receptor{path: "r.pdb"}, ligands: ligands,
		box: dockBox{center: &mol.BoxCenter{15.8, 14.6, 3.9}, size: &mol.BoxSize{22, 22, 22}}}
	full := plain
	full.search = search{
		exhaustiveness: ref(mol.Exhaustiveness(16)), rankBy: "cnn", numModes: ref(3), energyRange: ref(2.5), seed: ref(int64(-7)),
		shardSize: ref(4), cpuThreads: ref(2), ph: ref(6.5),
		picture: ref("cycles"),
	}
	auto := plain
	auto.search = search{exhaustiveness: ref(mol.AutoExhaustiveness)}
	entry := docking{
		receptor: receptor{pdbID: "1IEP", chains: []string{"A"}, assembly: "1", model: 1, protonation: "pdb2pqr-propka",
			forceField: "PARSE", keep: []string{"ZN"}, remove: []string{"CL"}, waters: "structural"},
		box:     dockBox{ligand: &pocketLigand{componentID: "STI", chain: "A", residue: ref(201)}},
		ligands: []ligand{{id: "nilotinib", label: "nilotinib", componentID: "NIL"}},
		search:  search{redock: &redock{named: &residueName{"STI", residuePlace{Chain: "A", Residue: 201}}}, gate: ref(2.0)},
	}
	around := docking{receptor: receptor{path: "r.cif"}, box: dockBox{file: "ligand.mol2"}, search: search{redock: &redock{}}}
	for name, d := range map[string]docking{
		"request-plain.json": plain, "request-full.json": full, "request-entry.json": entry, "request-auto.json": auto,
		"request-around.json": around,
	} {
		if d.box.file != "" {
			files.receptor, files.boxLigand = &lead, &lead
		} else {
			files.receptor, files.boxLigand = nil, nil
		}
		request := newDockRequest(d, files)
		request.SceneFile, request.JobName = "accounts/a/uploads/u/r.pdb", "2 ligands into r"
		text, err := json.MarshalIndent(request, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, string(text)+"\n")
	}
}

func TestExhaustivenessFlag(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mol.Exhaustiveness{"auto": mol.AutoExhaustiveness, "AUTO": mol.AutoExhaustiveness, "1": 1,
		"128": 128} {
		if got, err := parseExhaustiveness(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "129", "-1", "8.5", "automatic", "8 "} {
		if got, err := parseExhaustiveness(text); ExitCode(err) != ExitUsage {
			t.Errorf("%q: got %d, %v; want exit code %d", text, got, err, ExitUsage)
		}
	}
}

func TestJobName(t *testing.T) {
	t.Parallel()
	two := []ligand{{label: "aspirin"}, {label: "imatinib"}}
	if got, want := jobName(receptor{path: "dir/1iep.pdb"}, two[:1]), "aspirin into 1iep"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := jobName(receptor{pdbID: "1IEP"}, two), "2 ligands into 1IEP"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
