package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/molfabric/molfabric/internal/job"
)

// TestPocketsBecomeABox finds the pockets of ABL1 and docks into the best one with the box that comes with it, unchanged.
func TestPocketsBecomeABox(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.user()
	scene, err := c.UploadFile(t.Context(), receptor(t))
	if err != nil {
		t.Fatal(err)
	}
	search := fmt.Sprintf(`{"jobType":"simulation","simulator":"fpocket","sceneFile":%q,"simulationParams":{"maxPockets":3}}`,
		scene.StorageKey)
	receipt, err := c.Submit(t.Context(), json.RawMessage(search), "")
	if err != nil {
		t.Fatal(err)
	}
	if ended := s.await(c, receipt.Body.JobID); ended.Status != job.Completed {
		t.Fatalf("the search ended as %s: %v", ended.Status, ended.Error)
	}
	var found struct {
		Pockets []struct {
			DockingBox map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(output(t, c, receipt.Body.JobID, "pockets.json"), &found); err != nil || len(found.Pockets) == 0 {
		t.Fatalf("%d pockets (%v)", len(found.Pockets), err)
	}
	box := found.Pockets[0].DockingBox
	dock := fmt.Sprintf(`{"jobType":"simulation","simulator":"autodock-vina","sceneFile":%q,"simulationParams":{
		"ligandIdentity":{"ligandId":"a","label":"aspirin","source":{"kind":"smiles","smiles":%q}},
		"boxCenterAngstrom":%s,"boxSizeAngstrom":%s,"exhaustiveness":1,"seed":7}}`,
		scene.StorageKey, smiles["aspirin"], box["boxCenterAngstrom"], box["boxSizeAngstrom"])
	receipt, err = c.Submit(t.Context(), json.RawMessage(dock), "")
	if err != nil {
		t.Fatalf("the box %s: %v", box, err)
	}
	if ended := s.await(c, receipt.Body.JobID); ended.Status != job.Completed {
		t.Errorf("the docking ended as %s: %v", ended.Status, ended.Error)
	}
}
