package esmfold

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fasta"
)

const (
	sceneFile = "sceneFile"
	// deviceParameter is the member of parameters that asks for a device: "cpu" (the default) or "cuda".
	deviceParameter = "foldDevice"
	deviceCPU       = "cpu"
	deviceCUDA      = "cuda"
	// maxFileBytes bounds the FASTA: it is read whole before the job is taken.
	maxFileBytes = 4 << 20
	// MaxSequences bounds a job: each has ten files among its outputs.
	MaxSequences = 1000
	// maxTasks bounds the shards that fold.
	maxTasks = MaxSequences
	// recycles are the passes after the first: with four passes in all the model was trained, and its authors run it.
	recycles = 3
	// usualTokens is the protein that an estimate assumes, which has no file.
	usualTokens = 200
)

// compressed are extensions of files that are not read. The content decides about every other file.
var compressed = map[string]bool{".gz": true, ".zip": true, ".bz2": true, ".xz": true, ".zst": true}

// request is a request with its sequences judged.
type request struct {
	judged    []fasta.Judged // all records, in the order of the file
	device    string         // deviceCPU or deviceCUDA
	weights   engines.Weights
	seed      int64
	taskCount int // 0 when the caller left it to the engine
}

// Wants is what the FASTA holds, so that what cannot be folded is known before it costs anything, and the weights.
func (ESMFold) Wants(r engines.Request) (engines.Wants, error) {
	if err := checkFile(r.SceneFile); err != nil {
		return engines.Wants{}, err
	}
	return engines.Wants{
		Contents: []engines.WantedContent{{Path: sceneFile, File: r.SceneFile, As: engines.ReadSequences, Whose: "the protein",
			IfEmpty: "give sequences as FASTA"}},
		Weights: &engines.WantedWeights{Path: "foldModel", Model: ID},
	}, nil
}

func checkFile(scene engines.Object) error {
	switch {
	case scene.StorageKey == "":
		return invalid(sceneFile, "is missing; give the storage key of the sequences (FASTA)")
	case compressed[strings.ToLower(path.Ext(scene.StorageKey))]:
		return invalid(sceneFile, "is compressed; upload the sequences as plain FASTA")
	case scene.ByteSize > maxFileBytes:
		return invalid(sceneFile, "has %d bytes; the sequences of a job may have at most %d", scene.ByteSize, maxFileBytes)
	}
	return nil
}

// resolve reads a request. An estimate has no sequences, and is that of one protein of usualTokens.
func resolve(r engines.Request) (request, error) {
	params, err := engines.ParamsOf[struct {
		Params
		Seed *int64 `json:"seed"`
	}](r)
	if err != nil {
		return request{}, invalid("simulationParams", "cannot be read: %v", err)
	}
	if err := params.Check(ID); err != nil {
		return request{}, err
	}
	if err := checkFile(r.SceneFile); err != nil {
		return request{}, err
	}
	q := request{device: deviceCPU, taskCount: r.TaskCount, seed: seedOf(r.JobID)}
	if params.Seed != nil {
		q.seed = *params.Seed
	}
	if device, ok := r.Parameters[deviceParameter]; ok {
		q.device = strings.ToLower(device)
	}
	switch {
	case q.device != deviceCPU && q.device != deviceCUDA:
		return request{}, invalid("parameters."+deviceParameter, "is %.40q; it can be %s or %s", q.device, deviceCPU, deviceCUDA)
	case q.taskCount < 0 || q.taskCount > maxTasks:
		return request{}, invalid("taskCount", "is %d; a prediction may have 1 to %d tasks", q.taskCount, maxTasks)
	case r.Found.Weights == nil:
		return request{}, invalid("foldModel", "has no weights in this deployment; its operator adds them with `molfabric weights add`")
	}
	q.weights = *r.Found.Weights
	q.judged, err = judgedOf(r, q.mostTokens())
	return q, err
}

// judgedOf are the sequences of a request. One of which none can be folded is refused with the reasons.
func judgedOf(r engines.Request, most int) ([]fasta.Judged, error) {
	content, read := r.Found.Contents[sceneFile]
	if !read {
		return []fasta.Judged{{Name: "protein", Chains: []string{strings.Repeat("A", usualTokens)}}}, nil
	}
	judged := fasta.Judge(content.Sequences, most)
	if len(judged) > MaxSequences {
		return nil, invalid(sceneFile, "has %d sequences; a job may have at most %d", len(judged), MaxSequences)
	}
	for _, one := range judged {
		if one.Reason == "" {
			return judged, nil
		}
	}
	return nil, invalid(sceneFile, "has no sequence that can be folded: %s", refusal(judged))
}

// mostTokens is the longest protein that is folded.
func (q request) mostTokens() int {
	if q.device == deviceCUDA {
		return fasta.MaxGPUTokens
	}
	return fasta.MaxCPUTokens
}

// Typical completes a request that has no sequences: one protein of usualTokens residues.
func (ESMFold) Typical(r engines.Request) (engines.Request, string, error) {
	if _, read := r.Found.Contents[sceneFile]; read {
		return r, "", nil
	}
	contents := map[string]engines.Contents{sceneFile: {Sequences: []fasta.Record{{Name: "protein",
		Letters: strings.Repeat("A", usualTokens)}}}}
	for name, content := range r.Found.Contents {
		contents[name] = content
	}
	r.Found.Contents = contents
	return r, "one protein of 200 residues", nil
}

// seedOf is a job's own seed where it states none. The model draws nothing at random; the seed is recorded all the same, and set.
func seedOf(jobID string) int64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(jobID)) // never fails
	return int64(sum.Sum64() % math.MaxInt32)
}

// raw writes parameters of a shard.
func raw(params any) (json.RawMessage, error) { return json.Marshal(params) }
