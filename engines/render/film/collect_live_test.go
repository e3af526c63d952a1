package film

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/picture"
)

// TestResume ends an attempt in its middle, damages one of the frames that it has told of, and wants the next one to take the
// others over.
func TestResume(t *testing.T) {
	t.Parallel()
	for _, format := range []string{picture.PNG, picture.EXR} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			last := int64(6)
			r := rendering{Job: Job{Frames: numbers(1, 8), Format: format, Video: picture.MP4, FPS: 24}, width: 160, height: 90,
				resumable: true, die: &last, folder: t.TempDir()}
			status, printed := r.render(t, "first", r.Frames)
			if status != 137 {
				t.Fatalf("got the status %d: %s", status, printed)
			}
			told := map[string]bool{}
			for line := range strings.Lines(printed) {
				names, _ := python.Saving{}.Checkpoint(strings.TrimSpace(line))
				for _, name := range names {
					told[name] = true
					content, err := os.ReadFile(r.dir("first").Out(name))
					if err != nil {
						t.Fatal(err)
					}
					if name == "checkpoint/"+FrameFile(3, format) {
						content = content[:len(content)/2]
					}
					writeFile(t, r.dir("second").In(strings.Replace(name, "checkpoint/", "resume/", 1)), content)
				}
			}
			if !told["checkpoint/preview.jpg"] || !told["checkpoint/"+FrameFile(5, format)] {
				t.Errorf("told of %v", told)
			}
			r.die = nil
			if status, printed := r.render(t, "second", r.Frames); status != 0 {
				t.Fatalf("the second attempt ended with %d: %s", status, printed)
			}
			result, err := CollectFrames(words, r.dir("second"), r.wanted(r.Frames))
			if err != nil || !strings.Contains(string(result.Summary), `"framesResumed": 4`) {
				t.Errorf("got %s, %v; want 4 frames resumed", result.Summary, err)
			}
			if got := probed(t, r.dir("second").Out("segment.mp4")); got.Frames != "8" {
				t.Errorf("the segment has %s frames", got.Frames)
			}
		})
	}
}

// TestCollectRefuses damages what a finished shard has left.
func TestCollectRefuses(t *testing.T) {
	t.Parallel()
	r := rendering{Job: Job{Frames: numbers(1, 3), Format: picture.PNG, Video: picture.MP4, FPS: 24}, width: 160, height: 90,
		folder: t.TempDir()}
	whole := r.renderAll(t, [][]int64{r.Frames})[0]
	dir := r.dir(ShardName(0))
	if last := whole.Artifacts[len(whole.Artifacts)-1]; last.Name != "segment.mp4" || len(whole.Artifacts) != 7 ||
		*whole.Artifacts[2].Frame != 3 {
		t.Errorf("got %+v", whole.Artifacts)
	}
	for name, c := range map[string]struct {
		change func(*Wanted)
		part   string
	}{
		"another size":   {func(w *Wanted) { w.HeightPixels = 91 }, "160x90 pixels, want 160x91"},
		"another frame":  {func(w *Wanted) { w.Frames = numbers(2, 4) }, "frame 4 is neither there nor failed"},
		"fewer frames":   {func(w *Wanted) { w.Frames = numbers(1, 2) }, "not the frames"},
		"another format": {func(w *Wanted) { w.Format = picture.JPEG }, "different digests"},
		"another film":   {func(w *Wanted) { video := picture.WebM; w.Film.Video = &video }, "segment.webm is missing"},
	} {
		want := r.wanted(slices.Clone(r.Frames))
		c.change(&want)
		var failure *engines.Failure
		if _, err := CollectFrames(words, dir, want); !errors.As(err, &failure) || !strings.Contains(failure.Message, c.part) {
			t.Errorf("%s: got %v, want a failure with %q", name, err, c.part)
		}
	}
}

func TestCheckFrame(t *testing.T) {
	t.Parallel()
	r := rendering{Job: Job{Frames: numbers(1, 1), Format: picture.JPEG, FPS: 24}, width: 64, height: 64, folder: t.TempDir()}
	result := r.renderAll(t, [][]int64{r.Frames})[0]
	jpeg, err := os.ReadFile(r.dir(ShardName(0)).Out(result.Artifacts[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	if only := result.Artifacts[2]; only.Name != framesFile || only.Role != engines.RoleResult || len(result.Artifacts) != 3 {
		t.Errorf("a still: got %+v", result.Artifacts)
	}
	for name, c := range map[string]struct {
		format  string
		content []byte
		part    string
	}{
		"cut off":        {picture.JPEG, jpeg[:len(jpeg)-1], "cut off"},
		"empty":          {picture.JPEG, nil, "no JPEG"},
		"JPEG as PNG":    {picture.PNG, jpeg, "no PNG"},
		"JPEG as EXR":    {picture.EXR, jpeg, "no EXR"},
		"empty EXR":      {picture.EXR, nil, "no EXR"},
		"PNG of a sheet": {picture.PNG, []byte("\x89PNG\r\n\x1a\n"), "no PNG"},
	} {
		path := filepath.Join(r.folder, name)
		writeFile(t, path, c.content)
		if err := checkFrame(path, Wanted{Format: c.format}); err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.part)
		}
	}
}
