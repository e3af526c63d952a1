package engines

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"sort"
)

// Repeater is an Engine whose shards, or some of them, have the same outputs whenever and wherever they are run on the same inputs
// by the same programs, or such as are no better and no worse. What such a shard has made once need not be made, nor paid for,
// again.
type Repeater interface {
	// Repeats says, for each shard of a plan and in its order, what decides the shard's outputs. It is pure.
	Repeats(plan []Shard) []Repeat
	// Programs is a digest of the programs that the engine brings along: with others the outputs may be others.
	Programs() string
}

// Adopter is a Repeater whose outputs also hold what decides nothing, such as the place of a ligand in its library.
type Adopter interface {
	// Adopt turns the outputs of another shard with the same identity, which lie below out/ under their names, into those of this
	// one. result is that of the other shard; its artifacts may get other names. Errors: any; the shard is then run.
	Adopt(shard Shard, dir Dir, result Result) (Result, error)
}

// Uneven is a Repeater whose results are not all the same to the byte, though one is as good as the other.
type Uneven interface {
	// SameBytes reports whether the result of this name has the same bytes whenever it is made.
	SameBytes(name string) bool
}

// SameBytes reports whether what a shard that repeats has left is the same to the byte whenever the shard is run: a result, as
// other files hold times, unless the engine excepts it.
func SameBytes(engine Engine, file Artifact) bool {
	if _, repeats := engine.(Repeater); !repeats || file.Role != RoleResult {
		return false
	}
	uneven, ok := engine.(Uneven)
	return !ok || uneven.SameBytes(file.Name)
}

// Repeat is what decides the outputs of a shard. The zero value says that nothing is known to: the shard is always run.
type Repeat struct {
	// Decides are the parameters that decide, as JSON without those that do not, such as threads; nil for a shard that is always
	// run.
	Decides json.RawMessage
	// Instead says of inputs by their names what of them decides, where that is less than the whole file; "" for nothing, not even
	// that it is there.
	Instead map[string]string
}

// Identity names what a shard makes: two shards of one account with equal identities make the same. The zero value is that of a
// shard that may make something else each time.
type Identity [sha256.Size]byte

// Known reports whether the shard makes the same each time.
func (i Identity) Known() bool { return i != Identity{} }

// identityVersion changes with the meaning of what is digested below.
const identityVersion = 1

// identified is what an Identity is the digest of.
type identified struct {
	Version int             `json:"version"`
	Engine  string          `json:"engine"`
	Stage   string          `json:"stage"`
	Decides json.RawMessage `json:"decides"`
	Inputs  [][2]string     `json:"inputs"` // name, and what decides of it; by name
}

// Identities are those of the shards of a plan of an engine, in its order. A file counts by its digest, and an output of an earlier
// stage by the identity of the shard that makes it: so all of them are known before anything has run. Shards on devices, and those
// that read a file without a digest, have none, nor has what depends on one that has none.
func Identities(engine Engine, plan []Shard) []Identity {
	found := make([]Identity, len(plan))
	repeater, ok := engine.(Repeater)
	if !ok {
		return found
	}
	repeats := repeater.Repeats(plan)
	before := makers{byStage: map[string][]maker{}}
	for i, shard := range plan {
		if repeats[i].Decides != nil && shard.Needs.GPUs == 0 {
			found[i] = before.identity(cmp.Or(shard.Engine, engine.Spec().ID), shard, repeats[i])
		}
		before.byStage[shard.Stage] = append(before.byStage[shard.Stage], maker{shard.Name, found[i]})
	}
	return found
}

// makers are the shards so far, by their stages.
type makers struct{ byStage map[string][]maker }

type maker struct {
	name     string // of the shard
	identity Identity
}

// identity digests a shard; the zero value where an input is not known to be the same.
func (m makers) identity(engineID string, shard Shard, repeat Repeat) Identity {
	whole := identified{Version: identityVersion, Engine: engineID, Stage: shard.Stage, Decides: repeat.Decides,
		Inputs: [][2]string{}}
	for _, input := range shard.Inputs {
		if instead, ok := repeat.Instead[input.Name]; ok {
			if instead != "" {
				whole.Inputs = append(whole.Inputs, [2]string{input.Name, "instead " + instead})
			}
			continue
		}
		sources, ok := m.sources(input)
		if !ok {
			return Identity{}
		}
		whole.Inputs = append(whole.Inputs, sources...)
	}
	sort.Slice(whole.Inputs, func(i, j int) bool { return whole.Inputs[i][0] < whole.Inputs[j][0] })
	text, err := json.Marshal(whole)
	if err != nil { // parameters that are no JSON
		return Identity{}
	}
	return sha256.Sum256(text)
}

// sources are what decides of an input, by the names under which it will lie; false where that is not known.
func (m makers) sources(input Input) ([][2]string, bool) {
	if input.Object != nil {
		return [][2]string{{input.Name, "file " + input.Object.SHA256}}, input.Object.SHA256 != ""
	}
	var sources [][2]string
	for _, before := range m.byStage[input.From.Stage] {
		name := input.Name
		switch input.From.Shard {
		case "":
			name += "/" + before.name
		case before.name:
		default:
			continue
		}
		if !before.identity.Known() {
			return nil, false
		}
		sources = append(sources, [2]string{name, fmt.Sprintf("output %s of %x", input.From.Output, before.identity)})
	}
	return sources, true
}

// RepeatAll says that every shard of a plan always makes the same of its parameters and inputs.
func RepeatAll(plan []Shard) []Repeat {
	repeats := make([]Repeat, len(plan))
	for i, shard := range plan {
		repeats[i].Decides = shard.Params
	}
	return repeats
}

// DigestOf is the SHA-256 of all files below the roots, with their names.
func DigestOf(roots ...fs.FS) string {
	digest := sha256.New()
	for _, root := range roots {
		err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(root, path)
			fmt.Fprintf(digest, "%s %d\n%s", path, len(content), content)
			return err
		})
		if err != nil { // of files that are part of the program
			panic(fmt.Sprintf("engines: reading the programs: %v", err))
		}
	}
	return fmt.Sprintf("%x", digest.Sum(nil))
}
