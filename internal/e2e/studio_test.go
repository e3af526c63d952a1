package e2e

import (
	"image"
	_ "image/png" // what previews and pictures are
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

// retinoid is CRABP II with retinoic acid (PDB entry 1CBS).
const retinoid = "../../engines/enginestest/samples/1cbs.cif.gz"

// TestStudioWithTheCommandLine talks about a structure until there are a scene, a small picture and one for publication, and opens
// the scene again.
func TestStudioWithTheCommandLine(t *testing.T) {
	t.Parallel()
	needRenderers(t)
	sh := start(t).signIn()
	structure, err := filepath.Abs(retinoid)
	if err != nil {
		t.Fatal(err)
	}
	said, _ := sh.want(0, "", "studio", structure,
		"show the ligand as sticks and its pocket within 5 Å, label the hydrogen bonds", "white background",
		"-o", "site.mvsx", "--render", "site.png", "--size", small, "--yes")
	sh.contains(said, "20 residues", "TYR134", "ARG132", "Wrote site.mvsx", "expected to cost", "Bill")
	if picture := sh.picture("site.png"); picture.Bounds().Dx() != widthPixels || picture.Bounds().Dy() != heightPixels {
		t.Errorf("the picture has %v, want %s", picture.Bounds(), small)
	}

	again, _ := sh.want(0, "", "studio", "site.mvsx", "which ligands are there?", "-o", "again.mvsx")
	sh.contains(again, "REA")
	first, second := sh.file("site.mvsx"), sh.file("again.mvsx")
	if first != second {
		t.Errorf("the scene that was opened again has %d bytes, %d before, or others", len(second), len(first))
	}

	asked, _ := sh.want(1, "", "studio", structure, "show residue 4711 as sticks", "-o", "never.mvsx")
	sh.contains(asked, "4711", "1-137")
	if _, err := os.Stat(filepath.Join(sh.dir, "never.mvsx")); err == nil {
		t.Error("a scene was written though a sentence was not carried out")
	}
	talk, _ := sh.want(0, "hide the waters\ncolour it by element\nundo\nquit\n", "studio", structure)
	sh.contains(talk, "Hidden: water", "Undone.")
	dry := reads[contract.StudioTurn](sh, "studio", structure, "surface on the protein", "--dry-run")
	if !dry.DryRun || !dry.Changed || len(dry.Operations) != 1 || dry.Operations[0].Op != "surface" {
		t.Errorf("the dry run: %+v", dry.StudioMessage)
	}
}

func (sh *shell) file(name string) string {
	sh.t.Helper()
	content, err := os.ReadFile(filepath.Join(sh.dir, name))
	if err != nil {
		sh.t.Fatal(err)
	}
	return string(content)
}

// picture reads a picture that is not all of one colour.
func (sh *shell) picture(name string) image.Image {
	sh.t.Helper()
	picture, _, err := image.Decode(strings.NewReader(sh.file(name)))
	if err != nil {
		sh.t.Fatalf("%s: %v", name, err)
	}
	bounds := picture.Bounds()
	corner := picture.At(bounds.Min.X, bounds.Min.Y)
	for x := bounds.Min.X; x < bounds.Max.X; x++ {
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			if picture.At(x, y) != corner {
				return picture
			}
		}
	}
	sh.t.Errorf("%s is blank", name)
	return picture
}

// figure draws a run's best pose with its contacts in one call.
func (sh *shell) figure(run contract.DockingRun) {
	sh.t.Helper()
	said, _ := sh.want(0, "", "studio", run.RunID, "show the contacts of the ligand", "-o", "pose.mvsx")
	sh.contains(said, "Contacts of", "Wrote pose.mvsx")
	best := reads[contract.DockingResultList](sh, "results", run.RunID, "--limit", "1").Results[0]
	poses := reads[contract.DockingPoseList](sh, "poses", best.ResultID)
	last := poses.Poses[len(poses.Poses)-1]
	receipt, err := sh.api().RenderStudio(sh.t.Context(), contract.StudioRenderRequest{
		StudioSubject: contract.StudioSubject{PoseID: last.PoseID}, Resolution: small})
	if err != nil {
		sh.t.Fatal(err)
	}
	sh.want(0, "", "watch", receipt.Body.JobID)
	sh.want(0, "", "outputs", receipt.Body.JobID, "-o", "figure")
	pictures, err := filepath.Glob(filepath.Join(sh.dir, "figure", "*.png"))
	if err != nil || len(pictures) == 0 {
		sh.t.Fatalf("no figure of pose %s came: %v, %v", last.PoseID, pictures, err)
	}
	sh.picture(filepath.Join("figure", filepath.Base(pictures[0])))
}
