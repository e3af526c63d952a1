package contract

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// DockingDocument is a JSON object as it is stored; null before it is known.
type DockingDocument json.RawMessage

// Schema describes an object with any members; it is shown and never read.
func (DockingDocument) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Nullable: true}
}

// MarshalJSON writes the text.
func (d DockingDocument) MarshalJSON() ([]byte, error) {
	if len(d) == 0 {
		return []byte("null"), nil
	}
	return d, nil
}

// UnmarshalJSON keeps the text.
func (d *DockingDocument) UnmarshalJSON(text []byte) error {
	*d = append((*d)[:0], text...)
	return nil
}

// DockingResult is what became of one ligand.
type DockingResult struct {
	ResultID         string   `json:"resultId" doc:"Id of the result."`
	RunID            string   `json:"runId" doc:"The run that it belongs to."`
	BatchID          *string  `json:"batchId" doc:"The batch of a library; null for a single ligand."`
	LigandIndex      int      `json:"ligandIndex" minimum:"0" doc:"Place of the ligand in the request."`
	LigandID         string   `json:"ligandId" doc:"The caller's id of the ligand."`
	Label            string   `json:"label" doc:"Name for people."`
	Source           string   `json:"source" enum:"ccd,smiles,artifact" doc:"How the ligand was given."`
	InputSMILES      *string  `json:"inputSmiles" doc:"The SMILES that was given, or that its component or file stands for."`
	CanonicalSMILES  *string  `json:"canonicalSmiles" doc:"Canonical SMILES of the ligand as given, without salts."`
	DockedSMILES     *string  `json:"dockedSmiles" doc:"SMILES of what was docked: protonated, with every stereocentre."`
	InChIKey         *string  `json:"inchiKey" doc:"InChIKey of the canonical structure."`
	FormalCharge     *int     `json:"formalCharge" doc:"Charge of what was docked."`
	HeavyAtoms       *int     `json:"heavyAtoms" doc:"Atoms of it but hydrogens."`
	RotatableBonds   *int     `json:"rotatableBonds" doc:"Bonds of it that were turned."`
	Status           string   `json:"status" enum:"PENDING,PREPARING,DOCKING,COMPLETED,FAILED" doc:"State of the ligand."`
	FailureStage     *string  `json:"failureStage" doc:"Where it failed: parse, protonate, embed, dock or parse_output."`
	Error            *string  `json:"error" doc:"What was wrong, and the next step."`
	Rank             *int     `json:"rank" doc:"Place in the run by its rankBy, from 1, so far."`
	BestScoreKcalMol *float64 `json:"bestScoreKcalMol" doc:"Score of the best pose, in kcal/mol; lower is better."`
	CNNScore         *float64 `json:"cnnScore" doc:"Probability from 0 to 1, by GNINA's network, that the best pose is near to native; null before the analysis, and where the network was not at hand."`
	CNNAffinityPk    *float64 `json:"cnnAffinityPk" doc:"Affinity of the best pose that the network predicts, as pK; higher is better."`
	LigandEfficiency *float64 `json:"ligandEfficiency" doc:"Score a heavy atom with the sign turned around, in kcal/mol; higher is better."`
	PoseCount        int      `json:"poseCount" doc:"Poses that were kept."`
	PassedChecks     *bool    `json:"passedChecks" doc:"Whether the best pose has passed every check; null before they ran."`
	Interactions     []string `json:"interactions" nullable:"true" doc:"Interactions of the best pose, as chain:residueName:residue:type; null before the analysis."`
	Notes            []string `json:"notes" doc:"What was noticed: salts taken off, centres chosen and so on."`
	DockCPUSeconds   *float64 `json:"dockCpuSeconds" doc:"CPU time of the search."`
	// Convergence is null for a search of a fixed length: nobody has looked.
	Convergence *DockingConvergence `json:"convergence" doc:"How independent searches of the ligand agreed; null before it was docked, and with a fixed exhaustiveness, which does not tell."`
	CreatedAt   time.Time           `json:"createdAt" doc:"When it was submitted."`
	UpdatedAt   time.Time           `json:"updatedAt" doc:"When it changed last."`
	UILinks     UILinks             `json:"uiLinks" doc:"Where to look at it."`
}

// DockingConvergence is how independent searches of a ligand agreed.
type DockingConvergence struct {
	_                  struct{}       `nullable:"true"`
	Converged          bool           `json:"converged" doc:"Whether two of them or more have found the best pose. When false, dock the ligand with more exhaustiveness."`
	Exhaustiveness     int            `json:"exhaustiveness" minimum:"1" doc:"Exhaustiveness of all rounds together."`
	AgreeingRounds     int            `json:"agreeingRounds" minimum:"0" doc:"Rounds that have found the best pose: within 1.5 Å and 0.5 kcal/mol of it."`
	ScoreSpreadKcalMol float64        `json:"scoreSpreadKcalMol" minimum:"0" doc:"Difference between the rounds' best scores, in kcal/mol."`
	PoseSpreadAngstrom float64        `json:"poseSpreadAngstrom" minimum:"0" doc:"Largest symmetry-corrected RMSD of a round's best pose to the best of all, in Å."`
	Rounds             []DockingRound `json:"rounds" doc:"The searches, each independent of the others, in their order."`
}

// DockingRound is one of a ligand's independent searches.
type DockingRound struct {
	Seed               int64    `json:"seed" doc:"Seed of AutoDock Vina; with it and the exhaustiveness, Vina finds the round's poses again."`
	Exhaustiveness     int      `json:"exhaustiveness" minimum:"1" doc:"Exhaustiveness of the round."`
	BestScoreKcalMol   *float64 `json:"bestScoreKcalMol" doc:"Its best score, in kcal/mol; null when it found nothing."`
	RMSDToBestAngstrom *float64 `json:"rmsdToBestAngstrom" doc:"Symmetry-corrected RMSD of its best pose to the best of all rounds, in Å."`
	FoundBest          bool     `json:"foundBest" doc:"Whether it has found the best pose of all."`
}

// DockingResultList is a page of results.
type DockingResultList struct {
	Results    []DockingResult `json:"results" doc:"Results, in the order of sort."`
	NextCursor *string         `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// DockingTerms are what a score consists of, in kcal/mol.
type DockingTerms struct {
	Inter     float64 `json:"inter" doc:"Between ligand and receptor."`
	Intra     float64 `json:"intra" doc:"Within the ligand."`
	Torsional float64 `json:"torsional" doc:"For the bonds that turn."`
	Unbound   float64 `json:"unbound" doc:"Of the ligand alone."`
}

// DockingPoseChecks are checks whether a pose is chemically and physically sound.
type DockingPoseChecks struct {
	_      struct{}        `nullable:"true"`
	Passed bool            `json:"passed" doc:"Whether all were passed."`
	Tool   string          `json:"tool" example:"PoseBusters 0.6.5" doc:"What made the checks."`
	Tests  map[string]bool `json:"tests" doc:"Each check and whether it was passed."`
}

// DockingPoseArtifacts are the files with a pose's coordinates. What is null does not exist, or not yet.
type DockingPoseArtifacts struct {
	SDF        *DockingPoseArtifact `json:"sdf" doc:"The ligand's poses with bond orders and charges, one record a pose."`
	PDBQT      *DockingPoseArtifact `json:"pdbqt" doc:"The ligand's poses as the engine wrote them, one model a pose."`
	ComplexPDB *DockingPoseArtifact `json:"complexPdb" doc:"Receptor and pose together; of the best ligands' best poses alone."`
}

// DockingPose is one pose of a ligand.
type DockingPose struct {
	PoseID                string               `json:"poseId" doc:"Id of the pose."`
	ResultID              string               `json:"resultId" doc:"The result that it belongs to."`
	RunID                 string               `json:"runId" doc:"The run that it belongs to."`
	LigandID              string               `json:"ligandId" doc:"The caller's id of the ligand."`
	Label                 string               `json:"label" doc:"Name of the ligand for people."`
	Rank                  int                  `json:"rank" minimum:"1" doc:"Place among the ligand's poses, best first."`
	VinaRank              int                  `json:"vinaRank" minimum:"1" doc:"Place among the ligand's poses by Vina's score, and its model in the PDBQT."`
	CNNScore              *float64             `json:"cnnScore" doc:"Probability from 0 to 1, by GNINA's network, that the pose is near to native; null before the analysis, and where the network was not at hand."`
	CNNAffinityPk         *float64             `json:"cnnAffinityPk" doc:"Affinity of the pose that the network predicts, as pK; higher is better."`
	ScoreKcalMol          float64              `json:"scoreKcalMol" doc:"Score in kcal/mol; lower is better."`
	RMSDLowerBound        float64              `json:"rmsdLowerBound" doc:"Lower bound of the distance to the best pose, in Å."`
	RMSDUpperBound        float64              `json:"rmsdUpperBound" doc:"Upper bound of the distance to the best pose, in Å."`
	Terms                 DockingTerms         `json:"terms" doc:"What the score consists of."`
	ReferenceRMSDAngstrom *float64             `json:"referenceRmsdAngstrom" doc:"RMSD to the structure's own ligand, in Å; null where the ligand is another."`
	Checks                *DockingPoseChecks   `json:"checks" doc:"Checks of the pose; null before they ran, and where they did not."`
	Analysed              bool                 `json:"analysed" doc:"Whether its interactions are known."`
	Artifacts             DockingPoseArtifacts `json:"artifacts" doc:"The files with its coordinates."`
	CreatedAt             time.Time            `json:"createdAt" doc:"When it was stored."`
	UILinks               UILinks              `json:"uiLinks" doc:"Where to look at it."`
}

// DockingPoseList is a page of poses.
type DockingPoseList struct {
	Poses      []DockingPose `json:"poses" doc:"Poses: of a result best first, else newest first."`
	NextCursor *string       `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// DockingInteraction is one contact between a ligand and the receptor.
type DockingInteraction struct {
	Type             string                     `json:"type" enum:"hydrogen_bond,hydrophobic,pi_stacking,pi_cation,salt_bridge,halogen_bond,water_bridge,metal_complex" doc:"Kind of contact."`
	Receptor         DockingInteractionReceptor `json:"receptor" doc:"The receptor's atom, by its author's numbering."`
	Ligand           DockingInteractionLigand   `json:"ligand" doc:"The ligand's atoms."`
	DistanceAngstrom float64                    `json:"distanceAngstrom" doc:"Distance in Å."`
	AngleDegrees     *float64                   `json:"angleDegrees" doc:"Angle in degrees; null where the kind has none."`
	Method           *DockingMethod             `json:"method" doc:"What found it; null when that is not known."`
}

// DockingInteractionReceptor is the receptor's side of a contact.
type DockingInteractionReceptor struct {
	Chain         string `json:"chain" doc:"Chain."`
	Residue       int    `json:"residue" doc:"Number of the residue."`
	InsertionCode string `json:"insertionCode" doc:"Insertion code of the residue; mostly empty."`
	ResidueName   string `json:"residueName" doc:"Name of the residue."`
	AtomName      string `json:"atomName" doc:"Name of the atom."`
	AtomSerial    *int   `json:"atomSerial" doc:"Serial of the atom in the given file; null for an atom that was added."`
}

// DockingInteractionLigand is the ligand's side of a contact.
type DockingInteractionLigand struct {
	AtomIndices []int `json:"atomIndices" doc:"Heavy atoms, from 0, as they stand in the pose's SDF record."`
}

// DockingMethod is a program that found something.
type DockingMethod struct {
	_       struct{} `nullable:"true"`
	Tool    string   `json:"tool" example:"ProLIF" doc:"The program."`
	Version string   `json:"version" doc:"Its version."`
}

// DockingInteractions are the contacts of a pose.
type DockingInteractions struct {
	PoseID       string               `json:"poseId" doc:"Id of the pose."`
	Analysed     bool                 `json:"analysed" doc:"False before the analysis, and for poses beyond those that are analysed; then the list is empty."`
	Interactions []DockingInteraction `json:"interactions" doc:"Contacts, by residue."`
}

// DockingVerification says whether a stored file still is what its digest says.
type DockingVerification struct {
	Status     string     `json:"status" enum:"PENDING,VERIFIED,FAILED" doc:"PENDING: not looked yet, or the store was away. FAILED: it is gone or has other bytes."`
	VerifiedAt *time.Time `json:"verifiedAt" doc:"When it was looked at last."`
}

// DockingArtifact is a stored file: the contract's artifact reference, and whether it still holds.
type DockingArtifact struct {
	Schema       string              `json:"schema" enum:"service.docking.artifact/v1" doc:"Always service.docking.artifact/v1."`
	ArtifactID   string              `json:"artifactId" doc:"Id of the file."`
	StorageKey   string              `json:"storageKey" doc:"May be an artifact of another job."`
	SHA256       string              `json:"sha256" doc:"64 lower-case hexadecimal digits."`
	ByteSize     int64               `json:"byteSize" minimum:"0" doc:"Size in bytes."`
	MediaType    string              `json:"mediaType" doc:"Media type."`
	Format       string              `json:"format" doc:"Format of the content: pdb, pdbqt, sdf, json, csv and so on."`
	Name         string              `json:"name" doc:"File name, unique within its task."`
	Role         string              `json:"role" enum:"result,frame,log,preview,provenance,checkpoint" doc:"What the file is."`
	JobID        string              `json:"jobId" doc:"The job that made it."`
	Verification DockingVerification `json:"verification" doc:"Whether it still is what its digest says."`
}

// DockingPoseArtifact is a file that holds a pose, mostly among others.
type DockingPoseArtifact struct {
	_ struct{} `nullable:"true"`
	DockingArtifact
	Record int `json:"record" minimum:"1" doc:"Place of the pose in the file: its record in SDF, its model in PDBQT."`
}

// DockingDownload is a short-lived address of a file.
type DockingDownload struct {
	URL       string          `json:"url" doc:"Address of the file; never store it."`
	ExpiresAt time.Time       `json:"expiresAt" doc:"Until when the address is good."`
	Artifact  DockingArtifact `json:"artifact" doc:"The file."`
}

// ScoreToleranceKcalMol is how far two scores of a ligand may be apart that was docked twice: far less than Vina's scores are off
// by themselves (standard error 2.85 kcal/mol against measured affinities, Trott and Olson 2010, doi:10.1002/jcc.21334).
const ScoreToleranceKcalMol = 0.1

// The verdicts of a DockingReproduction.
const (
	VerdictPending         = "PENDING"
	VerdictIdentical       = "IDENTICAL"
	VerdictWithinTolerance = "WITHIN_TOLERANCE"
	VerdictDifferent       = "DIFFERENT"
)

// Flaws are the names of the checks that the pose has not passed, sorted.
func (p DockingPose) Flaws() []string {
	if p.Checks == nil {
		return nil
	}
	return slices.Sorted(func(yield func(string) bool) {
		for name, passed := range p.Checks.Tests {
			if !passed && !yield(name) {
				return
			}
		}
	})
}
