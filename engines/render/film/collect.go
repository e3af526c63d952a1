package film

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // image.DecodeConfig reads the size of both
	_ "image/png"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/picture"
)

const (
	framesSchema = "molfabric.frames/v1"
	mediaJPEG    = "image/jpeg"
	// maxDocumentBytes bounds each JSON document: 50 frames with their failures are some kilobytes.
	maxDocumentBytes = 16 << 20
)

// Wanted is what a render shard must leave.
type Wanted struct {
	Frames []int64
	Format string
	// WidthPixels and HeightPixels are what every PNG and JPEG must have; 0 where only the scene knows.
	WidthPixels, HeightPixels int
	Film                      Making
	Only                      bool // no shard comes after it: what it says of its frames is for people
	Provenance                bool // it writes provenance.json
}

// framesDocument is what Collect reads of frames.json.
type framesDocument struct {
	Schema string `json:"schema"`
	Frames []struct {
		Frame    int64  `json:"frame"`
		ByteSize int64  `json:"byteSize"`
		SHA256   string `json:"sha256"`
	} `json:"frames"`
}

// CollectFrames checks that every wanted frame is there, whole, of its size and with the digest that the program has stated, or is
// named as failed; and that everything beside the frames is there. p are the engine's words. What is wrong is an *engines.Failure.
func CollectFrames(p python.Program, dir engines.Dir, want Wanted) (engines.Result, error) {
	result, err := p.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	artifacts, err := frameArtifacts(p, dir, want, result)
	if err != nil {
		return engines.Result{}, err
	}
	artifacts = append(artifacts, companions(want, artifacts, len(result.Failures) > 0)...)
	if want.Provenance {
		if err := checkProvenance(p, dir, artifacts); err != nil {
			return engines.Result{}, err
		}
		artifacts = append(artifacts, provenanceArtifact)
	}
	if err := p.CheckStated(dir, result.Files, artifacts); err != nil {
		return engines.Result{}, err
	}
	for _, artifact := range artifacts {
		if artifact.Frame == nil {
			continue
		}
		if err := checkFrame(dir.Out(artifact.Name), want); err != nil {
			return engines.Result{}, p.BadOutput("%s %v", artifact.Name, err)
		}
	}
	return result.With(artifacts), nil
}

// frameArtifacts are the frames that frames.json states, which are those wanted but for the failed ones.
func frameArtifacts(p python.Program, dir engines.Dir, want Wanted, result python.Result) ([]engines.Artifact, error) {
	var document framesDocument
	if err := p.ReadDocument(dir, framesFile, maxDocumentBytes, &document); err != nil {
		return nil, err
	}
	if document.Schema != framesSchema || len(document.Frames) == 0 || len(document.Frames) > len(want.Frames) {
		return nil, p.BadOutput("%s is no document of %s, or has not the frames of its shard", framesFile, framesSchema)
	}
	stated := make(map[int64]string, len(document.Frames))
	for _, frame := range document.Frames {
		stated[frame.Frame] = frame.SHA256
	}
	failed := make(map[string]bool, len(result.Failures))
	for _, failure := range result.Failures {
		failed[failure.Item] = true
	}
	var artifacts []engines.Artifact
	for _, frame := range want.Frames {
		digest, there := stated[frame]
		if there == failed[strconv.FormatInt(frame, 10)] {
			return nil, p.BadOutput("frame %d is neither there nor failed, or both", frame)
		}
		if !there {
			continue
		}
		artifact := frameArtifact(frame, want.Format)
		if result.Files[artifact.Name] != digest {
			return nil, p.BadOutput("%s and %s state different digests of %s", framesFile, python.ResultFile, artifact.Name)
		}
		artifacts = append(artifacts, artifact)
	}
	if len(artifacts) != len(stated) {
		return nil, p.BadOutput("%s names frames that nobody has asked for", framesFile)
	}
	return artifacts, nil
}

func frameArtifact(frame int64, format string) engines.Artifact {
	artifact := engines.Artifact{Name: FrameFile(frame, format), Role: engines.RoleFrame, Frame: &frame}
	switch format {
	case picture.JPEG:
		artifact.MediaType, artifact.Format = mediaJPEG, "jpeg"
	case picture.EXR:
		artifact.MediaType, artifact.Format = "image/x-exr", "exr"
	default:
		artifact.MediaType, artifact.Format = "image/png", "png"
	}
	return artifact
}

// companions are what a shard leaves beside the frames that it has rendered. One with a failed frame has no part in the film.
func companions(want Wanted, rendered []engines.Artifact, failed bool) []engines.Artifact {
	role := engines.RoleIntermediate
	if want.Only {
		role = engines.RoleResult
	}
	found := []engines.Artifact{
		{Name: previewFile, Role: engines.RolePreview, MediaType: mediaJPEG, Format: "jpeg"},
		{Name: framesFile, Role: role, MediaType: "application/json", Format: "json"},
	}
	if slices.ContainsFunc(rendered, func(a engines.Artifact) bool { return slices.Contains(want.Film.Sheet, *a.Frame) }) {
		found = append(found, engines.Artifact{Name: thumbnailsFile, Role: engines.RoleIntermediate, MediaType: "application/x-tar",
			Format: "tar"})
	}
	if video := want.Film.Video; video != nil && !failed {
		found = append(found, engines.Artifact{Name: segmentFile(*video), Role: engines.RoleIntermediate,
			MediaType: "video/" + *video, Format: *video})
	}
	return found
}

// How files of each format begin and end.
var (
	pngEnd  = []byte("\x00\x00\x00\x00IEND\xaeB`\x82")
	jpegEnd = []byte("\xff\xd9")
	exrHead = []byte("\x76\x2f\x31\x01")
)

// checkFrame holds a frame's file against its format and its size.
func checkFrame(path string, want Wanted) error {
	file, err := os.Open(path)
	if err != nil {
		return errors.New("cannot be read")
	}
	defer file.Close()
	if want.Format == picture.EXR {
		head := make([]byte, len(exrHead))
		if _, err := io.ReadFull(file, head); err != nil || !bytes.Equal(head, exrHead) {
			return errors.New("is no EXR file")
		}
		return nil
	}
	end := pngEnd
	if want.Format == picture.JPEG {
		end = jpegEnd
	}
	found, format, err := image.DecodeConfig(file)
	switch {
	case err != nil || extensions[want.Format] != "."+map[string]string{"png": "png", "jpeg": "jpg"}[format]:
		return fmt.Errorf("is no %s file", want.Format)
	case want.WidthPixels > 0 && (found.Width != want.WidthPixels || found.Height != want.HeightPixels):
		return fmt.Errorf("has %dx%d pixels, want %dx%d", found.Width, found.Height, want.WidthPixels, want.HeightPixels)
	case !endsWith(file, end):
		return errors.New("is cut off")
	}
	return nil
}

func endsWith(file *os.File, end []byte) bool {
	tail := make([]byte, len(end))
	if _, err := file.Seek(-int64(len(end)), io.SeekEnd); err != nil {
		return false
	}
	_, err := io.ReadFull(file, tail)
	return err == nil && bytes.Equal(tail, end)
}
