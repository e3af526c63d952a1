package e2e

import (
	"bytes"
	"encoding/json"
	"image/png"
	"testing"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// TestPipelines simulates and draws what came of it, as one job each: a docking and a picture of its best pose, and a simulation
// and a film of it.
func TestPipelines(t *testing.T) {
	t.Parallel()
	s := start(t, "MOLFABRIC_PIPELINE=true")
	for name, test := range map[string]func(*chemist){"docking": testPipelineOfDocking, "dynamics": testPipelineOfDynamics,
		"cancelled": testCancelledPipeline} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(s.chemist(t))
		})
	}
}

// asPipeline is a simulation's request with a picture of what it finds.
func asPipeline(c *chemist, request any, resolution string, parameters map[string]string) map[string]any {
	c.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	members := decoded[map[string]any](c.t, text)
	members["jobType"], members["metadata"] = "pipeline", map[string]any{"resolution": resolution}
	if parameters != nil {
		members["parameters"] = parameters
	}
	return members
}

// made are the files of a job by name.
func (c *chemist) made(jobID string) map[string]contract.Output {
	c.t.Helper()
	outputs, err := c.api.AllOutputs(c.t.Context(), jobID)
	if err != nil {
		c.t.Fatal(err)
	}
	files := map[string]contract.Output{}
	for _, output := range outputs.Body.Outputs {
		files[output.Name] = output
	}
	return files
}

func testPipelineOfDocking(c *chemist) {
	scene, err := c.api.UploadFile(c.t.Context(), receptor(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	receipt, err := c.api.Submit(c.t.Context(), asPipeline(c, docking(scene.StorageKey, 1, "aspirin", "caffeine"), "160x90", nil),
		"")
	if err != nil {
		c.t.Fatal(err)
	}
	c.simulated(receipt.Body.JobID)
	files := c.made(receipt.Body.JobID)
	if frame := files["frame_0001.png"]; frame.Role != client.RoleFrame || frame.Frame == nil || *frame.Frame != 1 {
		c.t.Errorf("the picture is %+v, want frame 1", frame)
	}
	picture, err := png.DecodeConfig(bytes.NewReader(output(c.t, c.api, receipt.Body.JobID, "frame_0001.png")))
	if err != nil || picture.Width != 160 || picture.Height != 90 {
		c.t.Errorf("the picture has %d×%d pixels (%v), want 160×90", picture.Width, picture.Height, err)
	}
	if files["results.json"].Name == "" || files["best.pdb"].Name == "" {
		c.t.Errorf("the docking's own results are missing among %d files", len(files))
	}
	runs := read[struct {
		Runs []struct{ JobID, Status string }
	}](c, "/runs")
	if len(runs.Runs) != 1 || runs.Runs[0].JobID != receipt.Body.JobID || runs.Runs[0].Status != string(job.Completed) {
		c.t.Errorf("the docking is not kept as a run: %+v", runs)
	}
}

func testPipelineOfDynamics(c *chemist) {
	request := asPipeline(c, simulation(c.peptide(), 100, nil), "160x90", map[string]string{"Video": "mp4", "Frames": "1-3"})
	receipt, err := c.api.Submit(c.t.Context(), request, "")
	if err != nil {
		c.t.Fatal(err)
	}
	c.simulated(receipt.Body.JobID)
	files := c.made(receipt.Body.JobID)
	for _, name := range []string{"trajectory.dcd", "snapshots.pdb", "frame_0001.png", "frame_0003.png", "film.mp4", "frames.csv"} {
		if files[name].Name == "" {
			c.t.Errorf("%s is missing", name)
		}
	}
	if files["frame_0001.png"].SHA256 == files["frame_0003.png"].SHA256 {
		c.t.Error("the peptide does not move")
	}
	ended, err := c.api.Job(c.t.Context(), receipt.Body.JobID)
	if err != nil {
		c.t.Fatal(err)
	}
	if p := ended.Body.Progress; p.FramesDone == nil || *p.FramesDone != 3 || *p.FramesTotal != 3 {
		c.t.Errorf("got %+v, want 3 of 3 frames", p)
	}
}

// testCancelledPipeline cancels a pipeline while it simulates: nothing is drawn, and there is one bill.
func testCancelledPipeline(c *chemist) {
	request := asPipeline(c, simulation(c.peptide(), 1_000_000, nil), "160x90", nil)
	receipt, err := c.api.Submit(c.t.Context(), request, "")
	if err != nil {
		c.t.Fatal(err)
	}
	c.until("the simulation runs", receipt.Body.JobID, func(e client.Event) bool {
		return e.Kind == client.EventTask && bytes.Contains(e.Data, []byte(`"simulate"`)) &&
			bytes.Contains(e.Data, []byte(`"RUNNING"`))
	})
	if _, err := c.api.Cancel(c.t.Context(), receipt.Body.JobID, "enough"); err != nil {
		c.t.Fatal(err)
	}
	if ended := c.await(c.api, receipt.Body.JobID); ended.Status != job.Cancelled {
		c.t.Errorf("ended as %s: %+v", ended.Status, ended.Error)
	}
	chargedOnce(c.t, c.api, receipt.Body.JobID)
	if frame := c.made(receipt.Body.JobID)["frame_0001.png"]; frame.Name != "" {
		c.t.Error("a cancelled pipeline has drawn a picture")
	}
}
