// Package foldtest is what the tests of engines that predict structures share: requests, the models of random weights that set-up
// makes, and what must be marked as made by them.
package foldtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/internal/fasta"
)

// RequestOf asks for the records of a FASTA with weights.
func RequestOf(t *testing.T, text string, weights engines.Weights) engines.Request {
	t.Helper()
	records, err := fasta.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return engines.Request{
		JobID: "job_test", JobName: "two <proteins>", Params: json.RawMessage(`{}`),
		SceneFile: engines.Object{StorageKey: "seqs.fasta", SHA256: strings.Repeat("a", 64), ByteSize: int64(len(text))},
		Found:     engines.Found{Weights: &weights, Contents: map[string]engines.Contents{fold.SceneFile: {Sequences: records}}},
	}
}

// TinyWeights are files of the model that set-up makes of random numbers for an engine, in the folder tiny-model of its
// environment, and the paths behind their storage keys.
func TinyWeights(t *testing.T, engine, environment string, files ...string) (engines.Weights, map[string]string) {
	t.Helper()
	folder := filepath.Join(filepath.Dir(enginestest.Python(t)), "..", "..", environment, "tiny-model")
	weights := engines.Weights{Model: engine, Digest: strings.Repeat("e", 64), Licence: "none", Files: map[string]engines.Object{}}
	objects := map[string]string{}
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			enginestest.Skip(t, "there is no model of random weights; deploy/setup.sh --tests makes it")
		}
		sum := sha256.Sum256(content)
		key := "weights/" + name
		weights.Files[name] = engines.Object{StorageKey: key, SHA256: hex.EncodeToString(sum[:]), ByteSize: int64(len(content))}
		weights.Bytes += int64(len(content))
		objects[key] = filepath.Join(folder, name)
	}
	return weights, objects
}

// Marked wants files to say that the weights are untrained.
func Marked(t *testing.T, folder engines.Dir, names ...string) {
	t.Helper()
	for _, name := range names {
		content, err := os.ReadFile(folder.Out(name))
		if err != nil || !strings.Contains(strings.ToLower(string(content)), "untrained") {
			t.Errorf("%s does not say that the weights are untrained: %v", name, err)
		}
	}
}

// Restart kills the process of a shard after its first protein: the next attempt folds that one no more, and leaves in the files
// that are named what an attempt leaves that nobody disturbs. It returns what the next attempt printed. torn is the name of a save
// of another protein, which has been torn on the way and is as good as none.
func Restart(
	t *testing.T, e engines.Engine, shard engines.Shard, objects map[string]string, torn string, files []string, env ...string,
) string {
	t.Helper()
	saved := func(line string) bool {
		_, ok := e.(engines.Checkpointer).Checkpoint(line)
		return ok
	}
	whole, killed, next := engines.Dir(t.TempDir()), engines.Dir(t.TempDir()), engines.Dir(t.TempDir())
	enginestest.Attempt(t, e, shard, whole, objects, nil, env...)
	enginestest.Attempt(t, e, shard, killed, objects, saved, env...)
	if _, err := e.Collect(shard, killed); err == nil {
		t.Error("Collect takes what a killed attempt has left")
	}
	enginestest.Resume(t, killed, next, "*.json")
	if err := os.WriteFile(next.In("resume/"+torn), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := enginestest.Attempt(t, e, shard, next, objects, nil, env...)
	if _, err := e.Collect(shard, next); err != nil {
		t.Error(err)
	}
	enginestest.Same(t, whole, next, files...)
	return printed
}
