package lookup

import (
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/jobs/parameters"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mol"
)

func reference1(storageKey, sha string, size int64) mol.ArtifactReference {
	return mol.ArtifactReference{StorageKey: storageKey, SHA256: sha, ByteSize: size}
}

func TestReferencesNameEveryFile(t *testing.T) {
	t.Parallel()
	receptor := reference1("k2", "", 1)
	ligand := func(key string) mol.LigandEntry {
		return mol.LigandEntry{Source: mol.LigandSource{Artifact: &mol.ArtifactSource{Artifact: reference1(key, "", 1)}}}
	}
	only := ligand("k3")
	smiles := mol.LigandEntry{Source: mol.LigandSource{SMILES: &mol.SMILESSource{SMILES: "C"}}}
	params := parameters.SimulationParams{
		DockingParams: vina.Params{
			ReceptorArtifact: &receptor, LigandIdentity: &only, LigandLibrary: []mol.LigandEntry{smiles, ligand("k4")},
			DockingExecution: &vina.DockingExecution{PreparedReceptor: &vina.PreparedReceptor{Artifact: &receptor}},
		},
		DynamicsParams: openmm.Params{Request: &openmm.DynamicsRequest{
			Input: openmm.DynamicsInput{Amber: &openmm.AmberInput{
				Prmtop: openmm.DynamicsArtifact{StorageKey: "k5"}, Coordinates: openmm.DynamicsArtifact{StorageKey: "k6"},
			}},
			Execution: openmm.DynamicsExecution{RestartCheckpoint: &openmm.DynamicsArtifact{StorageKey: "k7"}},
		}},
	}
	all := references("k0", []string{"k1"}, params.NamedFiles())
	var got []string
	for _, r := range all {
		got = append(got, r.path+"="+r.key)
	}
	want := []string{
		"sceneFile=k0", "attachments[0]=k1", "simulationParams.receptorArtifact=k2",
		"simulationParams.ligandIdentity.source.artifact=k3", "simulationParams.ligandLibrary[1].source.artifact=k4",
		"simulationParams.dockingExecution.preparedReceptor.artifact=k2", "simulationParams.openmmRequest.input.prmtop=k5",
		"simulationParams.openmmRequest.input.coordinates=k6", "simulationParams.openmmRequest.execution.restartCheckpoint=k7",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestReferenceCheck(t *testing.T) {
	t.Parallel()
	said := engines.Object{SHA256: "aa", ByteSize: 10}
	for _, c := range []struct {
		name  string
		r     reference
		found engines.Object
		ok    bool
		code  fault.Code
		path  string
	}{
		{"scene", reference{path: "sceneFile", missing: fault.SceneNotFound}, engines.Object{ByteSize: 3}, true, "", ""},
		{"no scene", reference{path: "sceneFile", missing: fault.SceneNotFound}, engines.Object{}, false, fault.SceneNotFound,
			"sceneFile:"},
		{"no artifact", reference{path: "p", stated: &said, missing: fault.ArtifactNotFound}, engines.Object{}, false,
			fault.ArtifactNotFound, "p.storageKey:"},
		{"other size", reference{path: "p", stated: &said, missing: fault.ArtifactNotFound}, engines.Object{ByteSize: 11}, true,
			fault.ChecksumMismatch, "p.byteSize:"},
		{"other digest", reference{path: "p", stated: &said, missing: fault.ArtifactNotFound},
			engines.Object{ByteSize: 10, SHA256: "bb"}, true, fault.ChecksumMismatch, "p.sha256:"},
		{"digest unknown", reference{path: "p", stated: &said, missing: fault.ArtifactNotFound}, engines.Object{ByteSize: 10}, true,
			"", ""},
		{"all equal", reference{path: "p", stated: &said, missing: fault.ArtifactNotFound},
			engines.Object{ByteSize: 10, SHA256: "aa"}, true, "", ""},
	} {
		err := c.r.check(c.found, c.ok)
		if (err == nil) != (c.code == "") || err != nil && (fault.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.path)) {
			t.Errorf("%s: got %v, want %s naming %s", c.name, err, c.code, c.path)
		}
	}
}
