package openmm

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/molfabric/molfabric/engines"
)

// The files that the programs leave, by their names below out/.
const (
	systemFile       = "system.xml"
	initialStateFile = "initial-state.xml"
	preparationFile  = "preparation.json"
	topologyPDB      = "topology.pdb"
	topologyCIF      = "topology.cif"
	trajectoryFile   = "trajectory.dcd"
	stateFile        = "state.csv"
	finalStateFile   = "final-state.xml"
	finalCheckpoint  = "final.chk"
	resultsFile      = "results.json"
	provenanceFile   = "provenance.json"

	preparationSchema = "molfabric.openmm.preparation/v1"
	resultsSchema     = "molfabric.openmm.results/v1"

	// maxDocumentBytes bounds each JSON document: they hold no series.
	maxDocumentBytes = 16 << 20
)

const (
	mediaJSON   = "application/json"
	mediaXML    = "application/xml"
	mediaBinary = "application/octet-stream"
	mediaPDB    = "chemical/x-pdb"
	mediaCIF    = "chemical/x-mmcif"
)

// artifacts are all files of the first two stages that are outputs. Which of them a run has is in its result.json.
var artifacts = []engines.Artifact{
	{Name: systemFile, Role: engines.RoleResult, MediaType: mediaXML, Format: "openmm-system-xml"},
	{Name: initialStateFile, Role: engines.RoleIntermediate, MediaType: mediaXML, Format: FormatStateXML},
	{Name: preparationFile, Role: engines.RoleResult, MediaType: mediaJSON, Format: "json"},
	{Name: topologyPDB, Role: engines.RoleResult, MediaType: mediaPDB, Format: FormatPDB},
	{Name: topologyCIF, Role: engines.RoleResult, MediaType: mediaCIF, Format: FormatMMCIF},
	{Name: trajectoryFile, Role: engines.RoleResult, MediaType: mediaBinary, Format: "dcd"},
	{Name: stateFile, Role: engines.RoleResult, MediaType: "text/csv", Format: "csv"},
	{Name: finalStateFile, Role: engines.RoleResult, MediaType: mediaXML, Format: FormatStateXML},
	{Name: finalCheckpoint, Role: engines.RoleCheckpoint, MediaType: mediaBinary, Format: FormatCheckpoint},
	{Name: "minimised.pdb", Role: engines.RoleResult, MediaType: mediaPDB, Format: FormatPDB},
	{Name: "minimised.cif", Role: engines.RoleResult, MediaType: mediaCIF, Format: FormatMMCIF},
	{Name: "equilibrated.pdb", Role: engines.RoleResult, MediaType: mediaPDB, Format: FormatPDB},
	{Name: "equilibrated.cif", Role: engines.RoleResult, MediaType: mediaCIF, Format: FormatMMCIF},
	{Name: resultsFile, Role: engines.RoleResult, MediaType: mediaJSON, Format: "json"},
	{Name: provenanceFile, Role: engines.RoleProvenance, MediaType: mediaJSON, Format: "json"},
}

// Collect checks that the shard's outputs are there and complete, and lists them.
func (OpenMM) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	result, err := dynamics.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	found, err := collectStage(shard, dir, result.Files)
	if err != nil {
		return engines.Result{}, err
	}
	return result.With(found), nil
}

func collectStage(shard engines.Shard, dir engines.Dir, files map[string]string) ([]engines.Artifact, error) {
	switch shard.Stage {
	case stagePrepare:
		topology := topologyPDB
		if _, large := files[topologyCIF]; large {
			topology = topologyCIF
		}
		found, err := listed(dir, files, systemFile, initialStateFile, topology, preparationFile)
		if err != nil {
			return nil, err
		}
		return found, checkPreparation(dir)
	case stageSimulate:
		found, err := listed(dir, files, trajectoryFile, stateFile, finalStateFile, finalCheckpoint, resultsFile, provenanceFile)
		if err != nil {
			return nil, err
		}
		return found, checkResults(dir)
	case stageAnalyse:
		return collectAnalysis(dir, files)
	}
	return nil, fmt.Errorf("openmm: shard %s is of the unknown stage %q", shard.Name, shard.Stage)
}

// listed gives the files that the program says it has left, in the order of artifacts, and checks their digests. Those that are
// wanted must be among them.
func listed(dir engines.Dir, files map[string]string, wanted ...string) ([]engines.Artifact, error) {
	for _, name := range wanted {
		if files[name] == "" {
			return nil, dynamics.BadOutput("%s is missing", name)
		}
	}
	var found []engines.Artifact
	for _, artifact := range artifacts {
		if files[artifact.Name] != "" {
			found = append(found, artifact)
		}
	}
	return found, dynamics.CheckStated(dir, files, found)
}

func checkPreparation(dir engines.Dir) error {
	var document struct {
		Schema       string `json:"schema"`
		Atoms        int64  `json:"atoms"`
		SystemSHA256 string `json:"systemSha256"`
	}
	if err := dynamics.ReadDocument(dir, preparationFile, maxDocumentBytes, &document); err != nil {
		return err
	}
	if document.Schema != preparationSchema || document.Atoms < 1 || len(document.SystemSHA256) != 64 {
		return dynamics.BadOutput("%s is no document of %s", preparationFile, preparationSchema)
	}
	return nil
}

// resultsDocument is what Collect reads of results.json.
type resultsDocument struct {
	Schema                  string `json:"schema"`
	Atoms                   int64  `json:"atoms"`
	Frames                  int64  `json:"frames"`
	ProductionSteps         int64  `json:"productionSteps"`
	TrajectoryIntervalSteps int64  `json:"trajectoryIntervalSteps"`
}

// checkResults holds the trajectory against what results.json says of it, to the byte.
func checkResults(dir engines.Dir) error {
	var document resultsDocument
	if err := dynamics.ReadDocument(dir, resultsFile, maxDocumentBytes, &document); err != nil {
		return err
	}
	if document.Schema != resultsSchema || document.TrajectoryIntervalSteps < 1 ||
		document.Frames != document.ProductionSteps/document.TrajectoryIntervalSteps {
		return dynamics.BadOutput("%s is no document of %s, or its frames are not those of its steps", resultsFile, resultsSchema)
	}
	file, err := os.Open(dir.Out(trajectoryFile))
	if err != nil {
		return dynamics.BadOutput("%s is missing", trajectoryFile)
	}
	defer file.Close()
	header := make([]byte, dcdHeaderBytes)
	info, statErr := file.Stat()
	if _, err := file.ReadAt(header, 0); err != nil || statErr != nil {
		return dynamics.BadOutput("%s has no header", trajectoryFile)
	}
	if err := checkDCD(header, info.Size(), document.Atoms, document.Frames); err != nil {
		return dynamics.BadOutput("%s: %v", trajectoryFile, err)
	}
	return nil
}

// dcdHeaderBytes is the size of the header that trajectory.py writes: three records with their lengths before and after.
const dcdHeaderBytes = 8 + 84 + 8 + 84 + 8 + 4

// checkDCD reads the header of a trajectory and compares atoms, frames and the size of the file with what they must be.
func checkDCD(header []byte, size, atoms, frames int64) error {
	if len(header) < dcdHeaderBytes || string(header[4:8]) != "CORD" {
		return fmt.Errorf("it does not begin as a DCD file does")
	}
	saysFrames := int64(binary.LittleEndian.Uint32(header[8:]))
	saysAtoms := int64(binary.LittleEndian.Uint32(header[dcdHeaderBytes-8:]))
	if saysFrames != frames || saysAtoms != atoms {
		return fmt.Errorf("it says %d frames of %d atoms, want %d of %d", saysFrames, saysAtoms, frames, atoms)
	}
	if want := dcdHeaderBytes + frames*(8+48+3*(8+4*atoms)); size != want {
		return fmt.Errorf("it has %d bytes, want %d", size, want)
	}
	return nil
}
