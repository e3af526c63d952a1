package molstar

import (
	"math"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/picture"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

// threads are those of Mesa's software rasteriser and of the film's encoder: half a small worker.
const threads = 2

// Cost model, in seconds of one core. Measured with Chromium 156 and Mol* 5.11, outlines and ambient occlusion on, on a busy
// machine: 5 to 6 to start and to open a structure of 1,200 atoms, 6 more in the first frame for its shaders, then 0.46 a frame of
// 320x180, 4.4 of 1920x1080, 16 of 3840x2160, 80 of 7680x4320.
const (
	startCPUSeconds     = 12.0
	stillCPUSeconds     = 0.4
	cpuSecondsPerMPixel = 2.0
	// stateCPUSeconds is to make the geometry of another moment: 5 were measured of a protein with a surface, 1 is usual of a
	// cartoon.
	stateCPUSeconds = 3.0
)

// Caps of a render shard.
const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
	// baseBytes are of Chromium's processes, Python and a scene of some thousand atoms: 870 MB were measured.
	baseBytes = 1536 * mebibyte
	// bytesPerPixel are of Mol*'s drawing targets, which software keeps in memory, and of the copies on a picture's way to its
	// file. Beside the base 340 were measured of 1920x1080 (1.6 GB in all), 330 of 3840x2160 (3.6 GB) and 340 of 7680x4320 (12.2
	// GB).
	bytesPerPixel = 400
	// makingBaseBytes are of Python when the browser has ended and the film is made.
	makingBaseBytes = 256 * mebibyte
	// bytesPerSceneByte is what structures take once they are parsed and meshed.
	bytesPerSceneByte = 40
	maxSceneBytes     = 8 * gibibyte
	// sharedFileBytes bounds a file of Chromium's shared memory, through which pictures go; they lie in /tmp, which has no more.
	sharedFileBytes = gibibyte
	processes       = 600 // Chromium has 125 threads here, and more on machines of more cores
	maxLogBytes     = 4 * mebibyte
	// uncertainty is how many times less than modelCPUSeconds a frame may take.
	uncertainty = 4
	slowdown    = 20 // of a busy or old machine, and of a scene that is much larger than most
	leastTime   = 30 * time.Minute
	mostTime    = 7 * 24 * time.Hour
)

// loadCPUSeconds is what it takes to start and to open the scene.
func (q request) loadCPUSeconds() float64 {
	if q.rendered != nil {
		return q.rendered.LoadCPUSeconds
	}
	return startCPUSeconds
}

// frameCPUSeconds is what a frame takes: measured before, stated by the caller, or by its pixels. A statement may be below the
// guess by what the guess may be wrong by, and no more: a job is never charged more than was set aside for it.
func (q request) frameCPUSeconds() float64 {
	switch {
	case q.rendered != nil:
		return q.rendered.FrameAt(q.Job.Pixels, 0)
	case q.FrameSeconds > 0:
		return math.Max(q.FrameSeconds*threads, q.modelCPUSeconds()/uncertainty)
	}
	return q.modelCPUSeconds()
}

// modelCPUSeconds is what a frame takes by its pixels.
func (q request) modelCPUSeconds() float64 {
	seconds := stillCPUSeconds + cpuSecondsPerMPixel*float64(q.Job.Pixels)/1e6
	if q.line.Kind == picture.Timeline || q.line.Kind == picture.States {
		seconds += stateCPUSeconds
	}
	return seconds
}

func (q request) shardCPUSeconds(frames int) float64 {
	seconds := q.loadCPUSeconds() + float64(frames)*(q.frameCPUSeconds()+q.MakingCPUSeconds())
	return math.Max(math.Round(seconds*10)/10, 0.1)
}

// sceneBytes is the size of all that is drawn.
func (q request) sceneBytes() int64 {
	sum := q.scene.ByteSize
	for _, reference := range q.shown.References {
		sum += reference.Object.ByteSize
	}
	return sum
}

func (q request) renderNeeds(frames int, expected float64) engines.Resources {
	scene := min(bytesPerSceneByte*min(q.sceneBytes(), maxSceneBytes), maxSceneBytes)
	// What was measured may have been of smaller pictures, and what was stated a guess: neither may end a task early.
	patient := math.Max(expected, float64(frames)*q.modelCPUSeconds())
	drawing := baseBytes + bytesPerPixel*q.Job.Pixels + scene
	return engines.Resources{
		CPUs: threads, MemoryBytes: max(drawing, makingBaseBytes+q.MakingMemoryBytes()), ReservedBytes: viewer.ReservedBytes,
		Processes: processes,
		FileBytes: max(q.FrameBytes(), q.ShardBytes(frames)/2, sharedFileBytes), ScratchBytes: q.ShardBytes(frames),
		MaxLogBytes: maxLogBytes, TimeLimit: min(leastTime+time.Duration(math.Min(slowdown*patient,
			mostTime.Seconds()))*time.Second, mostTime),
	}
}
