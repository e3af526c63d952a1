package cli

import (
	"encoding/json"
	"testing"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/mol"
)

func TestParseBox(t *testing.T) {
	t.Parallel()
	centers := map[string]*mol.BoxCenter{
		"15.8,14.6,3.9": {15.8, 14.6, 3.9}, " -1, 0 ,1e1": {-1, 0, 10}, "1,2": nil, "1,2,3,4": nil, "": nil, "a,b,c": nil, "1,2,NaN": nil, "1,2,Inf": nil,
	}
	for flag, want := range centers {
		got, err := parseCenter(flag)
		if (err == nil) != (want != nil) || want != nil && got != *want {
			t.Errorf("center %q: got %v, %v; want %v", flag, got, err, want)
		}
	}
	sizes := map[string]*mol.BoxSize{
		"22": {22, 22, 22}, "20,20,26": {20, 20, 26}, "1": {1, 1, 1}, "100": {100, 100, 100}, "0.9": nil, "101": nil, "20,20": nil, "-5": nil, "NaN": nil, "x": nil,
	}
	for flag, want := range sizes {
		got, err := parseSize(flag)
		if (err == nil) != (want != nil) || want != nil && got != *want {
			t.Errorf("size %q: got %v, %v; want %v", flag, got, err, want)
		}
	}
}

func TestDockRequest(t *testing.T) {
	t.Parallel()
	ligands := []ligand{{id: "aspirin", label: "aspirin", smiles: "CC(=O)Oc1ccccc1C(=O)O"}, {id: "lead-7", label: "lead 7", path: "dir/Lead 7.SDF"}}
	files := map[string]client.Uploaded{"lead-7": {StorageKey: "accounts/a/uploads/u/Lead_7.SDF", SHA256: "00ff", ByteSize: 812, ContentType: "chemical/x-mdl-sdfile"}}
	plain := search{center: mol.BoxCenter{15.8, 14.6, 3.9}, size: mol.BoxSize{22, 22, 22}}
	full := plain
	full.exhaustiveness, full.numModes, full.energyRange, full.seed = ref(16), ref(3), ref(2.5), ref(int64(-7))
	full.shardSize, full.cpuThreads, full.ph = ref(4), ref(2), ref(6.5)
	for name, s := range map[string]search{"request-plain.json": plain, "request-full.json": full} {
		request := newDockRequest(ligands, s, files)
		request.SceneFile, request.JobName = "accounts/a/uploads/u/r.pdb", "2 ligands into r"
		text, err := json.MarshalIndent(request, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, string(text)+"\n")
	}
}

func TestJobName(t *testing.T) {
	t.Parallel()
	two := []ligand{{label: "aspirin"}, {label: "imatinib"}}
	if got, want := jobName("dir/1iep.pdb", two[:1]), "aspirin into 1iep"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := jobName("1iep.pdb", two), "2 ligands into 1iep"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
