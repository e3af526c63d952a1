package film

import (
	"path"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

const (
	provenanceFile = "provenance.json"
	// maxOriginFiles bounds the files that are named: a shard's parameters travel in the queue's message.
	maxOriginFiles = 100
)

// Origin is what provenance.json says of where a job's pictures come from; programs and digests are added by the shard that ends
// the job.
type Origin struct {
	Engine     string     `json:"engine"`
	Parameters Parameters `json:"parameters"`
	Scene      OriginFile `json:"scene"`
	// Files are those that the scene refers to, or the first 100 of FileCount.
	Files     []OriginFile       `json:"files"`
	FileCount int                `json:"fileCount"`
	Citations []engines.Citation `json:"citations"`
}

// Parameters are what was asked for. Picture is the engine's own.
type Parameters struct {
	Frames  string  `json:"frames"` // as ranges
	FPS     float64 `json:"fps"`
	Video   *string `json:"video"`
	Picture any     `json:"picture"`
	// Animation is that of a molecular scene.
	Animation any `json:"animation,omitempty"`
}

// OriginFile is an input by its name. SHA256 is empty where nobody has stated one.
type OriginFile struct {
	Name     string `json:"name"`
	ByteSize int64  `json:"byteSize"`
	SHA256   string `json:"sha256,omitempty"`
}

// fileOf names a stored object by the last part of its key.
func fileOf(object engines.Object) OriginFile {
	return OriginFile{Name: path.Base(object.StorageKey), ByteSize: object.ByteSize, SHA256: object.SHA256}
}

// SetOrigin has the shard that ends the job write provenance.json: origin with what the job knows itself, and with its input files.
func (j *Job) SetOrigin(origin Origin, scene engines.Object, files []engines.Object) error {
	frames, err := expression(j.Frames)
	if err != nil {
		return err
	}
	origin.Parameters.Frames, origin.Parameters.FPS, origin.Parameters.Video = frames, j.FPS, j.video()
	origin.Scene, origin.Files, origin.FileCount = fileOf(scene), []OriginFile{}, len(files)
	for _, file := range files[:min(len(files), maxOriginFiles)] {
		origin.Files = append(origin.Files, fileOf(file))
	}
	j.origin = &origin
	return nil
}

// OnlyOrigin is for the parameters of a render shard: not nil where it ends the job itself, being the only one.
func (j Job) OnlyOrigin() *Origin {
	if len(j.Frames) > 1 {
		return nil
	}
	return j.origin
}

// provenanceArtifact is the file that SetOrigin has asked for.
var provenanceArtifact = engines.Artifact{Name: provenanceFile, Role: engines.RoleProvenance, MediaType: "application/json",
	Format: "json"}

// checkProvenance holds what is for people against the digests that provenance.json states.
func checkProvenance(p python.Program, dir engines.Dir, artifacts []engines.Artifact) error {
	return p.CheckDigests(dir, provenanceFile, maxDocumentBytes, artifacts)
}
