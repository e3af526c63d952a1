package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/receipt"
)

const (
	// requestFile is the submission in a bundle.
	requestFile = "request.json"
	// maxResultsBytes bounds it: that of the largest library is a third of it.
	maxResultsBytes = 256 << 20
)

// source is where the submission and the files of a receipt's job come from.
type source struct {
	inv    *invocation
	of     receipt.Statement
	folder string // "" for none
	there  bool   // the server has the job
}

// prepare makes the submission that runs parts again, with its files on the server.
func (s source) prepare(ctx context.Context, parts []part) (repetition, error) {
	text, err := s.submission(ctx)
	if err != nil {
		return repetition{}, err
	}
	request, err := readSubmission(text, s.of)
	if err != nil {
		return repetition{}, err
	}
	if err := repeat(request, s.of, parts); err != nil {
		return repetition{}, err
	}
	again := repetition{request: request, keys: map[string]string{}}
	inputs := inputsNamed(request, s.of)
	places, err := s.inFolder(ctx, inputs)
	if err != nil {
		return again, err
	}
	for _, input := range inputs {
		if again.keys[input.Name], err = s.bring(ctx, request, input, places); err != nil {
			return again, err
		}
	}
	eachText(request, func(text string) string { return first(again.keys[text], text) })
	return again, nil
}

// submission is the text of request.json: of the folder, else of the server.
func (s source) submission(ctx context.Context) ([]byte, error) {
	if s.folder != "" {
		file := filepath.Join(s.folder, requestFile)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return s.inv.readFile(file, maxRequestBytes)
		}
	}
	if !s.there {
		return nil, invalidInput("--sample: the submission is needed: give --dir with %s, as an unpacked bundle has it; the "+
			"server %s does not have job %s for this account", requestFile, s.inv.api.Server(), s.of.Predicate.Job.ID)
	}
	kept, err := s.inv.api.Provenance(ctx, s.of.Predicate.Job.ID)
	if err != nil {
		return nil, err
	}
	if content := kept.Body.Request.Content; content != nil && sha256Hex(*content) == s.of.Predicate.Parameters.Digest.SHA256 {
		return *content, nil
	}
	if !isDocked(s.of) {
		return nil, invalidInput("--sample: the submission of job %s is too large to be read from the server; give --dir with %s",
			s.of.Predicate.Job.ID, requestFile)
	}
	return s.bundled(ctx)
}

// bundled is the submission in the bundle of the server, which has it whatever its size.
func (s source) bundled(ctx context.Context) ([]byte, error) {
	runID, err := s.inv.runID(ctx, s.of.Predicate.Job.ID)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "molfabric-verify-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "crate.zip")
	if err := s.inv.api.Bundle(ctx, runID, file); err != nil {
		return nil, err
	}
	crate, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("reading the bundle of job %s: %w", s.of.Predicate.Job.ID, err)
	}
	defer crate.Close()
	entry, err := crate.Open(requestFile)
	if err != nil {
		return nil, fmt.Errorf("reading the bundle of job %s: %w", s.of.Predicate.Job.ID, err)
	}
	defer entry.Close()
	return io.ReadAll(io.LimitReader(entry, maxRequestBytes))
}

// inFolder finds the files of the folder with the digests of inputs, whatever they are called: their places by their digests.
func (s source) inFolder(ctx context.Context, inputs []receipt.Input) (map[string]string, error) {
	places, wanted := map[string]string{}, map[string]bool{}
	for _, input := range inputs {
		if input.Digest != nil {
			wanted[input.Digest.SHA256] = true
		}
	}
	if s.folder == "" || len(wanted) == 0 {
		return places, nil
	}
	root, err := os.OpenRoot(s.folder)
	if err != nil {
		return nil, invalidInput("--dir: %v", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		sum, err := digestOf(root, name)
		if err == nil && wanted[sum] {
			places[sum] = name
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking through %s: %w", s.folder, err)
	}
	return places, nil
}

// bring sees to it that the server has a file of the receipt, and returns its key there.
func (s source) bring(ctx context.Context, request map[string]any, input receipt.Input, places map[string]string) (string, error) {
	if input.Digest != nil && places[input.Digest.SHA256] != "" {
		return s.upload(ctx, input, places[input.Digest.SHA256])
	}
	scene := request["sceneFile"] == any(input.Name)
	switch {
	case s.there:
		return input.Name, nil
	case scene && input.Digest == nil && !readsScene(request, s.of):
		return s.standIn(ctx, request)
	case input.Digest == nil:
		return "", invalidInput("--sample: %s: the receipt states no SHA-256 of it, so no file can be held against it; it can be "+
			"run again where it was run, by its own account", labelOf(input.Name))
	}
	return "", invalidInput("--sample: --dir: no file with the SHA-256 %s, which is that of the input %s", input.Digest.SHA256,
		labelOf(input.Name))
}

// upload stores a file of the folder under the name that the receipt has for it.
func (s source) upload(ctx context.Context, input receipt.Input, place string) (string, error) {
	root, err := os.OpenRoot(s.folder)
	if err != nil {
		return "", invalidInput("--dir: %v", err)
	}
	defer root.Close()
	file, err := root.Open(filepath.FromSlash(place))
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	uploaded, err := s.inv.api.Upload(ctx, path.Base(input.Name), file, info.Size())
	if err != nil {
		return "", fmt.Errorf("uploading %s: %w", place, err)
	}
	if uploaded.SHA256 != input.Digest.SHA256 {
		return "", invalidInput("%s: was changed while it was read", place)
	}
	return uploaded.StorageKey, nil
}

// standIn stores a scene that no task reads: the submission itself.
func (s source) standIn(ctx context.Context, request map[string]any) (string, error) {
	text, err := json.MarshalIndent(request, "", " ")
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", sceneName, err)
	}
	uploaded, err := s.inv.api.Upload(ctx, sceneName, bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return "", fmt.Errorf("uploading %s: %w", sceneName, err)
	}
	return uploaded.StorageKey, nil
}

// ligandScores are best scores in kcal/mol by the ids of ligands.
type ligandScores map[string]float64

// bothScores are the scores of the receipt's job and of its repetition; nil where they are not to be had.
type bothScores struct{ was, is ligandScores }

// scores reads the results of both jobs, each held against its receipt.
func (s source) scores(ctx context.Context, made receipt.Statement) (*bothScores, error) {
	var both bothScores
	var err error
	if both.was, err = s.scoresBefore(ctx); err != nil {
		return nil, err
	}
	text, err := s.inv.resultsOf(ctx, made)
	if err != nil {
		return nil, err
	}
	both.is, err = readScores(text)
	return &both, err
}

// scoresBefore are those of the receipt's job: of the folder, else of the server; nil where neither has them.
func (s source) scoresBefore(ctx context.Context) (ligandScores, error) {
	if s.folder != "" {
		root, err := os.OpenRoot(s.folder)
		if err != nil {
			return nil, invalidInput("--dir: %v", err)
		}
		defer root.Close()
		output, _ := outputCalled(s.of, resultsFile)
		for _, place := range output.Places() {
			if sum, err := digestOf(root, path.Clean(place)); err == nil && sum == output.Digest.SHA256 {
				text, err := root.ReadFile(filepath.FromSlash(path.Clean(place)))
				if err != nil {
					return nil, err
				}
				return readScores(text)
			}
		}
	}
	if !s.there {
		return nil, nil
	}
	text, err := s.inv.resultsOf(ctx, s.of)
	if err != nil {
		return nil, err
	}
	return readScores(text)
}

func outputCalled(s receipt.Statement, name string) (receipt.Output, bool) {
	for _, output := range s.Subject {
		if output.Annotations.FileName == name {
			return output, true
		}
	}
	return receipt.Output{}, false
}

// resultsOf downloads a docking's results and holds them against its receipt.
func (inv *invocation) resultsOf(ctx context.Context, s receipt.Statement) ([]byte, error) {
	stated, found := outputCalled(s, resultsFile)
	if !found {
		return nil, fmt.Errorf("job %s has left no %s", s.Predicate.Job.ID, resultsFile)
	}
	outputs, err := inv.api.AllOutputs(ctx, s.Predicate.Job.ID)
	if err != nil {
		return nil, err
	}
	var file contract.Output
	for _, output := range outputs.Body.Outputs {
		if output.ArtifactID == stated.Annotations.ArtifactID {
			file = output
		}
	}
	if file.SHA256 != stated.Digest.SHA256 {
		return nil, unverified(fmt.Errorf("changed: %s of job %s, as the server has it", resultsFile, s.Predicate.Job.ID))
	}
	return inv.api.FetchOutput(ctx, s.Predicate.Job.ID, file, maxResultsBytes)
}

func readScores(text []byte) (ligandScores, error) {
	var results struct {
		Ligands []struct {
			LigandID string   `json:"ligandId"`
			Score    *float64 `json:"bestScoreKcalMol"`
		} `json:"ligands"`
	}
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, fmt.Errorf("reading %s: %w", resultsFile, err)
	}
	scores := ligandScores{}
	for _, ligand := range results.Ligands {
		if ligand.Score != nil {
			scores[ligand.LigandID] = *ligand.Score
		}
	}
	return scores, nil
}

func sha256Hex(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
