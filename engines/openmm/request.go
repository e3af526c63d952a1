package openmm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

// Bounds on what a run may leave.
const (
	// maxTrajectoryBytes bounds trajectory.dcd: 10,000 frames of 140,000 atoms. prepare.py counts with the real atoms.
	maxTrajectoryBytes = 16 << 30
	// maxStateRows bounds state.csv to some 130 MB.
	maxStateRows = 1_000_000
	// bytesPerPosition is an atom in a frame: three single-precision numbers.
	bytesPerPosition = 12
	// maxDevices bounds the GPUs of a run: PME does not get faster with more.
	maxDevices = 4
	// defaultCPUThreads is what a run on the CPU platform uses: twice one thread's speed for small systems, and half a small
	// worker. One thread is bit-identical from run to run, two are not.
	defaultCPUThreads = 2
)

// Bounds on the files that a run starts from, by the largest system.
const (
	// maxInputAtoms is protein.py's MAX_INPUT_ATOMS, and a line of an atom is at most some 200 bytes long.
	maxInputAtoms     = 500_000
	maxStructureBytes = maxInputAtoms * 200
	// maxRestartBytes: a state as XML has 200 bytes for an atom's position, velocity and force; a checkpoint has fewer.
	maxRestartBytes = mostParticles * 400
	// maxInpcrdBytes: 73 bytes for an atom's position and velocity.
	maxInpcrdBytes = mostParticles * 100
	maxPrmtopBytes = 1 << 30
	// A prmtop has 120 to 500 bytes for each atom, of which its coordinates have 36, and tables of the force field.
	prmtopBaseBytes          = 16 << 20
	prmtopBytesPerInpcrdByte = 100
)

// request is a request that has passed every check which needs no file.
type request struct {
	DynamicsRequest
	sha256  string // of the canonical JSON of openmmRequest
	devices int    // 0 on the CPU platform
	frames  int64
	rows    int64
}

// resolve checks a request before its files are read. It returns an *engines.InvalidError.
func resolve(r engines.Request) (request, error) {
	var p Params
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return request{}, invalid("openmmRequest", "cannot be read: %v", err)
	}
	if err := p.Check(); err != nil {
		return request{}, err
	}
	digest, err := requestSHA256(r.Params)
	if err != nil {
		return request{}, err
	}
	q := request{DynamicsRequest: *p.Request, sha256: digest}
	if q.devices, err = devicesOf(q.Execution.Platform); err != nil {
		return request{}, err
	}
	if err := q.checkFiles(); err != nil {
		return request{}, err
	}
	if err := q.checkSteps(); err != nil {
		return request{}, err
	}
	if err := q.checkOutputs(); err != nil {
		return request{}, err
	}
	return q, nil
}

// requestSHA256 is the digest of openmmRequest as JSON with sorted keys and no spaces.
func requestSHA256(params json.RawMessage) (string, error) {
	var said struct {
		Request any `json:"openmmRequest"`
	}
	decoder := json.NewDecoder(bytes.NewReader(params))
	decoder.UseNumber() // a number keeps its spelling
	if err := decoder.Decode(&said); err != nil {
		return "", invalid("openmmRequest", "cannot be read: %v", err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(said.Request); err != nil {
		return "", invalid("openmmRequest", "cannot be read: %v", err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return hex.EncodeToString(sum[:]), nil
}

// devicesOf counts the devices. Which ones they are the worker decides: a run sees only those that it was given.
func devicesOf(p DynamicsPlatform) (int, error) {
	const field = "openmmRequest.execution.platform.deviceIndex"
	if p.Name == PlatformCPU {
		return 0, nil
	}
	numbers := strings.Split(p.DeviceIndex, ",")
	if len(numbers) > maxDevices {
		return 0, invalid(field, "names %d devices; a run takes at most %d", len(numbers), maxDevices)
	}
	seen := make([]int, 0, len(numbers))
	for _, text := range numbers {
		number, err := strconv.Atoi(text)
		if err != nil || slices.Contains(seen, number) {
			return 0, invalid(field, "is %s; must be different numbers of devices joined by commas", p.DeviceIndex)
		}
		seen = append(seen, number)
	}
	return len(numbers), nil
}

// checkFiles refuses files that are larger than any system that is simulated could need: reading them would take memory and time
// that nobody has planned.
func (q *request) checkFiles() error {
	if restart := q.Execution.RestartCheckpoint; restart != nil {
		if err := atMost("execution.restartCheckpoint", *restart, maxRestartBytes); err != nil {
			return err
		}
	}
	amber := q.Input.Amber
	if amber == nil {
		return atMost("input.coordinates", q.Input.Protein.Coordinates, maxStructureBytes)
	}
	if err := atMost("input.coordinates", amber.Coordinates, maxInpcrdBytes); err != nil {
		return err
	}
	if err := atMost("input.prmtop", amber.Prmtop, maxPrmtopBytes); err != nil {
		return err
	}
	if most := prmtopBaseBytes + prmtopBytesPerInpcrdByte*amber.Coordinates.ByteSize; amber.Prmtop.ByteSize > most {
		return invalid("openmmRequest.input.prmtop.byteSize", "is %d, but coordinates of %d bytes belong to a prmtop of at most "+
			"%d; give the two files of one system",
			amber.Prmtop.ByteSize, amber.Coordinates.ByteSize, most)
	}
	return nil
}

func atMost(field string, file DynamicsArtifact, most int64) error {
	if file.ByteSize <= most {
		return nil
	}
	return invalid("openmmRequest."+field+".byteSize", "is %d; at most %d are taken of a file of this kind", file.ByteSize, most)
}

// checkSteps wants every interval to come round at least once. Checkpoints may be further apart: then there is none on the way.
func (q *request) checkSteps() error {
	steps, o := q.Protocol.ProductionSteps, q.Outputs
	for _, interval := range []struct {
		name  string
		steps int64
	}{
		{"trajectoryIntervalSteps", o.TrajectoryIntervalSteps},
		{"stateIntervalSteps", o.StateIntervalSteps},
		{"analysisIntervalSteps", o.AnalysisIntervalSteps},
	} {
		if interval.steps < 1 || interval.steps > steps {
			return invalid("openmmRequest.outputs."+interval.name, "is %d; must be 1 to productionSteps, %d, or nothing would be "+
				"written", interval.steps, steps)
		}
	}
	if o.CheckpointIntervalSteps < 1 {
		return invalid("openmmRequest.outputs.checkpointIntervalSteps", "is %d; must be at least 1", o.CheckpointIntervalSteps)
	}
	if o.AnalysisIntervalSteps%o.TrajectoryIntervalSteps != 0 {
		return invalid("openmmRequest.outputs.analysisIntervalSteps", "is %d; must be a multiple of trajectoryIntervalSteps, %d: "+
			"only frames that are written can be analysed",
			o.AnalysisIntervalSteps, o.TrajectoryIntervalSteps)
	}
	return nil
}

// checkOutputs counts frames and rows, and refuses what is more than a run may leave.
func (q *request) checkOutputs() error {
	steps := q.Protocol.ProductionSteps
	q.frames, q.rows = steps/q.Outputs.TrajectoryIntervalSteps, steps/q.Outputs.StateIntervalSteps
	if q.rows > maxStateRows {
		return invalid("openmmRequest.outputs.stateIntervalSteps", "gives %d lines of energies; at most %d are written, every "+
			"%d steps",
			q.rows, int64(maxStateRows), (steps+maxStateRows-1)/maxStateRows)
	}
	atoms := q.leastAtoms()
	if most := maxTrajectoryBytes / (bytesPerPosition * atoms); q.frames > most {
		return invalid("openmmRequest.outputs.trajectoryIntervalSteps",
			"gives %d frames of at least %d atoms, %.1f GB; at most %d GiB are written, every %d steps",
			q.frames, atoms, float64(q.frames)*float64(atoms)*bytesPerPosition/1e9, int64(maxTrajectoryBytes>>30),
			(steps+max(most, 1)-1)/max(most, 1))
	}
	return nil
}
