// Package fold is what the engines that predict structures of proteins share: it judges the sequences of a request, names what they
// leave, plans the shard that reports, and checks what a shard has written. The Python programs beside it, which it embeds, write
// structure files and draw confidences. The models are in the engines' own folders; their weights are an operator's asset
// (internal/weights).
package fold

import (
	"cmp"
	"embed"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/internal/fasta"
)

//go:embed programs/*.py
var programs embed.FS

// Sources are the programs that engines lay beside their own.
var Sources = python.Source{Files: programs, From: "programs"}

const (
	// SceneFile is the member of a request that names the sequences.
	SceneFile = "sceneFile"
	// DeviceParameter is the member of parameters that asks for a device: DeviceCPU (the default) or DeviceCUDA.
	DeviceParameter = "foldDevice"
	// DeviceCPU computes on a processor.
	DeviceCPU = "cpu"
	// DeviceCUDA computes on a device of NVIDIA's.
	DeviceCUDA = "cuda"
	// MaxFileBytes bounds the FASTA: it is read whole before the job is taken.
	MaxFileBytes = 4 << 20
	// MaxSequences bounds a job: each has ten files among its outputs.
	MaxSequences = 1000
	// maxTasks bounds the shards that fold.
	maxTasks = MaxSequences
	// maxShardSequences is so many that their results fit into a summary.
	maxShardSequences = 64

	inputWeights = "weights"
	// shardSeconds is the processor time after which another process is worth opening the weights again.
	shardSeconds = 3600.0
	// slowdown is that of a busy or old machine.
	slowdown  = 6
	leastTime = 30 * time.Minute
	mostTime  = 3 * 24 * time.Hour

	mebibyte = 1 << 20
)

// compressed are extensions of files that are not read. The content decides about every other file.
var compressed = map[string]bool{".gz": true, ".zip": true, ".bz2": true, ".xz": true, ".zst": true}

// Sequence is a protein as the programs read it.
type Sequence struct {
	Name   string   `json:"name"`
	File   string   `json:"file"` // what its outputs are called, without what follows
	Chains []string `json:"chains"`
}

// Refused is a record that cannot be folded, and why.
type Refused struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Weights describe a model's weights in requests of programs.
type Weights struct {
	Model         string `json:"model"`
	Digest        string `json:"digest"` // lower-case hex SHA-256 of all files
	Licence       string `json:"licence"`
	CommercialUse bool   `json:"commercialUse"`
	Trained       bool   `json:"trained"`
}

// WeightsOf describes weights that were found.
func WeightsOf(w engines.Weights) Weights {
	return Weights{w.Model, w.Digest, w.Licence, w.CommercialUse, w.Trained}
}

// weightsInputs are the files of weights as inputs of a shard, below "weights".
func weightsInputs(w engines.Weights) []engines.Input {
	inputs := make([]engines.Input, 0, len(w.Files))
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		object := w.Files[name]
		inputs = append(inputs, engines.Input{Name: inputWeights + "/" + name, Object: &object})
	}
	return inputs
}

// wants is what the FASTA holds, so that what cannot be folded is known before it costs anything, and the weights of a model.
func wants(r engines.Request, model string) (engines.Wants, error) {
	if err := checkFile(r.SceneFile); err != nil {
		return engines.Wants{}, err
	}
	return engines.Wants{
		Contents: []engines.WantedContent{{Path: SceneFile, File: r.SceneFile, As: engines.ReadSequences, Whose: "the protein",
			IfEmpty: "give sequences as FASTA"}},
		Weights: &engines.WantedWeights{Path: "foldModel", Model: model},
	}, nil
}

func checkFile(scene engines.Object) error {
	switch {
	case scene.StorageKey == "":
		return Invalid(SceneFile, "is missing; give the storage key of the sequences (FASTA)")
	case compressed[strings.ToLower(path.Ext(scene.StorageKey))]:
		return Invalid(SceneFile, "is compressed; upload the sequences as plain FASTA")
	case scene.ByteSize > MaxFileBytes:
		return Invalid(SceneFile, "has %d bytes; the sequences of a job may have at most %d", scene.ByteSize, MaxFileBytes)
	}
	return nil
}

// Request is what requests of all models have, read and judged.
type Request struct {
	Params    Params
	Judged    []fasta.Judged // all records, in the order of the file
	Device    string         // DeviceCPU or DeviceCUDA
	Weights   engines.Weights
	Seed      int64
	TaskCount int // 0 when the caller left it to the engine
	Most      int // tokens of the longest protein that is folded
}

// Resolve reads a request for a model. An estimate without sequences is that of one protein of UsualTokens. Errors:
// *engines.InvalidError.
func Resolve(r engines.Request, model string) (Request, error) {
	params, err := engines.ParamsOf[struct {
		Params
		Seed *int64 `json:"seed"`
	}](r)
	if err != nil {
		return Request{}, Invalid("simulationParams", "cannot be read: %v", err)
	}
	if err := params.Check(model); err != nil {
		return Request{}, err
	}
	if err := checkFile(r.SceneFile); err != nil {
		return Request{}, err
	}
	q := Request{Params: params.Params, TaskCount: r.TaskCount, Seed: seedOf(r.JobID)}
	if params.Seed != nil {
		q.Seed = *params.Seed
	}
	if q.Device, err = deviceOf(r); err != nil {
		return Request{}, err
	}
	switch {
	case q.TaskCount < 0 || q.TaskCount > maxTasks:
		return Request{}, Invalid("taskCount", "is %d; a prediction may have 1 to %d tasks", q.TaskCount, maxTasks)
	case len(params.Lengths) > 0:
		return Request{}, Invalid(lengthsField, "is of an estimate alone; leave it out, the sequences say how long they are")
	case r.Found.Weights == nil:
		return Request{}, Invalid("foldModel", "has no weights in this deployment; its operator adds them with `molfabric weights add`")
	}
	q.Most = mostOf(q.Device)
	q.Weights = *r.Found.Weights
	q.Judged, err = judgedOf(r, q.Most)
	return q, err
}

// deviceOf is what a request wants to compute.
func deviceOf(r engines.Request) (string, error) {
	device, ok := r.Parameters[DeviceParameter]
	if !ok {
		return DeviceCPU, nil
	}
	if device = strings.ToLower(device); device != DeviceCPU && device != DeviceCUDA {
		return "", Invalid("parameters."+DeviceParameter, "is %.40q; it can be %s or %s", device, DeviceCPU, DeviceCUDA)
	}
	return device, nil
}

// mostOf is how many tokens the longest protein has that is folded on a device.
func mostOf(device string) int {
	if device == DeviceCUDA {
		return fasta.MaxGPUTokens
	}
	return fasta.MaxCPUTokens
}

// judgedOf are the sequences of a request. One of which none can be folded is refused with the reasons.
func judgedOf(r engines.Request, most int) ([]fasta.Judged, error) {
	content, read := r.Found.Contents[SceneFile]
	if !read {
		return []fasta.Judged{{Name: "protein", Chains: []string{strings.Repeat("A", UsualTokens)}}}, nil
	}
	judged := fasta.Judge(content.Sequences, most)
	if len(judged) > MaxSequences {
		return nil, Invalid(SceneFile, "has %d sequences; a job may have at most %d", len(judged), MaxSequences)
	}
	for _, one := range judged {
		if one.Reason == "" {
			return judged, nil
		}
	}
	return nil, Invalid(SceneFile, "has no sequence that can be folded: %s", refusal(judged))
}

// sequences parts what is folded from what is not, both in the order of the file.
func (q Request) sequences() (folded []Sequence, refused []Refused) {
	refused = []Refused{}
	for i, one := range q.Judged {
		if one.Reason != "" {
			refused = append(refused, Refused{one.Name, one.Reason})
			continue
		}
		folded = append(folded, Sequence{Name: one.Name, File: fileOf(i, one.Name), Chains: one.Chains})
	}
	return folded, refused
}

// parts cuts the proteins, the shortest first, into those of one process each: so many as the caller asks for, of like work, or
// else as many as keep a process busy for shardSeconds.
func (q Request) parts(folded []Sequence, seconds func(Sequence) float64) [][]Sequence {
	sorted := slices.Clone(folded)
	slices.SortStableFunc(sorted, func(a, b Sequence) int {
		return cmp.Or(cmp.Compare(fasta.Tokens(a.Chains), fasta.Tokens(b.Chains)), strings.Compare(a.File, b.File))
	})
	if q.TaskCount > 0 {
		return dealt(sorted, max(min(q.TaskCount, len(sorted)), (len(sorted)+maxShardSequences-1)/maxShardSequences))
	}
	var parts [][]Sequence
	spent := 0.0
	for i, one := range sorted {
		work := seconds(one)
		if last := len(parts) - 1; i > 0 && spent+work <= shardSeconds && len(parts[last]) < maxShardSequences {
			parts[last] = append(parts[last], one)
			spent += work
			continue
		}
		parts, spent = append(parts, []Sequence{one}), work
	}
	return parts
}

// dealt deals proteins out like cards, so that every part has short and long ones.
func dealt(sorted []Sequence, count int) [][]Sequence {
	parts := make([][]Sequence, count)
	for i, one := range sorted {
		parts[i%count] = append(parts[i%count], one)
	}
	return parts
}

// seedOf is a job's own seed where it states none.
func seedOf(jobID string) int64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(jobID)) // never fails
	return int64(sum.Sum64() % math.MaxInt32)
}

// Memory is what a process takes at most, and what programs reckon with when there was not enough.
type Memory struct {
	BaseBytes           int64 `json:"baseBytes"`
	BytesPerSquareToken int64 `json:"bytesPerSquareToken"`
	CapBytes            int64 `json:"capBytes"`
}

// MemoryOf is that of a process whose longest protein has so many tokens.
func MemoryOf(baseBytes, bytesPerSquareToken int64, tokens int) Memory {
	most := baseBytes + bytesPerSquareToken*int64(tokens)*int64(tokens)
	return Memory{baseBytes, bytesPerSquareToken, (most + mebibyte - 1) / mebibyte * mebibyte}
}

// Limit is the time that a shard may take which is expected to take so many seconds.
func Limit(expectedSeconds float64) time.Duration {
	work := math.Min(slowdown*expectedSeconds, mostTime.Seconds()) // before the conversion, which could overflow
	return min(leastTime+time.Duration(work*float64(time.Second)), mostTime).Round(time.Second)
}

// round keeps plans free of digits that mean nothing.
func round(seconds float64) float64 { return math.Round(seconds*10) / 10 }

// Invalid refuses a request at a field.
func Invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}
