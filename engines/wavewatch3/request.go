package wavewatch3

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/internal/casefile"
)

const (
	// startRestart goes on from restart.ww3; startCold does not.
	startRestart = "restart"
	startCold    = "cold"
	// switchFile of a case says which build it is for.
	switchFile = "switch"
)

// request is a request with its case read.
type request struct {
	root     string
	deck     deck
	switches string // the digest of the switch file, or its first digits; "" for the only build there is
	start    string
}

// Wants is what the archive holds, so that a bad case is known before it costs anything.
func (WaveWatch) Wants(r engines.Request) (engines.Wants, error) { return waves.Wants(r) }

// typical is the run that an estimate assumes, which has no case.
func typical() deck {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return deck{
		kind: rectilinear, cells: 10_000, frequencies: 32, directions: 36, global: 15 * time.Minute, space: 5 * time.Minute,
		turn: 7 * time.Minute, sources: 15 * time.Second, moves: true, turns: true, hasSources: true,
		start: begin, stop: begin.Add(24 * time.Hour),
	}
}

// resolve reads a request. An estimate has no case, and is that of a run of a common size.
func resolve(r engines.Request) (request, error) {
	params, err := engines.ParamsOf[struct{ Params }](r)
	if err != nil {
		return request{}, waves.Invalid("simulationParams", "cannot be read: %v", err)
	}
	if err := waves.CheckArchive(r.SceneFile); err != nil {
		return request{}, err
	}
	if r.TaskCount > 1 {
		return request{}, waves.Invalid("taskCount", "is %d; a case of WAVEWATCH III is one task: give 1 or leave it out",
			r.TaskCount)
	}
	content, read := r.Found.Contents[waves.SceneFile]
	if !read || content.Case == nil {
		return request{deck: typical(), start: startCold}, nil
	}
	q := request{root: content.Case.Root}
	if params.Switches != nil {
		q.switches = *params.Switches
	} else if file, there := content.Case.Find(switchFile); there && file.Text != nil {
		digest := sha256.Sum256(file.Text)
		q.switches = hex.EncodeToString(digest[:])
	}
	if q.deck, err = readCase(content.Case); err != nil {
		return request{}, waves.Invalid(waves.SceneFile, "%v", err)
	}
	q.start, err = startOf(params.Start, content.Case)
	return q, err
}

// startOf is how a run begins. A restart that is asked for and is not there is refused: the model would start cold without a word.
func startOf(asked *string, files *casefile.Case) (string, error) {
	_, saved := files.Find(restartFile)
	_, initial := files.Find(startDeck)
	switch {
	case asked == nil && saved && initial:
		return "", waves.Invalid("waveStart", "is missing, and the case has both %s and %s: say restart, or cold for the latter",
			restartFile, startDeck)
	case asked == nil && saved:
		return startRestart, nil
	case asked == nil:
		return startCold, nil
	case *asked == startRestart && !saved:
		return "", waves.Invalid("waveStart", "is restart, and the case has no %s at its top; WAVEWATCH III would start cold "+
			"without a word: put the file into the case, or say cold", restartFile)
	}
	return *asked, nil
}

// Typical completes a request that has no case.
func (WaveWatch) Typical(r engines.Request) (engines.Request, string, error) {
	if _, read := r.Found.Contents[waves.SceneFile]; read {
		return r, "", nil
	}
	return r, "a day of 10,000 points, 36 directions and 32 frequencies with steps of 15 minutes", nil
}
