package cli

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/mol"
)

// Bounds of doc/contract.md §2.2.
const (
	maxDynamicsBytes      = 2147483648
	maxProductionSteps    = 50_000_000
	maxEquilibrationSteps = 250_000
	maxDynamicsSeed       = math.MaxInt32
)

const (
	// stateRowsPerFrame is how much finer energies are written than positions: they are small, and errors want many values.
	stateRowsPerFrame = 10
	// maxStateRows is what the service writes of them.
	maxStateRows = 1_000_000
	// framesPerCheckpoint of a run that does not say otherwise.
	framesPerCheckpoint = 10
	// fewestFrames of a run that does not say how often to save.
	fewestFrames = 100
	// minimisationTolerance is OpenMM's own default, in kJ/mol/nm.
	minimisationTolerance = 10
)

var (
	structureFormats = map[string]string{"pdb": mol.FormatPDB, "ent": mol.FormatPDB, "cif": mol.FormatMMCIF,
		"mmcif": mol.FormatMMCIF}
	amberFormats    = map[string]string{"inpcrd": formatInpcrd, "rst7": formatInpcrd, "crd": formatInpcrd, "restrt": formatInpcrd}
	topologyFormats = map[string]string{"prmtop": formatPrmtop, "parm7": formatPrmtop, "top": formatPrmtop}
	dynamicsBound   = fileBound{maxDynamicsBytes, "a file of a simulation may have at most " + bytesText(maxDynamicsBytes)}
	devicesForm     = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{1,3}){0,3}$`)
	imageForm       = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// dynamics is what `md` is asked to do.
type dynamics struct {
	structure   dynamicsFile
	prmtop      *dynamicsFile // of an Amber system
	protocol    dynamicsProtocol
	outputs     dynamicsOutputs
	platform    dynamicsPlatform
	workerImage string
	resumable   bool
	earlier     *earlierRun // to go on from
	name        string      // of the job
	folder      string      // where the results go; "" to leave them on the server
}

type dynamicsFile struct{ path, format string }

// earlierRun is a run to go on from.
type earlierRun struct {
	start       dynamicsArtifact
	provenance  *restartProvenance // nil when the run goes on as another system, which it does not describe
	protocol    dynamicsProtocol
	outputs     dynamicsOutputs // zero where its provenance does not tell
	platform    dynamicsPlatform
	workerImage string
}

// mdOptions is the command line, read and checked as far as that needs no server. Times are in fs.
type mdOptions struct {
	dynamics
	time, nvt, npt, saveEvery, checkpointEvery float64
	steps                                      int64
	minimise, portable                         bool
	given                                      func(flag string) bool
}

// read reads the flags and looks at the files that they name.
func (f *mdFlags) read(structure string) (mdOptions, error) {
	o := mdOptions{steps: f.steps, minimise: f.minimise, portable: f.portable, given: f.cmd.Flags().Changed}
	o.name, o.folder, o.resumable = f.name, f.folder, f.resumable
	for _, check := range []func(*mdOptions) error{f.checkTogether, f.readTimes, f.readPhysics, f.readPlatform} {
		if err := check(&o); err != nil {
			return mdOptions{}, err
		}
	}
	formats := structureFormats
	what := "a structure must be a .pdb or .cif file, or with --prmtop an .inpcrd or .rst7 file; .gz is taken too"
	if f.prmtop != "" {
		formats, what = amberFormats, "the coordinates of an Amber system must be an .inpcrd, .rst7 or .crd file"
		topology, err := dynamicsInputFile(f.prmtop, topologyFormats, "an Amber topology must be a .prmtop, .parm7 or .top file")
		if err != nil {
			return mdOptions{}, err
		}
		o.prmtop = &topology
	}
	var err error
	if o.structure, err = dynamicsInputFile(structure, formats, what); err != nil {
		return mdOptions{}, err
	}
	if o.name == "" {
		o.name = shorten("dynamics of "+stem(structure), maxLabelChars)
	}
	return o, nil
}

func dynamicsInputFile(path string, formats map[string]string, what string) (dynamicsFile, error) {
	format := formats[formatOf(path)]
	if format == "" {
		return dynamicsFile{}, usage("%s: %s", path, what)
	}
	return dynamicsFile{path: path, format: format}, checkPlain(path, dynamicsBound)
}

// checkTogether refuses flags that exclude or need each other.
func (f *mdFlags) checkTogether(*mdOptions) error {
	given, leaves := f.cmd.Flags().Changed, f.detach || !f.watch
	switch {
	case given("time") == given("steps"):
		return usage("give the length of the run as --time, such as --time 10ns, or as --steps")
	case f.detach && given("watch") && f.watch:
		return usage("--watch and --detach exclude each other")
	case f.estimate && leaves || f.folder != "" && (f.estimate || leaves):
		return usage("--estimate, --detach and --output exclude each other")
	case f.prmtop != "" && (given("forcefield") || given("water")):
		return usage("--forcefield and --water belong to a protein; an Amber system (--prmtop) brings its own parameters")
	case f.prmtop != "" && (given("ph") || given("ionic-strength")):
		return usage("--ph and --ionic-strength belong to a protein; an Amber system (--prmtop) has its hydrogens and ions")
	case f.restart != "" && (given("nvt") || given("npt") || given("minimise")):
		return usage("--restart goes on from a run that has settled; leave --nvt, --npt and --minimise out")
	case f.restart != "" && (given("ph") || given("ionic-strength")):
		return usage("--restart goes on with the atoms that are there; leave --ph and --ionic-strength out")
	case f.portable && f.restart == "":
		return usage("--portable belongs to --restart")
	}
	return nil
}

func (f *mdFlags) readTimes(o *mdOptions) error {
	for _, flag := range []struct {
		name, text string
		into       *float64
	}{
		{"--time", f.time, &o.time}, {"--timestep", f.timestep, &o.protocol.TimestepFs}, {"--nvt", f.nvt, &o.nvt},
		{"--npt", f.npt, &o.npt}, {"--save-every", f.saveEvery, &o.saveEvery},
		{"--checkpoint-every", f.checkpointEvery, &o.checkpointEvery},
	} {
		if flag.text == "" && !o.given(flag.name[2:]) {
			continue
		}
		var err error
		if *flag.into, err = parseQuantity(flag.name, flag.text, timeUnits); err != nil {
			return err
		}
	}
	if step := o.protocol.TimestepFs; step < 0.5 || step > 4 {
		return usage("--timestep %s: must be 0.5fs to 4fs; 2fs is usual", f.timestep)
	}
	return nil
}

func (f *mdFlags) readPhysics(o *mdOptions) error {
	p := &o.protocol
	var err error
	if p.TemperatureK, err = parseQuantity("--temperature", f.temperature, temperatureUnits); err != nil {
		return err
	}
	if p.PressureBar, err = parseQuantity("--pressure", f.pressure, pressureUnits); err != nil {
		return err
	}
	for _, bound := range []struct {
		flag, unit       string
		value, low, high float64
	}{
		{"temperature", "K", p.TemperatureK, 250, 350}, {"pressure", "bar", p.PressureBar, 0.5, 2}, {"ph", "", f.ph, 0, 14},
		{"ionic-strength", " mol/l", f.ionicStrength, 0, 0.5}, {"friction", " per ps", f.friction, 0.1, 10},
	} {
		if !(bound.value >= bound.low && bound.value <= bound.high) {
			return usage("--%s %g%s: must be %g to %g%s", bound.flag, bound.value, bound.unit, bound.low, bound.high, bound.unit)
		}
	}
	p.PH, p.IonicStrengthM, p.FrictionPerPs = f.ph, f.ionicStrength, f.friction
	p.Constraints, p.NonbondedMethod, p.RemoveCenterOfMassMotion = "HBonds", "PME", true
	p.ForceField, p.WaterModel = f.forceField, f.water
	if f.prmtop != "" {
		p.ForceField, p.WaterModel = forceFieldAmberPrmtop, waterInputParameters
	} else if err := oneOf("--forcefield", f.forceField, "amber14", "amber19"); err != nil {
		return err
	} else if err := oneOf("--water", f.water, "tip3p", "tip3pfb"); err != nil {
		return err
	}
	if p.Seed = f.seed; o.given("seed") && (p.Seed < 1 || p.Seed > maxDynamicsSeed) {
		return usage("--seed %d: must be 1 to %d", f.seed, maxDynamicsSeed)
	}
	return nil
}

func (f *mdFlags) readPlatform(o *mdOptions) error {
	if err := oneOf("--platform", f.platform, platformCPU, "CUDA", "OpenCL"); err != nil {
		return err
	}
	if err := oneOf("--precision", f.precision, "single", "mixed", "double"); err != nil {
		return err
	}
	switch {
	case !devicesForm.MatchString(f.devices):
		return usage("--devices %q: must be the numbers of 1 to 4 GPUs, such as 0 or 0,1", f.devices)
	case f.platform == platformCPU && o.given("devices"):
		return usage("--devices belongs to --platform CUDA or OpenCL")
	case f.workerImage != "" && !imageForm.MatchString(f.workerImage):
		return usage("--worker-image %q: must be sha256: and 64 lower-case hexadecimal digits", f.workerImage)
	}
	o.platform = dynamicsPlatform{Name: f.platform, Precision: f.precision, DeviceIndex: f.devices}
	o.workerImage = f.workerImage
	return nil
}

func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usage("%s %s: must be %s or %s", flag, value, strings.Join(allowed[:len(allowed)-1], ", "), allowed[len(allowed)-1])
}

// settle makes a run of the options. Of an earlier run, which may be nil, it takes over what the command line does not say.
func (o mdOptions) settle(earlier *earlierRun) (dynamics, error) {
	d := o.dynamics
	if earlier != nil {
		o.takeOver(&d, *earlier)
	}
	if d.protocol.Seed == 0 {
		d.protocol.Seed = randomSeed()
	}
	if d.platform.Name == platformCPU {
		d.platform.DeviceIndex = "cpu"
	}
	d.workerImage = first(d.workerImage, anyWorkerImage)
	err := o.settleSteps(&d)
	return d, err
}

// takeOver goes on with another run's physics: a checkpoint belongs to them, its seed included.
func (o mdOptions) takeOver(d *dynamics, e earlierRun) {
	p, before := &d.protocol, e.protocol
	for flag, values := range map[string][2]*float64{
		"temperature": {&p.TemperatureK, &before.TemperatureK}, "pressure": {&p.PressureBar, &before.PressureBar},
		"ph": {&p.PH, &before.PH}, "ionic-strength": {&p.IonicStrengthM, &before.IonicStrengthM},
		"timestep": {&p.TimestepFs, &before.TimestepFs}, "friction": {&p.FrictionPerPs, &before.FrictionPerPs},
	} {
		if !o.given(flag) {
			*values[0] = *values[1]
		}
	}
	if !o.given("seed") {
		p.Seed = before.Seed
	}
	if d.prmtop == nil && !o.given("forcefield") {
		p.ForceField = before.ForceField
	}
	if d.prmtop == nil && !o.given("water") {
		p.WaterModel = before.WaterModel
	}
	if !o.given("platform") {
		d.platform.Name = e.platform.Name
	}
	if !o.given("precision") {
		d.platform.Precision = first(e.platform.Precision, d.platform.Precision)
	}
	d.workerImage = first(d.workerImage, e.workerImage)
	d.earlier = &e
}

// settleSteps turns times into steps.
func (o mdOptions) settleSteps(d *dynamics) error {
	p, step := &d.protocol, d.protocol.TimestepFs
	p.ProductionSteps = o.steps
	if o.given("time") {
		p.ProductionSteps = stepsOf(o.time, step)
	}
	if p.ProductionSteps < 1 || p.ProductionSteps > maxProductionSteps {
		return usage("the run has %d steps of %g fs; it must have 1 to %d, at most %s", p.ProductionSteps, step, maxProductionSteps,
			timeText(maxProductionSteps*step))
	}
	p.Minimization.Enabled, p.Minimization.ToleranceKjMolNm = o.minimise && d.earlier == nil, minimisationTolerance
	if d.earlier == nil {
		p.Equilibration.NVTSteps, p.Equilibration.NPTSteps = stepsOf(o.nvt, step), stepsOf(o.npt, step)
	}
	for flag, steps := range map[string]int64{"--nvt": p.Equilibration.NVTSteps, "--npt": p.Equilibration.NPTSteps} {
		if steps > maxEquilibrationSteps {
			return usage("%s: %d steps of %g fs; at most %d are taken, %s", flag, steps, step, maxEquilibrationSteps,
				timeText(maxEquilibrationSteps*step))
		}
	}
	return o.settleIntervals(d)
}

// settleIntervals decides how often to write: as the earlier run did, so that both make one trajectory, else by the run's length.
// Frames are analysed whenever they are written.
func (o mdOptions) settleIntervals(d *dynamics) error {
	total, step := d.protocol.ProductionSteps, d.protocol.TimestepFs
	var before dynamicsOutputs
	if d.earlier != nil && !o.given("save-every") {
		before = d.earlier.intervals(step, total)
	}
	frame := stepsOf(o.saveEvery, step)
	if !o.given("save-every") {
		frame = cmp.Or(before.Trajectory, min(frame, max(total/fewestFrames, 1)))
	}
	if frame < 1 || frame > total {
		return usage("--save-every %s: must be at least a step of %g fs, and at most the run's %s", timeText(o.saveEvery), step,
			timeText(float64(total)*step))
	}
	state := frame
	if frame%stateRowsPerFrame == 0 && total/(frame/stateRowsPerFrame) <= maxStateRows {
		state = frame / stateRowsPerFrame
	}
	if before.State > 0 && total/before.State <= maxStateRows {
		state = before.State
	}
	checkpoint := cmp.Or(before.Checkpoint, min(frame*framesPerCheckpoint, total))
	if o.given("checkpoint-every") {
		checkpoint = stepsOf(o.checkpointEvery, step)
	}
	if checkpoint < 1 {
		return usage("--checkpoint-every %s: must be at least a step of %g fs", timeText(o.checkpointEvery), step)
	}
	d.outputs = dynamicsOutputs{Trajectory: frame, State: state, Checkpoint: checkpoint, Analysis: frame, Format: "dcd"}
	return nil
}

// intervals are those of the run in steps of another one's time step, at most as many as that one has; 0 where they are not known.
func (e earlierRun) intervals(timestepFs float64, total int64) dynamicsOutputs {
	again := func(steps int64) int64 {
		if steps < 1 {
			return 0
		}
		return min(max(stepsOf(float64(steps)*e.protocol.TimestepFs, timestepFs), 1), total)
	}
	steps := e.outputs
	return dynamicsOutputs{Trajectory: again(steps.Trajectory), State: again(steps.State), Checkpoint: again(steps.Checkpoint)}
}

// randomSeed is 1 to maxDynamicsSeed.
func randomSeed() int64 {
	var bits [4]byte
	_, _ = rand.Read(bits[:]) // never fails
	return 1 + int64(binary.LittleEndian.Uint32(bits[:])%(maxDynamicsSeed-1))
}

// text says what a run is, in a line.
func (d dynamics) text() string {
	p := d.protocol
	said := fmt.Sprintf("%s in %d steps of %g fs at %g K, %s, on %s; seed %d", timeText(float64(p.ProductionSteps)*p.TimestepFs),
		p.ProductionSteps, p.TimestepFs, p.TemperatureK, fieldText(p), d.platform.Name, p.Seed)
	if d.earlier != nil {
		said += "; going on from " + map[string]string{formatCheckpoint: "the checkpoint",
			formatStateXML: "the state"}[d.earlier.start.Format] + " of an earlier run"
	}
	return said
}

func fieldText(p dynamicsProtocol) string {
	if p.ForceField == forceFieldAmberPrmtop {
		return "the parameters of its topology"
	}
	return p.ForceField + " with " + p.WaterModel + " water"
}
