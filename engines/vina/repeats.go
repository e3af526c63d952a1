package vina

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// Poses do not depend on the threads, on the shard that a ligand is docked in, on its place in the library or on what it is called.
// So a ligand that was docked before need not be docked again in a larger library.

var (
	_ engines.Repeater = Vina{}
	_ engines.Adopter  = Vina{}
	_ engines.Uneven   = Vina{}
)

var ownPrograms = docking.Digest()

// Programs implements engines.Repeater.
func (Vina) Programs() string { return ownPrograms }

// Repeats implements engines.Repeater. The ranking and the pictures are of one job, and are always made.
func (Vina) Repeats(plan []engines.Shard) []engines.Repeat {
	repeats := make([]engines.Repeat, len(plan))
	ligands := map[string]map[int]string{} // by the name of their chunk and their place, what decides how each is prepared
	for i, shard := range plan {
		main, err := docking.Main(shard)
		if err != nil {
			continue
		}
		switch main {
		case programReceptor:
			repeats[i] = receptorRepeat(shard)
		case programLigands:
			repeats[i] = engines.Repeat{Decides: shard.Params}
			ligands[shard.Name] = preparedLigands(shard)
		case programDock:
			repeats[i] = dockRepeat(shard, ligands)
		case programRedock:
			repeats[i] = redockRepeat(shard)
		case programGate, programAnalyse:
			repeats[i] = engines.Repeat{Decides: shard.Params}
		}
	}
	return repeats
}

// SameBytes implements engines.Uneven: of a docking the poses. Reports and analyses name programs, times or several ligands.
func (Vina) SameBytes(name string) bool {
	return strings.HasPrefix(name, "poses/") && strings.HasSuffix(name, ".pdbqt")
}

// receptorRepeat leaves out an earlier preparation, which changes how a receptor is made and not what comes of it.
func receptorRepeat(shard engines.Shard) engines.Repeat {
	var params receptorParams
	if json.Unmarshal(shard.Params, &params) != nil {
		return engines.Repeat{}
	}
	params.Prepared = nil
	repeat := engines.Repeat{Decides: written(params), Instead: map[string]string{}}
	for _, file := range preparedFiles {
		repeat.Instead[file.input] = ""
	}
	return repeat
}

// preparedLigands are the ligands of a chunk by their places, each as what decides how it is prepared.
func preparedLigands(shard engines.Shard) map[int]string {
	var params ligandsParams
	if json.Unmarshal(shard.Params, &params) != nil {
		return nil
	}
	files := map[string]string{}
	for _, input := range shard.Inputs {
		files[input.Name] = "of the receptor" // the native ligand: its docking depends on the receptor anyhow
		if input.Object != nil {
			files[input.Name] = input.Object.SHA256
		}
	}
	found := map[int]string{}
	for _, ligand := range params.Ligands {
		if ligand.File != "" && files[ligand.File] == "" {
			continue // nobody has stated its digest
		}
		found[ligand.Index] = string(written(map[string]any{
			"seed": params.Seed, "cpuSeconds": params.LigandCPUSeconds, "smiles": ligand.SMILES, "format": ligand.Format,
			"sha256": files[ligand.File], "protonationPh": ligand.ProtonationPh,
		}))
	}
	return found
}

// dockRepeat tells ligands by how they are prepared, and not by their places.
func dockRepeat(shard engines.Shard, ligands map[string]map[int]string) engines.Repeat {
	var params dockParams
	if json.Unmarshal(shard.Params, &params) != nil {
		return engines.Repeat{}
	}
	of := map[int]string{}
	for _, input := range shard.Inputs {
		if input.Name == outputLigands && input.From != nil {
			of = ligands[input.From.Shard]
		}
	}
	docked := make([]string, len(params.Indices))
	for i, index := range params.Indices {
		if docked[i] = of[index]; docked[i] == "" {
			return engines.Repeat{}
		}
	}
	return engines.Repeat{Decides: written(withoutThreads(params.Search)), Instead: map[string]string{
		outputLigands: string(written(docked))}}
}

func redockRepeat(shard engines.Shard) engines.Repeat {
	var params redockParams
	if json.Unmarshal(shard.Params, &params) != nil {
		return engines.Repeat{}
	}
	params.Search = withoutThreads(params.Search)
	return engines.Repeat{Decides: written(params)}
}

func withoutThreads(search searchParams) searchParams {
	search.CPUThreads = 0
	return search
}

// written is a value as JSON; there is none that cannot be written.
func written(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("vina: %v", err))
	}
	return text
}

// Adopt implements engines.Adopter: of a docking the poses stay, and the ligands get the places, ids and labels that they have
// here. Everything else is taken as it is.
func (Vina) Adopt(shard engines.Shard, dir engines.Dir, result engines.Result) (engines.Result, error) {
	if main, err := docking.Main(shard); err != nil || main != programDock {
		return result, err
	}
	var params dockParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return result, fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	ours, err := ligandsHere(dir, params.Indices)
	if err != nil {
		return result, err
	}
	places, err := renameLigands(dir, ours)
	if err != nil {
		return result, err
	}
	if result.Summary, err = renamedSummary(result.Summary, places); err != nil {
		return result, err
	}
	if result.Artifacts, err = renamedFiles(dir, result.Artifacts, places); err != nil {
		return result, err
	}
	for i := range result.Failures {
		failure := &result.Failures[i]
		for _, ligand := range ours {
			if failure.Item == ligand.was {
				failure.Item, failure.Label = ligand.LigandID, ligand.Label
				break
			}
		}
	}
	return result, nil
}

// adopted is a ligand of the shard, and what the other job called it.
type adopted struct {
	Index    int    `json:"index"`
	LigandID string `json:"ligandId"`
	Label    string `json:"label"`
	was      string
}

// ligandsHere are the ligands of these places, as their preparation has left them in in/.
func ligandsHere(dir engines.Dir, indices []int) ([]*adopted, error) {
	content, err := python.ReadBounded(dir.In(outputLigands), maxOutputBytes)
	if err != nil {
		return nil, fmt.Errorf("vina: reading the prepared ligands: %w", err)
	}
	var document struct {
		Ligands []*adopted `json:"ligands"`
	}
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("vina: reading the prepared ligands: %w", err)
	}
	byIndex := map[int]*adopted{}
	for _, each := range document.Ligands {
		byIndex[each.Index] = each
	}
	ours := make([]*adopted, len(indices))
	for i, index := range indices {
		if ours[i] = byIndex[index]; ours[i] == nil {
			return nil, fmt.Errorf("vina: the prepared ligands lack number %d", index+1)
		}
	}
	return ours, nil
}

// renameLigands writes dock.json anew, whose ligands come in the order of the shard, and returns what each place has become.
func renameLigands(dir engines.Dir, ours []*adopted) (places map[int]int, err error) {
	var document struct {
		Schema   string                       `json:"schema"`
		Ligands  []map[string]json.RawMessage `json:"ligands"`
		Programs json.RawMessage              `json:"programs"`
	}
	if err := docking.ReadDocument(dir, outputDocked, maxOutputBytes, &document); err != nil {
		return nil, err
	}
	if len(document.Ligands) != len(ours) {
		return nil, docking.BadOutput("%s has %d ligands for a shard of %d", outputDocked, len(document.Ligands), len(ours))
	}
	places = map[int]int{}
	for i, entry := range document.Ligands {
		var before adopted
		if err := json.Unmarshal(written(entry), &before); err != nil {
			return nil, fmt.Errorf("vina: reading %s: %w", outputDocked, err)
		}
		places[before.Index], ours[i].was = ours[i].Index, before.LigandID
		here := ours[i]
		entry["index"], entry["ligandId"], entry["label"] = written(here.Index), written(here.LigandID), written(here.Label)
	}
	return places, os.WriteFile(dir.Out(outputDocked), written(document), 0o600)
}

// renamedSummary is the summary with the ligands' places here.
func renamedSummary(summary json.RawMessage, places map[int]int) (json.RawMessage, error) {
	var whole map[string]json.RawMessage
	var ligands []map[string]json.RawMessage
	if err := json.Unmarshal(summary, &whole); err != nil {
		return nil, fmt.Errorf("vina: reading the summary of a docking: %w", err)
	}
	if err := json.Unmarshal(whole["ligands"], &ligands); err != nil {
		return nil, fmt.Errorf("vina: reading the ligands of a docking's summary: %w", err)
	}
	for _, entry := range ligands {
		var before adopted
		if err := json.Unmarshal(written(entry), &before); err != nil {
			return nil, fmt.Errorf("vina: reading a ligand of a docking's summary: %w", err)
		}
		place, known := places[before.Index]
		if !known {
			return nil, docking.BadOutput("the summary has the ligand number %d, and %s has not", before.Index+1, outputDocked)
		}
		entry["index"] = written(place)
		if string(entry["pdbqt"]) != "null" {
			entry["pdbqt"] = written(posesArtifact(place, "pdbqt").Name)
		}
	}
	whole["ligands"] = written(ligands)
	return written(whole), nil
}

// renamedFiles gives the files of poses the names of their ligands' places here.
func renamedFiles(dir engines.Dir, artifacts []engines.Artifact, places map[int]int) ([]engines.Artifact, error) {
	const aside = ".aside" // two ligands may change places
	moved := map[string]string{}
	for before, now := range places {
		moved[posesArtifact(before, "pdbqt").Name] = posesArtifact(now, "pdbqt").Name
	}
	renamed := make([]engines.Artifact, len(artifacts))
	for i, artifact := range artifacts {
		renamed[i] = artifact
		if name, moves := moved[artifact.Name]; moves {
			renamed[i].Name = name
			if err := os.Rename(dir.Out(artifact.Name), dir.Out(name)+aside); err != nil {
				return nil, fmt.Errorf("vina: naming the poses: %w", err)
			}
		}
	}
	for i := range renamed {
		if _, moves := moved[artifacts[i].Name]; !moves {
			continue
		}
		if err := os.Rename(dir.Out(renamed[i].Name)+aside, dir.Out(renamed[i].Name)); err != nil {
			return nil, fmt.Errorf("vina: naming the poses: %w", err)
		}
	}
	return renamed, nil
}
