package jobs

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

// givenFacts gathers what the shards of a plan say of what a job was given.
type givenFacts struct {
	inputs map[string]inputFile // stored files that tasks start from, and the scene, by their keys
	seeds  map[int64]bool
}

func givenTo(scene string) givenFacts {
	return givenFacts{inputs: map[string]inputFile{scene: {StorageKey: scene}}, seeds: map[int64]bool{}}
}

// add takes in what a shard is given. Errors: parameters that are no JSON.
func (g givenFacts) add(shard engines.Shard) error {
	for _, input := range shard.Inputs {
		if input.Object == nil {
			continue
		}
		file := g.inputs[input.Object.StorageKey]
		file.StorageKey = input.Object.StorageKey
		file.ByteSize = sql.NullInt64{Int64: max(file.ByteSize.Int64, input.Object.ByteSize), Valid: true}
		if file.SHA256.String < input.Object.SHA256 {
			file.SHA256 = sql.NullString{String: input.Object.SHA256, Valid: true}
		}
		g.inputs[file.StorageKey] = file
	}
	if !bytes.Contains(shard.Params, []byte(seedMember)) { // of ten thousand tasks few have one
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(shard.Params))
	decoder.UseNumber()
	var params any
	if err := decoder.Decode(&params); err != nil {
		return fmt.Errorf("reading the parameters of %s: %w", shard.Name, err)
	}
	g.addSeeds(params, seedDepth)
	return nil
}

const (
	// seedMember is what engines call a seed in their parameters.
	seedMember = "seed"
	// seedDepth is how many members deep a seed may lie.
	seedDepth = 3
	// maxSeeds bounds the seeds that a provenance lists.
	maxSeeds = 1000
)

// addSeeds takes in every whole number called "seed", up to so many members deep.
func (g givenFacts) addSeeds(value any, depth int) {
	if depth == 0 {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if number, ok := v[seedMember].(json.Number); ok {
			if seed, whole := wholeNumber(number.String()); whole {
				g.seeds[seed] = true
			}
		}
		for _, member := range v {
			g.addSeeds(member, depth-1)
		}
	case []any:
		for _, element := range v {
			g.addSeeds(element, depth-1)
		}
	}
}

// wholeNumber reads a number that 64 bits hold, also where it is written with a point or an exponent.
func wholeNumber(text string) (n int64, whole bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

func (g givenFacts) sortedSeeds() []int64 {
	seeds := slices.Sorted(maps.Keys(g.seeds))
	return seeds[:min(len(seeds), maxSeeds)]
}

func (g givenFacts) sortedInputs() []inputFile {
	files := g.sortedFiles()
	return files[:min(len(files), maxProvenanceEntries)]
}

func (g givenFacts) sortedFiles() []inputFile {
	return slices.SortedFunc(maps.Values(g.inputs), func(a, b inputFile) int {
		return strings.Compare(a.StorageKey, b.StorageKey)
	})
}
