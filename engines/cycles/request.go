package cycles

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/picture"
	"github.com/molfabric/molfabric/internal/frames"
)

const (
	// recoveryResumable is the recovery mode of a job that skips frames which an interrupted attempt has finished.
	recoveryResumable = "resumable"
	// maxTimelineFrame ends Blender's time line on both sides.
	maxTimelineFrame = 1_048_574
	// maxAttachments is project.py's MAX_FILES without the scene.
	maxAttachments = 10_000
	// A logical path longer than this is none that Linux could open; project.py has it too.
	maxLogicalPathBytes = 3000
	// projectsFolder stands in the key of a file in a project package before the package's id, after which its logical path
	// follows.
	projectsFolder = "/uploads/projects/"
)

// request is a job as this engine understands it.
type request struct {
	picture.Options
	film.Job
	scene     engines.Object
	rendered  *engines.RenderCost
	before    map[string]int // shards, by film.Likeness
	resumable bool
	molecular bool

	// Of a molecular job.
	line  picture.TimeLine
	shown engines.Scene // Format and References only, in an estimate

	// Of a render job.
	ranges  []frames.Range
	denoise *bool // nil leaves it to the scene
	project []projectFile
}

// projectFile is an attachment, and where the scene expects it.
type projectFile struct {
	object engines.Object
	path   string
}

// resolve reads a request. Errors are *engines.InvalidError.
func resolve(r engines.Request) (request, error) {
	q := request{scene: r.SceneFile, rendered: r.Found.Rendered, before: r.Found.RenderShards,
		resumable: r.Recovery == recoveryResumable, molecular: r.JobType == engines.JobTypeMolecular}
	read, readFrames := picture.ParseFilm, q.readBlend
	if q.molecular {
		read, readFrames = picture.Parse, q.readScene
	}
	var err error
	if q.Options, err = read(r); err != nil {
		return request{}, err
	}
	kind, asked, err := readFrames(r)
	if err != nil {
		return request{}, err
	}
	video, err := q.Film(kind, len(asked))
	if err != nil {
		return request{}, err
	}
	q.Job = film.Job{Title: r.JobName, Frames: asked, Format: q.Options.Format, Video: video, FPS: q.Options.FPS,
		Pixels: q.Options.Pixels()}
	return q, nil
}

// readScene reads what a molecular scene shows, and which of its frames are asked for.
func (q *request) readScene(r engines.Request) (kind string, asked []int64, err error) {
	q.shown = engines.Scene{Format: engines.SceneMVSJ}
	if r.Found.Scene != nil {
		q.shown = *r.Found.Scene
	}
	if q.line, err = q.TimeLine(r.Found.Scene); err != nil {
		return "", nil, err
	}
	asked, err = q.line.Asked(r.Frames)
	return q.line.Kind, asked, err
}

// readBlend reads which frames of an artist's scene are asked for, and the files around it. An estimate may name no frame; then it
// is for one.
func (q *request) readBlend(r engines.Request) (kind string, asked []int64, err error) {
	q.ranges = r.Frames
	if len(q.ranges) == 0 {
		q.ranges = []frames.Range{{First: 1, Last: 1, Step: 1}}
	}
	first, last := q.ranges[0].First, q.ranges[len(q.ranges)-1].Last
	if first < -maxTimelineFrame || last > maxTimelineFrame {
		return "", nil, invalid(framesMember(r.Parameters), "names the frames %d to %d; Blender's time line has those from "+
			"-%d to %d", first, last, maxTimelineFrame, maxTimelineFrame)
	}
	if _, given := r.Parameters["Denoise"]; given {
		q.denoise = &q.Denoise
	}
	if len(r.Attachments) > maxAttachments {
		return "", nil, invalid("attachments", "are %d files; a project has at most %d beside its scene", len(r.Attachments),
			maxAttachments)
	}
	for _, object := range r.Attachments {
		logical := logicalPath(object.StorageKey)
		if !withinProject(logical) {
			return "", nil, invalid("attachments", "has %.80q, whose path in the project leads out of it or is longer than "+
				"%d bytes", path.Base(logical), maxLogicalPathBytes)
		}
		q.project = append(q.project, projectFile{object: object, path: logical})
	}
	return picture.None, slices.Collect(frames.All(q.ranges)), nil
}

// framesMember is the member that names frames, for a message about them.
func framesMember(parameters map[string]string) string {
	for _, name := range []string{"Frames", "FrameRange"} {
		if _, given := parameters[name]; given {
			return "parameters." + name
		}
	}
	return "frameStart"
}

// logicalPath is where a file lies in its project: that of its package, or else by its name beside the scene.
func logicalPath(storageKey string) string {
	if _, rest, ok := strings.Cut(storageKey, projectsFolder); ok {
		if _, logical, ok := strings.Cut(rest, "/"); ok && logical != "" {
			return logical
		}
	}
	return path.Base(storageKey)
}

// withinProject reports whether a logical path is relative and clean.
func withinProject(logical string) bool {
	return len(logical) <= maxLogicalPathBytes && path.Clean("/"+logical) == "/"+logical && logical != "" &&
		!strings.ContainsAny(logical, "\\\x00")
}

func invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}
