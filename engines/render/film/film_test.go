package film

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/picture"
)

// numbers are the frames from first to last.
func numbers(first, last int64) []int64 {
	var frames []int64
	for frame := first; frame <= last; frame++ {
		frames = append(frames, frame)
	}
	return frames
}

func TestChunks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		frames             int64
		frame, load        float64 // seconds
		chunks, first, end int     // how many, and the lengths of the first and the last
	}{
		{"cheap frames", 48, 0.5, 5, 1, 48, 48},
		{"worth two", 48, 0.97, 5, 2, 24, 24},
		{"many cheap frames", 120, 0.5, 5, 4, 30, 30},
		{"a second each", 101, 1, 0, 4, 25, 26},
		{"a minute in six", 48, 10, 2, 8, 6, 6},
		{"the last is not tiny", 13, 10, 2, 4, 3, 4},
		{"a minute each", 5, 60, 2, 5, 1, 1},
		{"an hour each", 3, 3600, 2, 3, 1, 1},
		{"a long load", 100, 10, 60, 2, 50, 50},
		{"a load that nothing outweighs", 100, 1, 3600, 2, 50, 50},
		{"unknown", 51, 0, 0, 2, 25, 26},
		{"not a number", 10, math.NaN(), 0, 1, 10, 10},
		{"never ends", 3, math.Inf(1), 0, 3, 1, 1},
		{"one", 1, 5, 5, 1, 1, 1},
		{"the longest", picture.MaxFrames, 600, 0, 2000, 50, 50},
	} {
		chunks := Chunks(numbers(1, c.frames), c.frame, c.load, 0)
		if len(chunks) != c.chunks || len(chunks[0]) != c.first || len(chunks[len(chunks)-1]) != c.end {
			t.Errorf("%s: got %d chunks of %d to %d frames, want %d of %d to %d", c.name, len(chunks), len(chunks[0]),
				len(chunks[len(chunks)-1]), c.chunks, c.first, c.end)
		}
	}
}

// TestChunksAreThoseOfBefore cuts frames as they were cut when less was known of them, but not into what takes too long.
func TestChunksAreThoseOfBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		frames int64
		frame  float64 // seconds
		before int
		chunks int
	}{
		{48, 10, 0, 8},
		{48, 10, 2, 2},
		{48, 10, 48, 48},
		{48, 100, 2, 48},          // 40 minutes each
		{48, 10, 49, 8},           // there are not so many frames
		{120, 0.5, 2, 4},          // 60 frames each
		{48, math.NaN(), 2, 1},    // nobody knows what they take
		{48, math.Inf(1), 48, 48}, // nor whether they end
	} {
		if got := len(Chunks(numbers(1, c.frames), c.frame, 2, c.before)); got != c.chunks {
			t.Errorf("%d frames of %g s that were in %d chunks: got %d, want %d", c.frames, c.frame, c.before, got, c.chunks)
		}
	}
}

// TestLikenessIsOfAllShards: shards of one job are alike whatever frames they have, and those of another size or number are not.
func TestLikenessIsOfAllShards(t *testing.T) {
	t.Parallel()
	const one = `{"frames":[1,2],"film":{"sheet":[1]},"picture":{"widthPixels":320},"frameLimitSeconds":9}`
	same := Likeness([]byte(one), 4)
	for params, want := range map[string]bool{
		`{"picture":{"widthPixels":320},"frames":[3,4],"film":{"sheet":[]},"frameLimitSeconds":1,"only":true}`: true,
		`{"picture":{"widthPixels":640},"frames":[1,2]}`:                                                       false,
	} {
		if got := Likeness([]byte(params), 4) == same; got != want {
			t.Errorf("%s: alike %t, want %t", params, got, want)
		}
	}
	if same == "" || Likeness([]byte(one), 5) == same || Likeness(nil, 4) != "" {
		t.Error("frames of another number are alike, or nothing is")
	}
}

// TestChunksHoldAllFrames cuts any list at any cost.
func TestChunksHoldAllFrames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		frames := numbers(1, rapid.Int64Range(1, 3000).Draw(t, "frames"))
		frame, load := rapid.Float64Range(0, 1e4).Draw(t, "frame"), rapid.Float64Range(0, 1e4).Draw(t, "load")
		chunks := Chunks(frames, frame, load, rapid.IntRange(0, 100).Draw(t, "before"))
		if all := slices.Concat(chunks...); !slices.Equal(all, frames) {
			t.Fatalf("%d chunks hold %v", len(chunks), all)
		}
		least, most := len(frames), 0
		for _, chunk := range chunks {
			least, most = min(least, len(chunk)), max(most, len(chunk))
		}
		if least < 1 || most > maxChunkFrames || most-least > 1 {
			t.Fatalf("chunks have %d to %d frames", least, most)
		}
		dealt := Deal(chunks)
		for i, chunk := range dealt {
			if len(chunk) < least || len(chunk) > most || chunk[0] != frames[i] || len(chunk) > 1 &&
				chunk[1] != frames[i+len(chunks)] {
				t.Fatalf("dealt out among %d, chunk %d holds %v", len(chunks), i, chunk)
			}
		}
		if all := slices.Sorted(slices.Values(slices.Concat(dealt...))); len(dealt) != len(chunks) || !slices.Equal(all, frames) {
			t.Fatalf("dealt out, %d chunks hold %v", len(dealt), all)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		frame        int64
		format, want string
	}{
		{7, picture.PNG, "frame_0007.png"}, {12345, picture.JPEG, "frame_12345.jpg"}, {-5, picture.EXR, "frame_-0005.exr"},
		{0, picture.PNG, "frame_0000.png"},
	} {
		if got := FrameFile(c.frame, c.format); got != c.want {
			t.Errorf("frame %d: got %s, want %s", c.frame, got, c.want)
		}
	}
	if got := ShardName(12); got != "frames-00012" {
		t.Errorf("got %s", got)
	}
}

func TestSheet(t *testing.T) {
	t.Parallel()
	few, many := Job{Frames: numbers(1, 48)}, Job{Frames: numbers(-1000, 99_000-1)}
	if got := few.sheet(); len(got) != 48 {
		t.Errorf("got %d frames of 48 on the sheet", len(got))
	}
	sheet := many.sheet()
	if len(sheet) != maxSheetFrames || sheet[0] != -1000 || sheet[len(sheet)-1] != 98_999 || !slices.IsSorted(sheet) {
		t.Errorf("got %v", sheet)
	}
	chunks := Chunks(many.Frames, 1, 0, 0)
	shown := 0
	for _, chunk := range chunks {
		shown += len(many.Making(chunk).Sheet)
	}
	if shown != maxSheetFrames {
		t.Errorf("the shards make %d thumbnails, want %d", shown, maxSheetFrames)
	}
	if got := (Job{Frames: numbers(3, 3)}).Making(numbers(3, 3)); len(got.Sheet) != 0 || got.Sheet == nil || got.Video != nil {
		t.Errorf("a still: got %+v, want an empty sheet and no film", got)
	}
}

func TestFinishShard(t *testing.T) {
	t.Parallel()
	job := Job{Title: "1CBS", Frames: append(numbers(-2, 5), 9, 11), Format: picture.PNG, Video: picture.MP4, FPS: 24,
		Pixels: 1920 * 1080}
	shard, err := job.FinishShard(Chunks(job.Frames, 15, 0, 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"frames-00000": "-2--1", "frames-00001": "0-2", "frames-00002": "3-4", "frames-00003": "5,9,11"}
	var params finishParams
	if err := json.Unmarshal(shard.Params, &params); err != nil || params.Title != job.Title || params.FPS != job.FPS ||
		params.Program != programFinish {
		t.Errorf("got %s, %v", shard.Params, err)
	}
	if !slices.Equal(slices.Collect(values(params.Chunks)), slices.Collect(values(want))) {
		t.Errorf("got the chunks %v, want %v", params.Chunks, want)
	}
	if len(shard.Inputs) != 3 || shard.Inputs[2].From.Output != "segment.mp4" || !shard.Essential || shard.Name != ShardFilm ||
		!IsFinish(shard) {
		t.Errorf("got %+v", shard)
	}
	job.Video = ""
	silent, err := job.FinishShard(Chunks(job.Frames, 15, 0, 0), 1)
	if err != nil || len(silent.Inputs) != 2 || silent.Needs.FileBytes >= shard.Needs.FileBytes ||
		!strings.Contains(string(silent.Params), `"video":null`) {
		t.Errorf("without a film: got %+v, %v", silent, err)
	}
	if _, err := (Job{Frames: []int64{2, 1}}).FinishShard([][]int64{{2, 2}}, 1); err == nil {
		t.Error("a frame may stand twice")
	}
}

// TestLargestFinish keeps the parameters of the last shard within their bound.
func TestLargestFinish(t *testing.T) {
	t.Parallel()
	job := Job{Title: strings.Repeat("x", 1000), Format: picture.EXR, FPS: 23.976, Video: picture.WebM,
		Pixels: picture.MaxEdgePixels * picture.MaxEdgePixels}
	for i := range int64(10_000) {
		job.Frames = append(job.Frames, 1_000_000_000+i*i*3) // whose text has some 64 KiB and more
	}
	shard, err := job.FinishShard(Chunks(job.Frames, 1e6, 0, 0), 2)
	if err != nil || len(shard.Params) > engines.MaxShardParamsBytes/2 {
		t.Errorf("got %d bytes, %v", len(shard.Params), err)
	}
	needs := shard.Needs
	if needs.MemoryBytes > 4*gibibyte || needs.FileBytes > 65*gibibyte || needs.TimeLimit <= 0 {
		t.Errorf("got %+v", needs)
	}
}

// values gives a map's values in the order of its keys.
func values(m map[string]string) func(func(string) bool) {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return func(yield func(string) bool) {
		for _, key := range keys {
			if !yield(key + "=" + m[key]) {
				return
			}
		}
	}
}
