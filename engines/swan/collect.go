package swan

import (
	"encoding/json"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/waves"
)

const (
	printFile = "PRINT.txt"
	tableFile = "scenarios.csv"
)

// Collect checks that the shard's outputs are there and complete, and lists them.
func (SWAN) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	if shard.Stage == stageTable {
		return waves.Collect(running, dir, "swan", tableFile)
	}
	var params runParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return engines.Result{}, err
	}
	return waves.Collect(running, dir, "swan", params.Prefix+waves.ResultsFile, params.Prefix+waves.ReportFile,
		params.Prefix+printFile)
}
