package docking

import (
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
)

// ExperimentQuery filters the list of experiments.
type ExperimentQuery struct {
	list.Query
	Q string `query:"q" maxLength:"200" doc:"Experiments whose name holds this text, in either case, or whose PDB id or experimentId it is."`
}

// BatchQuery filters the list of batches.
type BatchQuery struct {
	list.Query
	ExperimentID string   `query:"experimentId" maxLength:"64" doc:"Batches of this experiment."`
	Status       []string `query:"status,explode" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" maxItems:"8" doc:"Batches in any of these states; may be repeated."`
}

// RunQuery filters the list of runs.
type RunQuery struct {
	list.Query
	ExperimentID string   `query:"experimentId" maxLength:"64" doc:"Runs of this experiment."`
	BatchID      string   `query:"batchId" maxLength:"64" doc:"The run of this batch."`
	JobID        string   `query:"jobId" maxLength:"64" doc:"The run of this job."`
	Status       []string `query:"status,explode" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" maxItems:"8" doc:"Runs in any of these states; may be repeated."`
	RequestID    string   `query:"requestId" maxLength:"255" doc:"Runs whose dockingRequest.requestId this was."`
	RequestRunID string   `query:"requestRunId" maxLength:"255" doc:"Runs whose dockingRequest.runId this was."`
}

const (
	// typeSDF is what lists of results and of poses are exported as beside CSV.
	typeSDF = "chemical/x-mdl-sdfile"
	// maxExportLimit bounds an export. The largest run fits whole.
	maxExportLimit = 10_000
	// exportPage is how many rows of an export are in memory at once; of structures, the records of as many poses.
	exportPage = 250
)

// Exportable is embedded in the input of every list that is also exported as a table or as structures.
type Exportable struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"10000" doc:"Entries a page: 1 to 100, 20 when left out. Of CSV and SDF, entries of the whole answer: 1 to 10000, 10000 when left out."`
	Cursor string `query:"cursor" maxLength:"8192" doc:"The nextCursor of the page before, unchanged. It goes with the same filters and the same sort."`
	Accept string `header:"Accept" hidden:"true"`
}

// pageLimit is the limit of a page. Errors: fault.Validation.
func (e Exportable) pageLimit() (int, error) {
	return list.PageLimit(e.Limit, maxExportLimit, "in CSV or SDF")
}

// negotiate chooses the media type of a list.
func negotiate(accept string) string { return list.Negotiate(accept, list.CSV, typeSDF) }

// ResultQuery filters and sorts lists of results.
type ResultQuery struct {
	Exportable
	Status              []string               `query:"status,explode" enum:"PENDING,PREPARING,DOCKING,COMPLETED,FAILED" maxItems:"5" doc:"Results in any of these states; may be repeated."`
	FailureStage        string                 `query:"failureStage" enum:"parse,protonate,embed,dock,parse_output" doc:"Results that failed at this stage."`
	MaxScore            wire.Optional[float64] `query:"maxScore" minimum:"-1000000" maximum:"1000000" doc:"Results whose best score is this or lower, in kcal/mol."`
	MinLigandEfficiency wire.Optional[float64] `query:"minLigandEfficiency" minimum:"-1000000" maximum:"1000000" doc:"Results with this ligand efficiency or a higher one, in kcal/mol a heavy atom."`
	Interaction         []string               `query:"interaction,explode" minLength:"1" maxLength:"64" maxItems:"10" example:"A:ASP:381:hydrogen_bond" doc:"Results whose best pose has this interaction: chain:residueName:residue:type, an insertion code right behind the residue's number, * for any of a part. May be repeated: all are asked for."`
	LigandID            string                 `query:"ligandId" maxLength:"128" doc:"Results of the ligand with this id."`
	Q                   string                 `query:"q" maxLength:"200" doc:"Results whose label or ligandId holds this text, in either case."`
	InChIKey            string                 `query:"inchiKey" pattern:"^[A-Z]{14}(-[A-Z]{10}(-[A-Z])?)?$" patternDescription:"an InChIKey or its first blocks" doc:"Results of this compound; its first block alone finds every stereoisomer and protonation state."`
	PassedChecks        wire.Optional[bool]    `query:"passedChecks" doc:"Results whose best pose has passed every check, or has not."`
	Sort                string                 `query:"sort" enum:"score,-score,ligandEfficiency,-ligandEfficiency,cnnScore,-cnnScore,index,label,createdAt,-createdAt" doc:"score: best first, results without one last; ligandEfficiency and cnnScore: best first; index: as in the request; label: by code point; createdAt: oldest first. A minus turns the order around; what has no figure stays last. When left out: in the lists of a run or a batch what the run ranks by (score or cnnScore), -createdAt in the list of all."`
}

// PoseQuery filters lists of poses.
type PoseQuery struct {
	Exportable
	MaxScore wire.Optional[float64] `query:"maxScore" minimum:"-1000000" maximum:"1000000" doc:"Poses with this score or a lower one, in kcal/mol."`
}

// InteractionQuery filters the interactions of a pose.
type InteractionQuery struct {
	Type []string `query:"type,explode" enum:"hydrogen_bond,hydrophobic,pi_stacking,pi_cation,salt_bridge,halogen_bond,water_bridge,metal_complex" maxItems:"8" doc:"Interactions of any of these types; may be repeated."`
}
