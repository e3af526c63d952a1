package probe

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// Command runs the script with the shard's parameters as arguments.
func (Probe) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	p, err := paramsOf(shard)
	if err != nil {
		return engines.Command{}, err
	}
	status := 0
	if p.Fails != "" {
		status = failStatus
	}
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	return engines.Command{
		Argv: []string{"sh", programFile, shard.Name, strconv.FormatFloat(p.Seconds, 'f', -1, 64), whole(p.CPUSeconds),
			whole(p.MemoryBytes), whole(p.OutputBytes), strconv.Itoa(status)},
		Env:   map[string]string{"LC_ALL": "C"},
		Files: map[string][]byte{programFile: script},
	}, nil
}

// Collect checks that the task came to its end and wrote what it was told to.
func (Probe) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	p, err := paramsOf(shard)
	if err != nil {
		return engines.Result{}, err
	}
	proof, err := python.ReadBounded(dir.Out(proofFile), maxProofBytes)
	if err != nil || string(proof) != fmt.Sprintf("%s %d\n", shard.Name, p.OutputBytes) {
		return engines.Result{}, badOutput("%s is missing or of another task", proofFile)
	}
	result := engines.Result{Summary: json.RawMessage(`{}`), Programs: map[string]string{"sh": "POSIX"}}
	if p.OutputBytes > 0 {
		written, err := os.Stat(dir.Out(outputFile))
		if err != nil || written.Size() != p.OutputBytes {
			return engines.Result{}, badOutput("%s is missing or does not have %d bytes", outputFile, p.OutputBytes)
		}
		result.Artifacts = []engines.Artifact{{Name: outputFile, Role: engines.RoleResult, MediaType: "application/octet-stream",
			Format: "bin"}}
	}
	return result, nil
}

// Explain knows the failure that a task was told to have.
func (Probe) Explain(shard engines.Shard, _ engines.Dir, exitCode int, _ string) *engines.Failure {
	p, _ := paramsOf(shard) // unreadable ones ask for no failure
	if p.Fails == "" || exitCode != failStatus {
		return nil
	}
	return &engines.Failure{Class: p.Fails, Code: "TOLD_TO_FAIL", Message: "The task failed because its job's FailEvery " +
		"told it to."}
}

func paramsOf(shard engines.Shard) (taskParams, error) {
	var p taskParams
	if err := json.Unmarshal(shard.Params, &p); err != nil {
		return taskParams{}, fmt.Errorf("probe: reading the parameters of shard %s: %w", shard.Name, err)
	}
	return p, nil
}

func badOutput(format string, args ...any) error {
	return &engines.Failure{Class: engines.Executor, Code: "BAD_OUTPUT", Message: "The probe's output is wrong: " +
		fmt.Sprintf(format, args...)}
}
