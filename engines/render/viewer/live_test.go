package viewer_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

const (
	peptide = "testdata/peptide-with-atp.pdb" // chain I of PDB entry 1ATP with its ATP and manganese
	ethanol = "testdata/ethanol.sdf"
	width   = 320
	height  = 180
)

// job is what a task is asked for; the zero value of a member is the usual.
type job struct {
	program    string // render.py
	scene      string // text of the scene, or the path of a structure
	format     string // mvsj
	references map[string]string
	frames     []int // 1
	kind       string
	length     int
	background any
	depthCue   any
}

// interpreter is the scientific Python, with the page built below it.
func interpreter(t *testing.T) string {
	t.Helper()
	python := enginestest.Python(t)
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(python)), viewer.PageFolder, "viewer.js")); err != nil {
		enginestest.Skip(t, "build the viewer's page (engines/render/viewer/build.sh) into the scientific Python's "+
			viewer.PageFolder)
	}
	return python
}

// folderOf is a task's folder. Its path is short, because Chromium opens a socket below it.
func folderOf(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "v-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func (j job) request(t *testing.T, folder string) {
	t.Helper()
	scene := map[string]any{"file": "in/scene", "format": j.format, "references": map[string]string{}}
	if j.format == "" {
		scene["format"] = "mvsj"
		put(t, filepath.Join(folder, "in", "scene"), []byte(j.scene))
	} else {
		put(t, filepath.Join(folder, "in", "scene"), contentOf(t, j.scene))
	}
	for reference, path := range j.references {
		name := fmt.Sprintf("in/assets/%05d", len(scene["references"].(map[string]string)))
		scene["references"].(map[string]string)[reference] = name
		put(t, filepath.Join(folder, filepath.FromSlash(name)), contentOf(t, path))
	}
	frames := j.frames
	if frames == nil {
		frames = []int{1}
	}
	document, err := json.Marshal(map[string]any{
		"program": j.program, "scene": scene, "frames": frames, "resumable": false, "threads": 2,
		"animation": map[string]any{"kind": cmp.Or(j.kind, "none"), "frames": max(j.length, 1), "fps": 10},
		"picture": map[string]any{
			"widthPixels": width, "heightPixels": height, "format": "PNG", "transparent": false, "background": j.background,
			"outline": nil, "ambientOcclusion": false, "depthCue": j.depthCue,
		},
		"film": map[string]any{"video": nil, "fps": 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(folder, "request.json"), document)
}

// run performs a job and returns its folder, and the failure that it has left; nil when it ended well.
func (j job) run(t *testing.T) (string, map[string]any) {
	t.Helper()
	python, folder := interpreter(t), folderOf(t)
	j.program = cmp.Or(j.program, "render.py")
	j.request(t, folder)
	home := "."
	if j.program == "render.py" {
		home = "../../molstar/programs"
	}
	path, err := filepath.Abs(filepath.Join(home, j.program))
	if err != nil {
		t.Fatal(err)
	}
	output, err := command(t, python, folder, path).CombinedOutput()
	if err == nil {
		return folder, nil
	}
	var failure map[string]any
	content, readErr := os.ReadFile(filepath.Join(folder, "out", "failure.json"))
	if readErr != nil || json.Unmarshal(content, &failure) != nil {
		t.Fatalf("%s: %v: %s", j.program, err, output)
	}
	return folder, failure
}

// command is a Python program that finds the viewer's and the film's modules, in a task's folder.
func command(t *testing.T, python, folder string, arguments ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), python, append([]string{"-B"}, arguments...)...)
	c.Dir = folder
	c.Env = append(enginestest.ProgramPath(t, ".", "../film", "../../molstar/programs"), "TMPDIR="+folder)
	return c
}

// rendered performs a job that must end well, and returns the picture of a frame.
func (j job) rendered(t *testing.T, frame int) image.Image {
	t.Helper()
	folder, failure := j.run(t)
	if failure != nil {
		t.Fatalf("the job failed: %v", failure)
	}
	return pictureOf(t, folder, frame)
}

func pictureOf(t *testing.T, folder string, frame int) image.Image {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(contentOf(t, filepath.Join(folder, "out", fmt.Sprintf("frame_%04d.png", frame)))))
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size != image.Pt(width, height) {
		t.Errorf("frame %d is %v; want %d × %d", frame, size, width, height)
	}
	return picture
}

// covered is the share of a picture's pixels that are unlike its upper left corner.
func covered(picture image.Image) float64 {
	corner, count := picture.At(0, 0), 0
	for y := range height {
		for x := range width {
			if picture.At(x, y) != corner {
				count++
			}
		}
	}
	return float64(count) / (width * height)
}

func alike(one, other image.Image) bool {
	for y := range height {
		for x := range width {
			if one.At(x, y) != other.At(x, y) {
				return false
			}
		}
	}
	return true
}

// modelOf is the geometry in a stage, and its description.
func modelOf(t *testing.T, folder string) (gltf map[string]any, files map[string][]byte, stage map[string]any) {
	t.Helper()
	archive, files := tar.NewReader(bytes.NewReader(contentOf(t, filepath.Join(folder, "out", "stage.tar")))), map[string][]byte{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(files["stage.json"], &stage); err != nil {
		t.Fatal(err)
	}
	glb := files["model-0.glb"]
	if len(glb) < 20 || string(glb[:4]) != "glTF" {
		t.Fatalf("the model is no glTF: %d bytes", len(glb))
	}
	if err := json.Unmarshal(glb[20:20+binary.LittleEndian.Uint32(glb[12:])], &gltf); err != nil {
		t.Fatal(err)
	}
	return gltf, files, stage
}

// listener counts the connections that anybody makes to it.
func listener(t *testing.T) (address string, count *atomic.Int64) {
	t.Helper()
	listening, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count = &atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			connection, err := listening.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			_ = connection.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listening.Close()
		<-done
	})
	return listening.Addr().String(), count
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
