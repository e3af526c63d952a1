package film

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/picture"
)

var words = python.Program{Name: "The synthetic renderer", Requirements: "nothing", LessMemory: "less"}

// rendering is a job that testdata/synthetic.py renders shard by shard.
type rendering struct {
	Job
	width, height int
	transparent   bool
	resumable     bool
	fail          []int64
	die           *int64 // frame before which the process ends
	folder        string
}

func (r rendering) dir(shard string) engines.Dir {
	return engines.Dir(filepath.Join(r.folder, shard))
}

func (r rendering) wanted(chunk []int64) Wanted {
	return Wanted{Frames: chunk, Format: r.Format, WidthPixels: r.width, HeightPixels: r.height, Film: r.Making(chunk),
		Only: len(chunk) == len(r.Frames)}
}

// render runs the shard of a chunk and returns its exit status and what it printed.
func (r rendering) render(t *testing.T, shard string, chunk []int64) (status int, printed string) {
	t.Helper()
	fail := r.fail
	if fail == nil {
		fail = []int64{}
	}
	request, err := json.Marshal(map[string]any{
		"frames": chunk, "film": r.Making(chunk), "resumable": r.resumable, "threads": 1, "fail": fail, "die": r.die,
		"picture": map[string]any{"widthPixels": r.width, "heightPixels": r.height, "format": r.Format,
			"transparent": r.transparent},
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := python.Lay(finishing.Sources...)
	if err != nil {
		t.Fatal(err)
	}
	if files[python.Folder+"/synthetic.py"], err = os.ReadFile("testdata/synthetic.py"); err != nil {
		t.Fatal(err)
	}
	files[python.RequestFile] = request
	return runIn(t, r.dir(shard), engines.Command{Argv: []string{"python", "-B", python.Folder + "/synthetic.py"}, Files: files})
}

// runIn lays a command's files and runs it in its directory.
func runIn(t *testing.T, dir engines.Dir, command engines.Command) (status int, printed string) {
	t.Helper()
	for _, program := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(program); err != nil {
			enginestest.Skip(t, "the program "+program+" is not installed")
		}
	}
	for name, content := range command.Files {
		writeFile(t, filepath.Join(string(dir), name), content)
	}
	process := exec.CommandContext(t.Context(), enginestest.Python(t), command.Argv[1:]...)
	process.Dir = string(dir)
	output, err := process.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return process.ProcessState.ExitCode(), string(output)
}

// finish stages what the shards have left, as the fabric would, and runs the last one.
func (r rendering) finish(t *testing.T, chunks [][]int64) (engines.Result, *engines.Failure) {
	t.Helper()
	shard, err := r.FinishShard(chunks, 1)
	if err != nil {
		t.Fatal(err)
	}
	dir := r.dir(shard.Name)
	for _, input := range shard.Inputs {
		for i := range chunks {
			content, err := os.ReadFile(r.dir(ShardName(i)).Out(input.From.Output))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			writeFile(t, filepath.Join(dir.In(input.Name), ShardName(i), input.From.Output), content)
		}
	}
	command, err := FinishCommand(shard)
	if err != nil {
		t.Fatal(err)
	}
	status, printed := runIn(t, dir, command)
	if status != 0 {
		failure := words.Explain(dir, status, printed)
		if failure == nil {
			t.Fatalf("the last shard ended with %d: %s", status, printed)
		}
		return engines.Result{}, failure
	}
	result, err := CollectFinish(words, shard, dir)
	if err != nil {
		t.Fatalf("CollectFinish: %v\n%s", err, printed)
	}
	return result, nil
}

// renderAll runs every shard and wants each to be collected.
func (r rendering) renderAll(t *testing.T, chunks [][]int64) []engines.Result {
	t.Helper()
	results := make([]engines.Result, len(chunks))
	for i, chunk := range chunks {
		status, printed := r.render(t, ShardName(i), chunk)
		if status != 0 {
			t.Fatalf("shard %d ended with %d: %s", i, status, printed)
		}
		var err error
		if results[i], err = CollectFrames(words, r.dir(ShardName(i)), r.wanted(chunk)); err != nil {
			t.Fatalf("shard %d: %v", i, err)
		}
	}
	return results
}

type stream struct {
	Codec  string            `json:"codec_name"`
	Width  int               `json:"width"`
	Height int               `json:"height"`
	Rate   string            `json:"avg_frame_rate"`
	Frames string            `json:"nb_read_frames"`
	Tags   map[string]string `json:"tags"`
}

func probed(t *testing.T, path string) stream {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_frames", "-show_streams", "-of", "json",
		path).Output()
	var found struct{ Streams []stream }
	if err != nil || json.Unmarshal(output, &found) != nil || len(found.Streams) != 1 {
		t.Fatalf("%s: %v %s", path, err, output)
	}
	return found.Streams[0]
}

// pixels decodes a film to red, green, blue and opacity.
func pixels(t *testing.T, path string, decoder ...string) []byte {
	t.Helper()
	arguments := append([]string{"-v", "error"}, decoder...)
	output, err := exec.CommandContext(t.Context(), "ffmpeg", append(arguments, "-i", path, "-f", "rawvideo", "-pix_fmt", "rgba",
		"-")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func TestFilm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		job           Job
		frameSeconds  float64
		width, height int
		transparent   bool
		want          stream
	}{
		{"mp4", Job{Frames: numbers(1, 23), Format: picture.PNG, Video: picture.MP4, FPS: 24}, 10, 160, 90, false,
			stream{Codec: "h264", Width: 160, Height: 90, Rate: "24/1", Frames: "23"}},
		{"odd edges, frames below zero", Job{Frames: numbers(-3, 4), Format: picture.JPEG, Video: picture.MP4, FPS: 23.976}, 30,
			161, 91, false, stream{Codec: "h264", Width: 162, Height: 92, Rate: "2997/125", Frames: "8"}},
		{"every fifth frame, one a shard", Job{Frames: []int64{5, 10, 15}, Format: picture.EXR, Video: picture.MP4, FPS: 0.5}, 60,
			160, 90, false, stream{Codec: "h264", Width: 160, Height: 90, Rate: "1/2", Frames: "3"}},
		{"larger than a film may be", Job{Frames: numbers(1, 2), Format: picture.PNG, Video: picture.MP4, FPS: 30}, 1, 4000, 16,
			false, stream{Codec: "h264", Width: 3840, Height: 16, Rate: "30/1", Frames: "2"}},
		{"transparent webm", Job{Frames: numbers(1, 7), Format: picture.PNG, Video: picture.WebM, FPS: 24}, 20, 160, 90, true,
			stream{Codec: "vp9", Width: 160, Height: 90, Rate: "24/1", Frames: "7"}},
		{"webm", Job{Frames: numbers(1, 4), Format: picture.PNG, Video: picture.WebM, FPS: 60}, 30, 160, 90, false,
			stream{Codec: "vp9", Width: 160, Height: 90, Rate: "60/1", Frames: "4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := rendering{Job: c.job, width: c.width, height: c.height, transparent: c.transparent, folder: t.TempDir()}
			r.Title, r.Pixels = "Synthetic: "+c.name, int64(c.width*c.height)
			if err := r.SetOrigin(Origin{Engine: "synthetic"}, engines.Object{StorageKey: "uploads/u/scene.mvsj", SHA256: "ab"},
				nil); err != nil {
				t.Fatal(err)
			}
			chunks := Chunks(r.Frames, c.frameSeconds, 0, 0)
			r.renderAll(t, chunks)
			result, failure := r.finish(t, chunks)
			if failure != nil || len(result.Failures) > 0 || len(result.Artifacts) != 5 {
				t.Fatalf("got %+v, %v", result, failure)
			}
			film := r.dir(ShardFilm).Out("film." + r.Video)
			got := probed(t, film)
			alpha := got.Tags["ALPHA_MODE"]+got.Tags["alpha_mode"] == "1"
			got.Tags = nil
			if fmt.Sprint(got) != fmt.Sprint(c.want) || alpha != c.transparent {
				t.Errorf("got %+v with alpha %v, want %+v with %v", got, alpha, c.want, c.transparent)
			}
			if c.width < 3840 {
				checkDiscs(t, film, r)
			}
			checkTable(t, r)
			checkProvenanceOf(t, r, result.Artifacts)
		})
	}
}

// checkDiscs wants every frame of the film to show its own disc, and the right ones to be seen through.
func checkDiscs(t *testing.T, film string, r rendering) {
	t.Helper()
	var decoder []string
	if r.transparent {
		decoder = []string{"-c:v", "libvpx-vp9"} // ffmpeg's own decoder leaves alpha out
	}
	width, height := r.width+r.width%2, r.height+r.height%2
	content := pixels(t, film, decoder...)
	if len(content) != 4*width*height*len(r.Frames) {
		t.Fatalf("got %d bytes of pixels", len(content))
	}
	for i, frame := range r.Frames {
		radius := r.height / 4
		x := (int(frame)*7%r.width+r.width)%r.width + radius
		if x >= r.width-2 {
			continue // the disc's middle lies outside
		}
		at := func(x, y int) []byte { return content[4*((i*height+y)*width+x):][:4] }
		if got := at(x, r.height/2); math.Abs(float64(got[0])-200) > 12 || math.Abs(float64(got[1])-30) > 12 ||
			math.Abs(float64(got[2])-60) > 12 || got[3] != 255 {
			t.Errorf("frame %d: the disc is %v, want 200 30 60", frame, got)
		}
		corner := at(0, 0)
		if r.transparent != (corner[3] < 10) || !r.transparent && corner[0] < 245 {
			t.Errorf("frame %d: the corner is %v", frame, corner)
		}
		if edge := at(width-1, height-1); !r.transparent && edge[0] < 245 {
			t.Errorf("frame %d: the last row that makes the film even is %v, want the paper", frame, edge)
		}
	}
}

func checkTable(t *testing.T, r rendering) {
	t.Helper()
	table, err := os.ReadFile(r.dir(ShardFilm).Out(tableFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	if lines[0] != "frame,file,seconds,cpu_seconds,byte_size,sha256,resumed,tries" || len(lines) != 1+len(r.Frames) {
		t.Fatalf("got %s", table)
	}
	for i, frame := range r.Frames {
		cells := strings.Split(lines[i+1], ",")
		if cells[0] != strconv.FormatInt(frame, 10) || cells[1] != FrameFile(frame, r.Format) || cells[2] != "0.1" ||
			cells[6] != "false" || cells[7] != "1" {
			t.Errorf("got %q for frame %d", lines[i+1], frame)
		}
	}
}

// checkProvenanceOf wants the last shard to say which programs have worked on what, and to be held to the digests that it states.
func checkProvenanceOf(t *testing.T, r rendering, artifacts []engines.Artifact) {
	t.Helper()
	var document struct {
		Schema, Engine string
		Programs       map[string]string
		Parameters     Parameters
		Inputs         struct{ Scene OriginFile }
		Outputs        []struct{ Name, SHA256 string }
	}
	content, err := os.ReadFile(r.dir(ShardFilm).Out(provenanceFile))
	if err != nil || json.Unmarshal(content, &document) != nil {
		t.Fatalf("%s: %v", provenanceFile, err)
	}
	if document.Engine != "synthetic" || document.Programs["synthetic"] != "1" || document.Programs["ffmpeg"] == "" ||
		document.Inputs.Scene.Name != "scene.mvsj" || *document.Parameters.Video != r.Video {
		t.Errorf("got %s", content)
	}
	if got := artifacts[len(artifacts)-1]; got.Name != provenanceFile || got.Role != engines.RoleProvenance ||
		len(document.Outputs) != len(artifacts)-1 {
		t.Errorf("got %d digests, and %+v as the last file", len(document.Outputs), got)
	}
	writeFile(t, r.dir(ShardFilm).Out(provenanceFile), bytes.Replace(content, []byte(document.Outputs[0].SHA256),
		[]byte(document.Outputs[1].SHA256), 1))
	var failure *engines.Failure
	if err := checkProvenance(words, r.dir(ShardFilm), artifacts); !errors.As(err, &failure) {
		t.Errorf("got %v of another digest, want a failure", err)
	}
}

// TestGap loses one shard's frames, and one frame of another shard: what is left is made, and the film says what it lacks.
func TestGap(t *testing.T) {
	t.Parallel()
	r := rendering{Job: Job{Title: "Gap", Frames: numbers(1, 9), Format: picture.PNG, Video: picture.MP4, FPS: 24,
		Pixels: 160 * 90}, width: 160, height: 90, fail: []int64{2}, folder: t.TempDir()}
	chunks := Chunks(r.Frames, 20, 0, 0)
	results := r.renderAll(t, chunks[:3])
	if got := results[0].Failures; len(got) != 1 || got[0].Item != "2" || got[0].Step != "render" {
		t.Errorf("got the failures %+v, want frame 2", got)
	}
	result, failure := r.finish(t, chunks)
	if failure != nil || len(result.Artifacts) != 3 || len(result.Failures) != 1 {
		t.Fatalf("got %+v, %v", result, failure)
	}
	if got := result.Failures[0]; got.Item != "film.mp4" || !strings.Contains(got.Message, "2, 7, 8, 9") {
		t.Errorf("got %+v, want the missing frames named", got)
	}
}

// TestNothing finishes a job of which no shard has succeeded.
func TestNothing(t *testing.T) {
	t.Parallel()
	r := rendering{Job: Job{Frames: numbers(1, 4), Format: picture.PNG, FPS: 24}, width: 160, height: 90, fail: []int64{1, 2},
		folder: t.TempDir()}
	status, printed := r.render(t, ShardName(0), numbers(1, 2))
	failure := words.Explain(r.dir(ShardName(0)), status, printed)
	if failure == nil || failure.Code != "IMAGE_BLANK" || len(failure.Items) != 2 ||
		!strings.Contains(failure.Message, "None of the 2 frames") {
		t.Errorf("got %+v", failure)
	}
	if err := os.RemoveAll(r.folder); err != nil {
		t.Fatal(err)
	}
	if _, failure := r.finish(t, [][]int64{numbers(1, 2), numbers(3, 4)}); failure == nil || failure.Code != "NO_FRAME" {
		t.Errorf("got %v, want NO_FRAME", failure)
	}
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
