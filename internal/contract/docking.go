package contract

import (
	"time"

	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/mol"
)

// Forecast is what would be docked into, as far as the receptor's file tells before anything has run. The job's own preparation
// decides; receptor.json says what it did.
type Forecast struct {
	Box        ForecastBox     `json:"box" doc:"Where the search will happen."`
	Components []ComponentFate `json:"components" doc:"What the file holds beside its chains, and what becomes of it: what stays first."`
	Notes      []string        `json:"notes" doc:"How the box was chosen, and what to look at before the docking."`
}

// ForecastBox is the box of a forecast.
type ForecastBox struct {
	Source         string          `json:"source" enum:"explicit,ligandFile,pocketLigand,pocketResidues,fpocket" doc:"Where the box comes from."`
	CenterAngstrom *mol.BoxCenter  `json:"centerAngstrom,omitempty" doc:"Its centre in Å; absent for a pocket that is still to be found."`
	SizeAngstrom   *mol.BoxSize    `json:"sizeAngstrom,omitempty" doc:"Its edges in Å; absent as the centre is."`
	Ligand         *ForecastLigand `json:"ligand,omitempty" doc:"The ligand of the receptor around which it lies."`
}

// ForecastLigand is a ligand of a receptor.
type ForecastLigand struct {
	ComponentID   string `json:"componentId" doc:"Residue name."`
	Chain         string `json:"chain" doc:"Its chain."`
	Residue       int    `json:"residue" doc:"Its residue number."`
	InsertionCode string `json:"insertionCode,omitempty" doc:"Its insertion code."`
	HeavyAtoms    int    `json:"heavyAtoms" doc:"How many heavy atoms of it are in the file."`
}

// ComponentFate is what becomes of the molecules of one component in the receptor's preparation, as far as its file tells.
type ComponentFate struct {
	Component string   `json:"component" doc:"Residue name."`
	Name      string   `json:"name,omitempty" doc:"The component's name, where it is a common one."`
	Class     string   `json:"class" enum:"cofactor,metal,additive,sugar,modified,water,ligand" doc:"What it is: a cofactor or metal belongs to the site, an additive to the crystal."`
	Status    string   `json:"status" enum:"kept,removed" doc:"Whether it is a part of the receptor that is docked into."`
	Why       string   `json:"why" doc:"Why it stays or goes."`
	Option    string   `json:"option,omitempty" enum:"retainComponents,removeComponents,waters" doc:"The member of receptorPreparation that changes this: when it names the component, or as waters structural."`
	Count     int      `json:"count" doc:"How many there are."`
	Residues  []string `json:"residues,omitempty" doc:"Where the first of them are: chain, residue number and insertion code."`
}

// UILinks lead to the browser's view of a resource.
type UILinks struct {
	Studio string `json:"studio" example:"/studio?dockingRun=run_0197" doc:"Relative link to the Studio. Use it as it is; it opens for who may see the resource."`
}

// DockingExperiment is a campaign against one receptor: every docking of the account into the same structure.
type DockingExperiment struct {
	ExperimentID string               `json:"experimentId" doc:"Id of the experiment."`
	Name         string               `json:"name" doc:"Name for people."`
	Receptor     DockingReceptorInput `json:"receptor" doc:"The structure that is docked into."`
	BatchIDs     []string             `json:"batchIds" doc:"The newest 100 of its batches, newest first; GET /v1/molecular/docking/batches?experimentId= lists all."`
	BatchCount   int                  `json:"batchCount" doc:"How many batches there are."`
	RunCount     int                  `json:"runCount" doc:"How many runs there are, those of batches included."`
	CreatedAt    time.Time            `json:"createdAt" doc:"When the first docking of it was submitted."`
}

// DockingReceptorInput is a receptor as it was given.
type DockingReceptorInput struct {
	PDBID      *string `json:"pdbId" doc:"Entry of the Protein Data Bank; null for a file."`
	StorageKey *string `json:"storageKey" doc:"Key of the file; null for an entry of the Protein Data Bank."`
	SHA256     *string `json:"sha256" doc:"SHA-256 of the file; null when it is not known."`
	Format     *string `json:"format" doc:"Format of the file; null when it is not known."`
}

// DockingExperimentList is a page of experiments.
type DockingExperimentList struct {
	Experiments []DockingExperiment `json:"experiments" doc:"Experiments, newest first."`
	NextCursor  *string             `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// DockingCounts are ligands by outcome.
type DockingCounts struct {
	Total     int `json:"total" doc:"All ligands."`
	Completed int `json:"completed" doc:"Ligands that are docked."`
	Failed    int `json:"failed" doc:"Ligands that could not be docked."`
}

// DockingProgress is how far a batch is.
type DockingProgress struct {
	Percent   float64 `json:"percent" minimum:"0" maximum:"100" doc:"Ligands with an outcome, of all; one decimal, rounded down."`
	Pending   int     `json:"pending" doc:"Ligands that wait."`
	Preparing int     `json:"preparing" doc:"Ligands that are being prepared."`
	Docking   int     `json:"docking" doc:"Ligands that wait for their docking, or are being docked."`
}

// DockingTopResult is one of a batch's best ligands.
type DockingTopResult struct {
	ResultID         string   `json:"resultId" doc:"Id of the result."`
	Rank             int      `json:"rank" minimum:"1" doc:"Place by score, so far."`
	LigandID         string   `json:"ligandId" doc:"The caller's id of the ligand."`
	Label            string   `json:"label" doc:"Name of the ligand for people."`
	BestScoreKcalMol float64  `json:"bestScoreKcalMol" doc:"Score of the best pose, in kcal/mol; lower is better."`
	LigandEfficiency *float64 `json:"ligandEfficiency" doc:"Score a heavy atom with the sign turned around, in kcal/mol; higher is better."`
	UILinks          UILinks  `json:"uiLinks" doc:"Where to look at it."`
}

// DockingBatch is a library that was docked as one job.
type DockingBatch struct {
	BatchID      string             `json:"batchId" doc:"Id of the batch."`
	ExperimentID string             `json:"experimentId" doc:"The experiment that it belongs to."`
	RunID        *string            `json:"runId" doc:"Its run, which holds the results."`
	JobID        string             `json:"jobId" doc:"The job that docks it."`
	Status       job.Status         `json:"status" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" doc:"State of the job."`
	Counts       DockingCounts      `json:"counts" doc:"Ligands by outcome, so far."`
	Progress     DockingProgress    `json:"progress" doc:"How far it is."`
	LigandCount  int                `json:"ligandCount" doc:"Ligands of the library."`
	ShardSize    int                `json:"shardSize" doc:"Most ligands a docking task."`
	Seed         int64              `json:"seed" doc:"Seed of every random choice."`
	TopResults   []DockingTopResult `json:"topResults" maxItems:"10" doc:"The best ten so far, best first; they change while the job runs."`
	CreatedAt    time.Time          `json:"createdAt" doc:"When it was submitted."`
	UILinks      UILinks            `json:"uiLinks" doc:"Where to look at it."`
}

// DockingBatchList is a page of batches.
type DockingBatchList struct {
	Batches    []DockingBatch `json:"batches" doc:"Batches, newest first."`
	NextCursor *string        `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// DockingEngine is the program that docks.
type DockingEngine struct {
	Name              string            `json:"name" example:"AutoDock Vina" doc:"The engine."`
	Version           *string           `json:"version" doc:"Its version, as it said; null before the first task has ended."`
	WorkerImageDigest *string           `json:"workerImageDigest" doc:"sha256: and a digest of the installation that ran it: of the container image, else of the receptor's toolchain; null when it is not known yet."`
	ScoringFunction   string            `json:"scoringFunction" example:"vina" doc:"What the scores are."`
	Programs          map[string]string `json:"programs" doc:"Program to version, of everything that took part so far."`
}

// DockingBox is the box that was searched.
type DockingBox struct {
	_      struct{}   `nullable:"true"`
	Center [3]float64 `json:"center" doc:"Centre in Å: x, y, z."`
	Size   [3]float64 `json:"size" doc:"Edges in Å: x, y, z."`
	Source string     `json:"source" enum:"explicit,ligandFile,pocketLigand,pocketResidues,fpocket" doc:"Where the box comes from."`
	Notes  []string   `json:"notes" doc:"What was noticed about it."`
}

// DockingReceptor is the receptor of a run as it was prepared. What is null is not known yet.
type DockingReceptor struct {
	Name              string                    `json:"name" doc:"Name for people: the PDB id, or the file's first name."`
	IdentitySHA256    *string                   `json:"identitySha256" doc:"SHA-256 of what the receptor is: its file, assembly, model and chains."`
	PreparationSHA256 *string                   `json:"preparationSha256" doc:"SHA-256 of how it was prepared."`
	ToolchainSHA256   *string                   `json:"toolchainSha256" doc:"SHA-256 of the programs that prepared it."`
	CacheKey          *string                   `json:"cacheKey" doc:"Key of the preparation, for dockingExecution.preparedReceptor."`
	PDBID             *string                   `json:"pdbId" doc:"Entry of the Protein Data Bank; null for a file."`
	Selection         *DockingReceptorSelection `json:"selection" doc:"Which part of the structure it is."`
	Protonation       *string                   `json:"protonation" doc:"How it got its hydrogens."`
	Preparation       DockingDocument           `json:"preparation" doc:"The preparation as it was used, with every default."`
	Reused            *bool                     `json:"reused" doc:"Whether an earlier preparation was taken over."`
	Notes             []string                  `json:"notes" doc:"What was noticed: what is missing, was removed or looked unusual."`
}

// DockingReceptorSelection is the part of a structure that is the receptor; null means the file as it is.
type DockingReceptorSelection struct {
	_          struct{} `nullable:"true"`
	AssemblyID *string  `json:"assemblyId" doc:"Biological assembly."`
	Model      *int     `json:"model" doc:"Model of a file with several."`
	Chains     []string `json:"chains" nullable:"true" doc:"Chains."`
}

// DockingRunValidation is the docking of the structure's own ligand, to see whether its pose is found.
type DockingRunValidation struct {
	_                   struct{} `nullable:"true"`
	NativeComponentID   string   `json:"nativeComponentId" doc:"Residue name of that ligand."`
	RedockRMSDAngstrom  *float64 `json:"redockRmsdAngstrom" doc:"Symmetry-corrected RMSD of the best-scored pose to the crystal pose, in Å; null before the redocking."`
	ClosestRMSDAngstrom *float64 `json:"closestRmsdAngstrom" doc:"The smallest RMSD of any pose, in Å."`
	GateRMSDAngstrom    *float64 `json:"gateRmsdAngstrom" doc:"Where the library is stopped, in Å; null when it never is."`
	Passed              *bool    `json:"passed" doc:"Whether the pose was found."`
	Converged           *bool    `json:"converged" doc:"Whether independent searches agree on its best pose; null with a fixed exhaustiveness, which does not tell."`
	CNNScore            *float64 `json:"cnnScore" doc:"Probability from 0 to 1, by GNINA's network, that its best pose is near to native."`
}

// DockingTiming is the time that a run took.
type DockingTiming struct {
	SubmittedAt        time.Time  `json:"submittedAt" doc:"When the job was submitted."`
	StartedAt          *time.Time `json:"startedAt" doc:"When its first task started."`
	FinishedAt         *time.Time `json:"finishedAt" doc:"When it ended."`
	WallSeconds        *float64   `json:"wallSeconds" doc:"From start to end; null before the end."`
	CPUSeconds         float64    `json:"cpuSeconds" doc:"CPU time of all attempts of all tasks, so far."`
	ReceptorCPUSeconds float64    `json:"receptorCpuSeconds" doc:"Of these, for the receptor."`
	DockCPUSeconds     float64    `json:"dockCpuSeconds" doc:"Of these, for docking."`
}

// DockingCost is the money of a run's job, in pounds.
type DockingCost struct {
	Estimated Pounds  `json:"estimated" doc:"Expected at submission."`
	Held      Pounds  `json:"held" doc:"Set aside; the job is never charged more. 0 once it has ended."`
	Accrued   Pounds  `json:"accrued" doc:"Metered so far."`
	Final     *Pounds `json:"final" nullable:"true" doc:"Charged, once the job has ended."`
	Currency  string  `json:"currency" minLength:"3" maxLength:"3" doc:"ISO 4217 code."`
}

// DockingRun is one docking job: the receptor, the box and the search that its results have in common.
type DockingRun struct {
	RunID              string                `json:"runId" doc:"Id of the run."`
	RequestID          *string               `json:"requestId" doc:"dockingRequest.requestId of the submission."`
	RequestRunID       *string               `json:"requestRunId" doc:"dockingRequest.runId of the submission: the caller's own name of the run."`
	ExperimentID       string                `json:"experimentId" doc:"The experiment that it belongs to."`
	BatchID            *string               `json:"batchId" doc:"The batch of a library; null for a single ligand."`
	JobID              string                `json:"jobId" doc:"The job that docks it."`
	JobName            string                `json:"jobName" doc:"Name of that job for people; empty when none was given."`
	Engine             DockingEngine         `json:"engine" doc:"The program that docks."`
	Box                *DockingBox           `json:"box" doc:"The box that is searched; null before it is known."`
	Exhaustiveness     int                   `json:"exhaustiveness" doc:"Independent searches a ligand; the most that one gets when exhaustivenessAuto is true."`
	ExhaustivenessAuto bool                  `json:"exhaustivenessAuto" doc:"Whether each ligand is searched until independent searches agree; its result says how many it took."`
	RankBy             string                `json:"rankBy" enum:"vina,cnn" doc:"What poses and ligands are ranked by: Vina's score, or the CNN's."`
	NumModes           int                   `json:"numModes" doc:"Most poses kept a ligand."`
	EnergyRangeKcalMol float64               `json:"energyRangeKcalMol" doc:"Poses this much worse than the best are dropped."`
	Seed               int64                 `json:"seed" doc:"Seed of every random choice."`
	CPUThreads         int                   `json:"cpuThreads" doc:"Threads a docking task."`
	LigandCount        int                   `json:"ligandCount" doc:"Ligands of the run."`
	Counts             DockingCounts         `json:"counts" doc:"Ligands by outcome, so far."`
	Receptor           DockingReceptor       `json:"receptor" doc:"The receptor as it was prepared."`
	Validation         *DockingRunValidation `json:"validation" doc:"The docking of the structure's own ligand; null when none was asked for."`
	ReproducesRunID    *string               `json:"reproducesRunId" doc:"The run that this one repeats."`
	Reproduction       *DockingReproduction  `json:"reproduction,omitempty" doc:"What the repetition found. Only where a repetition is read alone."`
	Timing             DockingTiming         `json:"timing" doc:"The time that it took."`
	Cost               DockingCost           `json:"cost" doc:"Money, in pounds."`
	Status             job.Status            `json:"status" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" doc:"State of the job."`
	CreatedAt          time.Time             `json:"createdAt" doc:"When it was submitted."`
	UILinks            UILinks               `json:"uiLinks" doc:"Where to look at it."`
}

// DockingRunList is a page of runs.
type DockingRunList struct {
	Runs       []DockingRun `json:"runs" doc:"Runs, newest first."`
	NextCursor *string      `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// DockingReproduceResponse is the receipt of a repetition.
type DockingReproduceResponse struct {
	RunID            string     `json:"runId" doc:"Id of the new run."`
	JobID            string     `json:"jobId" doc:"The job that docks it."`
	ReproducesRunID  string     `json:"reproducesRunId" doc:"The run that it repeats."`
	Status           job.Status `json:"status" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" doc:"State of the job: SUBMITTED, unless this is an answer given before."`
	EstimatedCost    Pounds     `json:"estimatedCost" doc:"Expected cost, in pounds."`
	Currency         string     `json:"currency" minLength:"3" maxLength:"3" doc:"ISO 4217 code."`
	IdempotentReplay bool       `json:"idempotentReplay,omitempty" doc:"True when an earlier request with the same idempotency key made the run."`
}

// DockingReproduction is what the repetition of a run found.
type DockingReproduction struct {
	_         struct{}               `nullable:"true"`
	OfRunID   string                 `json:"ofRunId" doc:"The run that was repeated."`
	Verdict   string                 `json:"verdict" enum:"PENDING,IDENTICAL,WITHIN_TOLERANCE,DIFFERENT" doc:"PENDING until both runs have ended. IDENTICAL: every ligand has the same poses to the byte. WITHIN_TOLERANCE: every ligand ended alike, with scores no further apart than the tolerance."`
	Tolerance DockingTolerance       `json:"tolerance" doc:"How far apart scores may be."`
	Reasons   []string               `json:"reasons" doc:"What differs: programs, receptor, box and search first, then up to ten ligands."`
	Compared  DockingComparedLigands `json:"compared" doc:"What was compared."`
}

// DockingTolerance is how far apart two runs may be.
type DockingTolerance struct {
	ScoreKcalMol float64 `json:"scoreKcalMol" doc:"Of two scores of a ligand, in kcal/mol."`
}

// DockingComparedLigands is what a comparison of two runs has counted.
type DockingComparedLigands struct {
	Ligands                   int      `json:"ligands" doc:"Ligands that both runs have."`
	Identical                 int      `json:"identical" doc:"Of these, ligands with the same poses to the byte, or the same failure."`
	ScoreDifferenceMaxKcalMol *float64 `json:"scoreDifferenceMaxKcalMol" doc:"The largest difference of two scores of a ligand; null when no ligand has two."`
}

// LigandQuery asks for a ligand.
type LigandQuery struct {
	Query string `json:"query" minLength:"1" maxLength:"512" doc:"Name, synonym or component id." example:"imatinib"`
}

// LigandCandidates is what a look-up found.
type LigandCandidates struct {
	Candidates []LigandCandidate `json:"candidates" doc:"At most 20, the best fit first."`
}

// LigandCandidate is a ligand that a query may mean.
type LigandCandidate struct {
	SourceID    string    `json:"sourceId" doc:"Id of the candidate in its source." example:"ccd:STI"`
	Name        string    `json:"name" doc:"Name of the component."`
	ComponentID *string   `json:"componentId" doc:"Id in the Chemical Component Dictionary." example:"STI"`
	Formula     *string   `json:"formula" doc:"Sum formula; null when it is not known." example:"C29 H31 N7 O"`
	InChIKey    *string   `json:"inchiKey" doc:"InChIKey; null when it is not known." example:"KTUFNOKKBVMGRW-UHFFFAOYSA-N"`
	SMILES      string    `json:"smiles" doc:"The structure, as SMILES."`
	Token       string    `json:"token" minLength:"32" maxLength:"8192" doc:"Confirms the candidate in a docking request of the same account."`
	ExpiresAt   time.Time `json:"expiresAt" doc:"Until when the token is good: 24 hours."`
}
