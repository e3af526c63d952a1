package wavewatch3

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/waves"
)

// logFile is what ww3_shel tells of its run.
const logFile = "log.ww3"

// Collect checks that the shard's outputs are there and complete, and lists them.
func (WaveWatch) Collect(_ engines.Shard, dir engines.Dir) (engines.Result, error) {
	return waves.Collect(running, dir, "wavewatch3", waves.ResultsFile, waves.ReportFile, logFile)
}
