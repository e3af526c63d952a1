package python

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/molfabric/molfabric/engines"
)

const (
	// Folder holds the programs in a task's directory.
	Folder = "program"
	// RequestFile is what they are to do: the shard's parameters.
	RequestFile = "request.json"

	taskFile = "task.py"
)

// Task is task.py, with which programs read their request and say what they do, leave and fail at.
//
//go:embed task.py
var Task []byte

// Source is files that an engine embeds for its programs: those in the folder From of Files ("" for all of them), which
// expect each other in the folder Into below Folder ("" for Folder itself).
type Source struct {
	Files fs.FS
	From  string
	Into  string
}

// lay adds the files by their paths in the task's directory, with task.py beside them.
func (s Source) lay(files map[string][]byte) error {
	from, folder := path.Clean(s.From), path.Join(Folder, s.Into)
	entries, err := fs.ReadDir(s.Files, from)
	if err != nil {
		return fmt.Errorf("list the programs: %w", err)
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(s.Files, path.Join(from, entry.Name()))
		if err != nil {
			return fmt.Errorf("read program %s: %w", entry.Name(), err)
		}
		files[path.Join(folder, entry.Name())] = content
	}
	files[path.Join(folder, taskFile)] = Task
	return nil
}

// Lay returns the files of all sources by their paths in the task's directory.
func Lay(sources ...Source) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, source := range sources {
		if err := source.lay(files); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Digest is that of everything that the programs consist of, the kit included.
func (p Program) Digest() string {
	roots := []fs.FS{}
	for _, source := range p.Sources {
		roots = append(roots, source.Files)
	}
	return fmt.Sprintf("%s %x", engines.DigestOf(roots...), sha256.Sum256(Task))
}

// Main is the program that the shard's parameters name.
func (p Program) Main(shard engines.Shard) (string, error) {
	var head struct {
		Program string `json:"program"`
	}
	if err := json.Unmarshal(shard.Params, &head); err != nil {
		return "", fmt.Errorf("%s: reading the parameters of shard %s: %w", p.Engine, shard.Name, err)
	}
	if !slices.Contains(p.Mains, head.Program) {
		return "", fmt.Errorf("%s: shard %s names the unknown program %q", p.Engine, shard.Name, head.Program)
	}
	return head.Program, nil
}

// Command runs a program on the shard's parameters, with what this shard needs beside Sources.
func (p Program) Command(shard engines.Shard, main string, environment map[string]string, more ...Source) (engines.Command, error) {
	files, err := Lay(slices.Concat(p.Sources, more)...)
	if err != nil {
		return engines.Command{}, fmt.Errorf("%s: %w", p.Engine, err)
	}
	files[RequestFile] = shard.Params
	return engines.Command{
		Argv: slices.Concat([]string{cmp.Or(p.Interpreter, "python"), "-B"}, p.Flags,
			[]string{Folder + "/" + main, "--request", RequestFile}),
		Env:   environment,
		Files: files,
	}, nil
}

// Environment makes runs repeatable (hash seed, locale) and lets their progress be seen at once. more is added.
func Environment(more map[string]string) map[string]string {
	environment := map[string]string{"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1",
		"PYTHONUTF8": "1"}
	maps.Copy(environment, more)
	return environment
}
