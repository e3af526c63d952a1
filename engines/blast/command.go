package blast

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
)

//go:embed programs/*.py
var programs embed.FS

const (
	// programFolder holds the Python programs in a task's directory, requestFile what they are to do.
	programFolder = "program"
	requestFile   = "request.json"
)

// Command runs the shard's Python program on request.json, which is the shard's parameters. The programs need the standard library
// alone, so that Python may start without looking for packages (-S).
func (Blast) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	name, err := programOf(shard)
	if err != nil {
		return engines.Command{}, err
	}
	files, err := program.Sources(programs, "programs", programFolder) // all of them: they import each other
	if err != nil {
		return engines.Command{}, fmt.Errorf("blast: %w", err)
	}
	files[requestFile] = shard.Params
	return engines.Command{
		Argv: []string{"python", "-B", "-S", programFolder + "/" + name, "--request", requestFile},
		// Runs are to be repeatable (hash seed, locale); BLAST+ is to report its use to nobody and to read nobody's settings.
		Env: map[string]string{
			"BLAST_USAGE_REPORT":   "false",
			"LC_ALL":               "C.UTF-8",
			"NCBI_DONT_USE_NCBIRC": "true",
			"PYTHONHASHSEED":       "0",
			"PYTHONNOUSERSITE":     "1",
			"PYTHONUNBUFFERED":     "1",
			"PYTHONUTF8":           "1",
		},
		Files: files,
	}, nil
}

func programOf(shard engines.Shard) (string, error) {
	var head struct {
		Program string `json:"program"`
	}
	if err := json.Unmarshal(shard.Params, &head); err != nil {
		return "", fmt.Errorf("blast: reading the parameters of shard %s: %w", shard.Name, err)
	}
	switch head.Program {
	case programSplit, programSearch, programMerge:
		return head.Program, nil
	}
	return "", fmt.Errorf("blast: shard %s names the unknown program %q", shard.Name, head.Program)
}
