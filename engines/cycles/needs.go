package cycles

import (
	"math"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

// threads are those of Cycles and of the film's encoder: half a small worker.
const threads = 2

// Cost model, in seconds of one core, measured with Blender 4.5.15: opening a small scene 0.8 s, of which Blender's own start is
// most; a cube at 1280x720 and 64 samples 27 s, 0.46 millionths a sample; denoising 11 s at 1280x720, 24 s at 1920x1080 and 109 s
// at 3840x2160. Real scenes are rarely so simple: molecules cost twice as much, and artists' interiors several times.
const (
	loadCPUSeconds           = 1.5
	loadCPUSecondsPerMB      = 0.05
	frameCPUSeconds          = 0.1
	moleculeCPUPerSample     = 8e-7
	blendCPUPerSample        = 2e-6
	denoiseCPUSecondsPerPix  = 1.2e-5
	gpuSpeed                 = 25 // times one core
	assumedSamples           = 256
	moleculeUncertainty      = 4
	blendUncertainty         = 20
	unknownChunks            = 8
	viewerCPUSeconds         = 12.0 // to start Chromium and open a scene
	viewerCPUSecondsPerState = 1.0
	checkCPUSeconds          = 2.0
	openLimit                = 30 * time.Minute
)

// Caps. A cube took 290 MB, at 1280x720 410 MB, with denoising 1,130 MB, 2,030 MB at
// 1920x1080 and 4,390 MB at 3840x2160.
const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
	// baseBytes are of Blender and a scene of a million polygons.
	baseBytes            = 2 * gibibyte
	bytesPerPixel        = 300 // of the passes, and of the copies on a picture's way to its file
	denoiseBytesPerPixel = 900
	maxDenoiseBytes      = 3 * gibibyte // larger pictures are denoised in tiles
	// bytesPerSceneByte is what compressed scenes and pictures become in memory.
	bytesPerSceneByte = 12
	leastFileBytes    = 64 * mebibyte // of reports, and of what libraries keep beside a small frame
	maxSceneBytes     = 64 * gibibyte
	checkBytes        = 2 * gibibyte
	viewerBytes       = 3 * gibibyte
	viewerSceneBytes  = 40  // of memory for a byte of the scene
	viewerPixelBytes  = 160 // of memory
	stageBytes        = 16 * gibibyte
	processes         = 256 // two Pythons, and Blender's threads: of tasks, image loading and denoising
	viewerProcesses   = 600 // Chromium has some 150 threads, and more while it starts
	maxLogBytes       = 4 * mebibyte
	gpuBytes          = 4 * gibibyte
	gpuBytesPerPixel  = 400
	// slowdown is of a busy or old machine, and of a scene that is much heavier than most.
	slowdown       = 20
	leastTime      = 30 * time.Minute
	mostTime       = 7 * 24 * time.Hour
	leastFrameTime = 20 * time.Minute
	mostFrameTime  = 24 * time.Hour
	viewerTime     = time.Hour
)

// sceneBytes is the size of all that is rendered.
func (q request) sceneBytes() int64 {
	sum := q.scene.ByteSize
	for _, reference := range q.shown.References {
		sum += reference.Object.ByteSize
	}
	for _, file := range q.project {
		sum += file.object.ByteSize
	}
	return min(max(sum, 0), maxSceneBytes)
}

// loadCPUSeconds is what it takes to start Blender and to open the scene.
func (q request) loadCPUSeconds() float64 {
	if q.rendered != nil {
		return q.rendered.LoadCPUSeconds
	}
	return loadCPUSeconds + loadCPUSecondsPerMB*float64(q.sceneBytes())/1e6
}

// size is a frame's, to be held against one that was measured. What the request leaves to its scene is as it was measured then,
// unless that request had stated something else: then it is guessed, as if nothing had been measured.
func (q request) size(measured engines.RenderCost) (pixels, samples int64) {
	pixels, samples = q.Job.Pixels, int64(q.Samples)
	if q.WidthPixels == 0 && !measured.Stated {
		pixels = 0
	}
	if q.Samples == 0 && measured.Stated {
		samples = assumedSamples
	}
	return pixels, samples
}

// frameCPUSeconds is what a frame takes on processors: measured before, stated by the caller, or by its pixels and samples. Who
// states a time may be right about his scene, but not by more than the guess may be wrong: a job is never charged more than was set
// aside for it, so a statement without bounds would be a price.
func (q request) frameCPUSeconds() float64 {
	switch {
	case q.rendered != nil:
		return q.rendered.FrameAt(q.size(*q.rendered))
	case q.FrameSeconds > 0:
		return math.Max(q.FrameSeconds*threads, q.modelCPUSeconds()/q.uncertainty())
	}
	return q.modelCPUSeconds()
}

// uncertainty is how many times less than modelCPUSeconds a frame may take.
func (q request) uncertainty() float64 {
	if q.molecular {
		return moleculeUncertainty
	}
	return blendUncertainty
}

// modelCPUSeconds is what a frame takes by its pixels and samples.
func (q request) modelCPUSeconds() float64 {
	samples, each := float64(q.Samples), blendCPUPerSample
	if q.Samples == 0 {
		samples = assumedSamples
	}
	if q.molecular {
		each = moleculeCPUPerSample
	}
	seconds := frameCPUSeconds + each*samples*float64(q.Job.Pixels)
	if q.denoises() {
		seconds += denoiseCPUSecondsPerPix * float64(q.Job.Pixels)
	}
	return seconds
}

// denoises reports whether frames may be denoised: an artist's scene decides for itself, and most do.
func (q request) denoises() bool { return q.denoise == nil && !q.molecular || q.Denoise }

// frameGPUSeconds is what a frame takes on a device.
func (q request) frameGPUSeconds() float64 {
	if q.rendered == nil && q.FrameSeconds > 0 {
		return math.Max(q.FrameSeconds, q.modelCPUSeconds()/gpuSpeed/q.uncertainty())
	}
	return q.frameCPUSeconds() / gpuSpeed
}

// frameSeconds is the expected wall time of a frame.
func (q request) frameSeconds() float64 {
	if q.GPU() {
		return q.frameGPUSeconds()
	}
	return q.frameCPUSeconds() / threads
}

// chunkFrameSeconds is what frames are cut into chunks by. Nobody knows what an artist's scene takes that was never rendered: then
// it is cut into few chunks, because a guess that is too high would open the scene for each frame.
func (q request) chunkFrameSeconds() float64 {
	if q.molecular || q.rendered != nil || q.FrameSeconds > 0 {
		return q.frameSeconds()
	}
	return math.Min(q.frameSeconds(), unknownChunks*film.ChunkSeconds/float64(len(q.Frames)))
}

// shardSeconds are the expected processor and device seconds of a shard. What feeds a device keeps a core busy.
func (q request) shardSeconds(count int) (cpu, gpu float64) {
	cpu, gpu = q.frameCPUSeconds(), 0
	if q.GPU() {
		gpu = round(float64(count)*q.frameGPUSeconds() + q.loadCPUSeconds())
		cpu = q.frameGPUSeconds()
	}
	return round(q.loadCPUSeconds() + float64(count)*(cpu+q.MakingCPUSeconds())), gpu
}

// frameLimit is when a frame is taken for hung.
func (q request) frameLimit() time.Duration {
	return limited(slowdown*q.frameSeconds(), leastFrameTime, mostFrameTime)
}

func (q request) renderNeeds(count int) engines.Resources {
	pixels := q.Job.Pixels
	memory := baseBytes + bytesPerPixel*pixels + min(bytesPerSceneByte*q.sceneBytes(), maxSceneBytes) + q.MakingMemoryBytes()
	if q.denoises() {
		memory += min(denoiseBytesPerPixel*pixels, maxDenoiseBytes)
	}
	// Two frames may hang, and the rest still has its time.
	work := slowdown*(q.loadCPUSeconds()+float64(count)*(q.frameSeconds()+q.MakingCPUSeconds())) + 2*q.frameLimit().Seconds()
	needs := engines.Resources{
		CPUs: threads, MemoryBytes: memory, Processes: processes, FileBytes: max(q.FrameBytes(), q.ShardBytes(count)/2,
			leastFileBytes), ScratchBytes: q.ShardBytes(count),
		MaxLogBytes: maxLogBytes, TimeLimit: limited(leastTime.Seconds()+work, leastTime, mostTime),
	}
	if q.GPU() {
		needs.GPUs, needs.GPUMemoryBytes = 1, gpuBytes+gpuBytesPerPixel*pixels+min(bytesPerSceneByte*q.sceneBytes(), maxSceneBytes)
	}
	return needs
}

func (q request) checkNeeds() engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: checkBytes + min(bytesPerSceneByte*q.sceneBytes(), maxSceneBytes), FileBytes: leastFileBytes,
		Processes: processes, TimeLimit: 2*openLimit + leastTime, MaxLogBytes: maxLogBytes, ScratchBytes: 64 * mebibyte,
	}
}

func (q request) viewerCPUSeconds() float64 {
	return round(viewerCPUSeconds + viewerCPUSecondsPerState*float64(q.models()))
}

// models is how often the viewer exports the geometry: the camera of a turntable goes round one model.
func (q request) models() int {
	if q.line.Kind == "turntable" || q.line.Kind == "none" {
		return 1
	}
	return len(q.Frames)
}

func (q request) viewerNeeds() engines.Resources {
	return engines.Resources{
		CPUs: threads, MemoryBytes: viewerBytes + viewerPixelBytes*q.Job.Pixels + min(viewerSceneBytes*q.sceneBytes(),
			maxSceneBytes), ReservedBytes: viewer.ReservedBytes, Processes: viewerProcesses,
		FileBytes: stageBytes, ScratchBytes: stageBytes, MaxLogBytes: maxLogBytes,
		TimeLimit: limited(viewerTime.Seconds()+slowdown*q.viewerCPUSeconds(), viewerTime, mostTime),
	}
}

// limited turns seconds into a time of at least and at most so much; they may be more than a Duration holds.
func limited(seconds float64, least, most time.Duration) time.Duration {
	work := time.Duration(math.Min(seconds, most.Seconds()) * float64(time.Second))
	return min(max(work, least), most).Round(time.Second)
}

// round keeps plans free of digits that mean nothing.
func round(seconds float64) float64 { return math.Max(math.Round(seconds*10)/10, 0.1) }
