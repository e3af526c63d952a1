// Package film holds what both tiers of rendering do with frames: how a job's frames are cut into shards, what a shard leaves, and
// the shard that ends the job with contact sheet, table and film. The work on pixels is in Python: film.py within each render
// shard, finish.py at the end.
package film

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/molfabric/molfabric/engines/render/picture"
	"github.com/molfabric/molfabric/internal/frames"
)

// Programs are the Python files.
//
//go:embed *.py
var Programs embed.FS

// Stages of every job that renders, and the one shard of the last.
const (
	StageRender = "render"
	StageFinish = "finish"
	ShardFilm   = "film"
)

// Bounds of a shard's frames.
const (
	// ChunkSeconds of rendering make a shard: long against its start, short against what a lost worker costs.
	ChunkSeconds = 60.0
	// maxLoadShare of a shard's work may go into opening the scene, where enough frames can stand against it.
	maxLoadShare = 0.1
	// leastChunkSeconds and leastChunkLoads are what half of a job must take to be worth a shard of its own.
	leastChunkSeconds = 15
	leastChunkLoads   = 4
	// evenChunks is the number from which one more or less makes no difference to the end of a job.
	evenChunks = 16
	// maxKeptSeconds bounds a shard that is cut as it was before, whose frames were then guessed to take less.
	maxKeptSeconds = 900
	// maxChunkFrames keeps progress and previews of cheap frames coming, and a shard's outputs few.
	maxChunkFrames = 50
	// maxChunks bounds what the last shard joins: three files of each. The longest animation fits in full chunks.
	maxChunks = picture.MaxFrames / maxChunkFrames
	// maxSheetFrames are on a contact sheet: as many as can be told apart on a page.
	maxSheetFrames = 120
)

// Chunks cuts frames into shards of about a minute of rendering, and of more where opening the scene would take a large part of it;
// none has more than 50 frames, and their lengths differ by one at most. What is worth it is cut in two at least, and few shards
// are an even number of them, so that a small machine has work for all of its cores to the end. frameSeconds is what a frame takes,
// loadSeconds what opening the scene takes; where they are not known they are 0. before is into how many shards frames of the same
// Likeness were cut the last time, 0 where there were none: as long as that is sensible they are cut so again, because by then it
// is known better what they take, and of other chunks nothing that was rendered before would be known.
func Chunks(frames []int64, frameSeconds, loadSeconds float64, before int) [][]int64 {
	if before > 0 && before <= min(len(frames), maxChunks) && len(frames) <= before*maxChunkFrames &&
		frameSeconds*float64(len(frames)) <= maxKeptSeconds*float64(before) {
		return cut(frames, before)
	}
	enough := math.Max(ChunkSeconds, loadSeconds*(1/maxLoadShare-1))
	size := maxChunkFrames
	if most := math.Ceil(enough / frameSeconds); most < maxChunkFrames { // false of NaN and infinity
		size = max(int(most), 1)
	}
	size = max(size, (len(frames)+maxChunks-1)/maxChunks)
	count := (len(frames) + size - 1) / size
	if whole := frameSeconds * float64(len(frames)); count == 1 && len(frames) > 1 &&
		whole >= 2*math.Max(leastChunkSeconds, leastChunkLoads*loadSeconds) {
		count = 2
	}
	if count > 1 && count%2 == 1 && count < len(frames) && count < evenChunks {
		count++
	}
	return cut(frames, count)
}

// cut cuts frames into a number of chunks whose lengths differ by one at most.
func cut(frames []int64, count int) [][]int64 {
	chunks := make([][]int64, count)
	for i := range chunks {
		chunks[i] = frames[i*len(frames)/count : (i+1)*len(frames)/count]
	}
	return chunks
}

// ownParams are those of a render shard that are its own, or change nothing of what its frames look like.
var ownParams = []string{"frames", "film", "only", "provenance", "frameLimitSeconds"}

// Likeness names what the render shards of a job have in common: what is rendered, how, and how many frames in all. params are
// those of one of them, whichever; "" where they cannot be read.
func Likeness(params json.RawMessage, frames int) string {
	var common map[string]json.RawMessage
	if json.Unmarshal(params, &common) != nil {
		return ""
	}
	for _, name := range ownParams {
		delete(common, name)
	}
	text, err := json.Marshal(common) // in the order of names
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d %s", frames, text)))
}

// Deal deals the frames of chunks out anew, like cards: each gets every n-th of n. What a frame costs changes slowly from one to
// the next, so such chunks take the same time, and none leaves others' cores without work at the end of a job. A film needs chunks
// of consecutive frames instead.
func Deal(chunks [][]int64) [][]int64 {
	dealt := make([][]int64, len(chunks))
	for i, frame := range slices.Concat(chunks...) {
		dealt[i%len(chunks)] = append(dealt[i%len(chunks)], frame)
	}
	return dealt
}

// ShardName is that of the render shard of a chunk, by its place from 0.
func ShardName(chunk int) string { return fmt.Sprintf("frames-%05d", chunk) }

// extensions of a frame's file by its format.
var extensions = map[string]string{picture.PNG: ".png", picture.JPEG: ".jpg", picture.EXR: ".exr"}

// FrameFile is the name of a frame's file: "frame_0007.png". A negative number keeps its sign before the zeros.
func FrameFile(frame int64, format string) string {
	sign := ""
	if frame < 0 {
		sign, frame = "-", -frame
	}
	return fmt.Sprintf("frame_%s%04d%s", sign, frame, extensions[format])
}

// Job is what the frames of a job become together.
type Job struct {
	Title  string  // for people, on the contact sheet
	Frames []int64 // ascending
	Format string  // of the frames
	Video  string  // picture.MP4, picture.WebM, or "" for no film
	FPS    float64
	Pixels int64 // of a frame

	origin *Origin // nil: nobody asks where its pictures come from
}

// Making is the member "film" of a render shard's request: what film.py makes beside the frames.
type Making struct {
	Video *string `json:"video"`
	FPS   float64 `json:"fps"`
	Sheet []int64 `json:"sheet"` // frames of the shard that the contact sheet shows
}

// Making tells the shard of a chunk what to make. A job of one frame has no contact sheet.
func (j Job) Making(chunk []int64) Making {
	shown := j.sheet()
	if len(j.Frames) == 1 {
		shown = nil
	}
	return Making{Video: j.video(), FPS: j.FPS, Sheet: slices.DeleteFunc(slices.Clone(chunk), func(frame int64) bool {
		_, found := slices.BinarySearch(shown, frame)
		return !found
	})}
}

// video is nil for none.
func (j Job) video() *string {
	if j.Video == "" {
		return nil
	}
	return &j.Video
}

// sheet are the frames on the contact sheet: all, or as many as it holds from the first to the last.
func (j Job) sheet() []int64 {
	count := len(j.Frames)
	if count <= maxSheetFrames {
		return j.Frames
	}
	shown := make([]int64, maxSheetFrames)
	for i := range shown {
		shown[i] = j.Frames[i*(count-1)/(maxSheetFrames-1)]
	}
	return shown
}

// expression writes ascending frames as ranges.
func expression(numbers []int64) (string, error) {
	ranges := make([]frames.Range, len(numbers))
	for i, number := range numbers {
		ranges[i] = frames.Range{First: number, Last: number, Step: 1}
	}
	merged, err := frames.Merge(ranges)
	if err != nil {
		return "", fmt.Errorf("film: frames are not ascending: %w", err)
	}
	return frames.Format(merged), nil
}

// chunkTexts keeps the order of the shards, which their names have too, as an object whose values are expressions.
func chunkTexts(chunks [][]int64) (map[string]string, error) {
	texts := make(map[string]string, len(chunks))
	for i, chunk := range chunks {
		text, err := expression(chunk)
		if err != nil {
			return nil, err
		}
		texts[ShardName(i)] = text
	}
	return texts, nil
}
