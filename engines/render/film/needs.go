package film

import (
	"math"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/picture"
)

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
	// maxFilmPixels are the most of a frame in its film: larger frames are made smaller for it, as video.py has it.
	maxFilmPixels = 3840 * 3840
	// maxFilmBytes bounds a film: a day of one at the rate of a disc.
	maxFilmBytes = 64 * gibibyte
	maxLogBytes  = mebibyte
)

// What film.py takes beside its renderer. Measured with ffmpeg 5.1 on two threads: 1920x1080 as H.264 0.08 CPU seconds a frame and
// 250 MB, 3840x2160 0.28 s and 760 MB; as VP9 with alpha 0.4 s and 530 MB, 1.6 s and 1,720 MB.
const (
	makingBytes          = 192 * mebibyte
	makingBytesPerPixel  = 24 // of a frame that is decoded for its thumbnail or the film
	h264BytesPerPixel    = 100
	vp9BytesPerPixel     = 220
	h264CPUSecondsPerMPx = 0.045
	vp9CPUSecondsPerMPx  = 0.2
	thumbnailCPUSeconds  = 0.01 // a frame
	decodeCPUPerMPx      = 0.02 // and frame
)

// Bytes a frame's file may have, by its format: PNG with 16 bits a channel and opacity, which noise does not compress; JPEG of the
// best quality; EXR with some passes in 32 bits. film.py's own files of a frame come on top.
var bytesPerPixel = map[string]int64{picture.PNG: 9, picture.JPEG: 4, picture.EXR: 64}

const (
	frameSpareBytes = mebibyte // thumbnail, statistics and preview
	// filmBytesPerPixel of a frame is more than the encoders spend on noise.
	filmBytesPerPixel = 1
)

// MakingMemoryBytes is what film.py and ffmpeg take beside the renderer.
func (j Job) MakingMemoryBytes() int64 {
	memory := makingBytes + makingBytesPerPixel*j.Pixels
	switch j.Video {
	case picture.MP4:
		memory += h264BytesPerPixel * j.filmPixels()
	case picture.WebM:
		memory += vp9BytesPerPixel * j.filmPixels()
	}
	return memory
}

// MakingCPUSeconds is what a frame takes beside its rendering.
func (j Job) MakingCPUSeconds() float64 {
	megapixels, filmed := float64(j.Pixels)/1e6, float64(j.filmPixels())/1e6
	seconds := thumbnailCPUSeconds + decodeCPUPerMPx*megapixels
	switch j.Video {
	case picture.MP4:
		seconds += decodeCPUPerMPx*megapixels + h264CPUSecondsPerMPx*filmed
	case picture.WebM:
		seconds += decodeCPUPerMPx*megapixels + vp9CPUSecondsPerMPx*filmed
	}
	return seconds
}

// FrameBytes bounds a frame's file.
func (j Job) FrameBytes() int64 { return frameSpareBytes + bytesPerPixel[j.Format]*j.Pixels }

// ShardBytes bounds all that a shard of so many frames leaves, and the files that it keeps for its next attempt: they are the
// same, but the EXR's pictures for the film.
func (j Job) ShardBytes(count int) int64 {
	each := j.FrameBytes()
	if j.Format == picture.EXR || j.Video != "" {
		each += filmBytesPerPixel * j.filmPixels()
	}
	return finishSpareBytes + int64(count)*(each+frameSpareBytes)
}

func (j Job) filmPixels() int64 { return min(j.Pixels, maxFilmPixels) }

// Cost and caps of the last shard. Measured with 48 frames of 1920x1080: 0.8 CPU seconds and 60 MB; their film is decoded for its
// check at 0.0035 CPU seconds a frame and megapixel.
const (
	finishStartCPUSeconds    = 1.0
	finishCPUSecondsPerChunk = 0.01
	finishCPUSecondsPerFrame = 0.002
	checkCPUSecondsPerMPixel = 0.004
	checkedFrames            = 2000 // at most, as video.py has it
	finishMemoryBytes        = 512 * mebibyte
	checkBytesPerPixel       = 32 // reference pictures of the decoder and one for each thread
	finishProcesses          = 128
	finishSpareBytes         = 64 * mebibyte
	finishSlowdown           = 20 // of a busy machine and slow disks
	leastFinishTime          = 15 * time.Minute
)

func (j Job) finishCPUSeconds(chunks int) float64 {
	seconds := finishStartCPUSeconds + finishCPUSecondsPerChunk*float64(chunks) + finishCPUSecondsPerFrame*float64(len(j.Frames))
	if j.Video != "" {
		seconds += checkCPUSecondsPerMPixel * float64(min(len(j.Frames), checkedFrames)) * float64(j.filmPixels()) / 1e6
	}
	return math.Round(seconds*10) / 10
}

func (j Job) finishNeeds(expected float64) engines.Resources {
	memory, written := int64(finishMemoryBytes), int64(finishSpareBytes)
	if j.Video != "" {
		memory += checkBytesPerPixel * j.filmPixels()
		written += min(filmBytesPerPixel*j.filmPixels()*int64(len(j.Frames)), maxFilmBytes)
	}
	return engines.Resources{
		CPUs: 1, MemoryBytes: memory, FileBytes: written, Processes: finishProcesses, MaxLogBytes: maxLogBytes,
		ScratchBytes: written,
		TimeLimit:    leastFinishTime + time.Duration(finishSlowdown*expected)*time.Second,
	}
}
