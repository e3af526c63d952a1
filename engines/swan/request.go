package swan

import (
	"path"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/internal/casefile"
)

const (
	// usualDeck is what SWAN itself reads.
	usualDeck = "INPUT"
	deckEnd   = ".swn"

	decksField = "waveDecks"
	// MaxDecks bounds a job.
	MaxDecks = 100
	// typicalCells, directions and frequencies are of the run that an estimate assumes, which has no case.
	typicalCells, typicalDirections, typicalFrequencies, typicalIterations = 10_000, 36, 32, 20
)

// request is a request with its decks read.
type request struct {
	root string
	runs []run
}

// run is one run of a deck, a task of its own.
type run struct {
	deck
	scenario scenario // empty of a deck that is run as it is
}

// Wants is what the archive holds, so that a bad deck is known before it costs anything.
func (SWAN) Wants(r engines.Request) (engines.Wants, error) { return waves.Wants(r) }

// resolve reads a request. An estimate has no case, and is that of one stationary run of a common size.
func resolve(r engines.Request) (request, error) {
	params, err := engines.ParamsOf[struct{ Params }](r)
	if err != nil {
		return request{}, waves.Invalid("simulationParams", "cannot be read: %v", err)
	}
	if err := waves.CheckArchive(r.SceneFile); err != nil {
		return request{}, err
	}
	content, read := r.Found.Contents[waves.SceneFile]
	if !read || content.Case == nil {
		return request{runs: []run{{deck: deck{file: usualDeck, cells: typicalCells, directions: typicalDirections,
			frequencies: typicalFrequencies, iterations: typicalIterations, computations: []computation{{}}}}}}, nil
	}
	q := request{root: content.Case.Root}
	if params.Scenarios != "" {
		q.runs, err = scenarioRuns(content.Case, params.Params)
	} else {
		q.runs, err = deckRuns(content.Case, params.Decks)
	}
	if err == nil && r.TaskCount != 0 && r.TaskCount != len(q.runs) {
		err = waves.Invalid("taskCount", "is %d; each deck or scenario is a task, and the case has %d: give that or leave it out",
			r.TaskCount, len(q.runs))
	}
	return q, err
}

// scenarioRuns are the runs of a table of scenarios.
func scenarioRuns(c *casefile.Case, params Params) ([]run, error) {
	names, err := deckNames(c, params.Decks)
	if err != nil {
		return nil, err
	}
	if len(names) > 1 {
		return nil, waves.Invalid(scenariosField, "is for one deck, and the case has %d; name one in waveDecks", len(names))
	}
	table, err := textOf(c, scenariosField, params.Scenarios)
	if err != nil {
		return nil, err
	}
	file, err := textOf(c, decksField, names[0])
	if err != nil {
		return nil, err
	}
	return runsOf(table, file, c)
}

// deckRuns are the runs of decks as they are.
func deckRuns(c *casefile.Case, asked []string) ([]run, error) {
	names, err := deckNames(c, asked)
	if err != nil {
		return nil, err
	}
	runs := make([]run, len(names))
	for i, name := range names {
		file, err := textOf(c, decksField, name)
		if err != nil {
			return nil, err
		}
		if runs[i].deck, err = readDeck(file, c); err != nil {
			return nil, waves.Invalid(waves.SceneFile, "%v", err)
		}
	}
	return runs, nil
}

// textOf is a file of the case that a member of the request names.
func textOf(c *casefile.Case, field, name string) (casefile.File, error) {
	file, there := c.Find(name)
	switch {
	case !there:
		return file, waves.Invalid(field, "names %.80q, which is not in the case; %s", name, waves.Nearest(c, name))
	case file.Text == nil:
		return file, waves.Invalid(waves.SceneFile, "holds %.80q, which is no text or has more than %d bytes", name,
			casefile.MaxTextBytes)
	}
	return file, nil
}

// deckNames are the decks that are run.
func deckNames(c *casefile.Case, asked []string) ([]string, error) {
	if len(asked) > 0 {
		if sorted := slices.Compact(slices.Sorted(slices.Values(asked))); len(sorted) < len(asked) {
			return nil, waves.Invalid(decksField, "names a deck twice")
		}
		return asked, nil
	}
	if _, ok := c.Find(usualDeck); ok {
		return []string{usualDeck}, nil
	}
	var names []string
	for _, file := range c.Files {
		if strings.EqualFold(path.Ext(file.Name), deckEnd) && !strings.Contains(file.Name, "/") {
			names = append(names, file.Name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, waves.Invalid(waves.SceneFile, "has no deck: neither INPUT nor a file that ends in .swn at its top; %s",
			waves.Nearest(c, usualDeck))
	case len(names) > MaxDecks:
		return nil, waves.Invalid(waves.SceneFile, "has %d decks; a job runs at most %d", len(names), MaxDecks)
	}
	return names, nil
}

// Typical completes a request that has no case.
func (SWAN) Typical(r engines.Request) (engines.Request, string, error) {
	if _, read := r.Found.Contents[waves.SceneFile]; read {
		return r, "", nil
	}
	return r, "a stationary run of 10,000 points, 36 directions and 32 frequencies", nil
}
