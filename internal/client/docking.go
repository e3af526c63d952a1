package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/molfabric/molfabric/internal/job"
)

const dockingPath = "/v1/molecular/docking"

// DockingCounts are ligands by outcome.
type DockingCounts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// DockingRun is one docking job: receptor, box and search. What is nil is not known yet.
type DockingRun struct {
	Document
	RunID           string        `json:"runId"`
	BatchID         *string       `json:"batchId"` // of a library; nil for a single ligand
	JobID           string        `json:"jobId"`
	JobName         string        `json:"jobName"` // "" for none
	Status          job.Status    `json:"status"`
	LigandCount     int           `json:"ligandCount"`
	Counts          DockingCounts `json:"counts"` // so far
	Seed            int64         `json:"seed"`
	ReproducesRunID *string       `json:"reproducesRunId"` // the run that this one repeats
	// Reproduction is what a repetition has found; nil for other runs, and in lists.
	Reproduction *Reproduction `json:"reproduction"`
	Receptor     struct {
		Name        string  `json:"name"` // its PDB id or its file's name
		PDBID       *string `json:"pdbId"`
		Protonation *string `json:"protonation"`
		Reused      *bool   `json:"reused"`
	} `json:"receptor"`
	Box *struct {
		Center [3]float64 `json:"center"` // Å
		Size   [3]float64 `json:"size"`   // Å
		Source string     `json:"source"`
	} `json:"box"`
	Validation *struct {
		NativeComponentID  string   `json:"nativeComponentId"`
		RedockRMSDAngstrom *float64 `json:"redockRmsdAngstrom"`
		Passed             *bool    `json:"passed"`
	} `json:"validation"`
	CreatedAt time.Time `json:"createdAt"`
}

// DockingRuns is a page of runs, newest first.
type DockingRuns struct {
	Document
	Runs       []DockingRun `json:"runs"`
	NextCursor *string      `json:"nextCursor"`
}

// RunFilter narrows a list of runs; zero values do not.
type RunFilter struct {
	Page
	JobID  string
	Status []string
}

// DockingResult is what became of one ligand.
type DockingResult struct {
	ResultID         string   `json:"resultId"`
	RunID            string   `json:"runId"`
	LigandID         string   `json:"ligandId"`
	Label            string   `json:"label"`
	CanonicalSMILES  *string  `json:"canonicalSmiles"`
	Status           string   `json:"status"` // PENDING, PREPARING, DOCKING, COMPLETED or FAILED
	FailureStage     *string  `json:"failureStage"`
	Error            *string  `json:"error"`
	Rank             *int     `json:"rank"` // by score from 1, so far
	BestScoreKcalMol *float64 `json:"bestScoreKcalMol"`
	LigandEfficiency *float64 `json:"ligandEfficiency"` // kcal/mol a heavy atom
	PoseCount        int      `json:"poseCount"`
	PassedChecks     *bool    `json:"passedChecks"`
	Interactions     []string `json:"interactions"` // of the best pose, chain:residueName:residue:type; nil before the analysis
}

// DockingResults is a page of results in the order of the filter's sort.
type DockingResults struct {
	Document
	Results    []DockingResult `json:"results"`
	NextCursor *string         `json:"nextCursor"`
}

// ResultFilter narrows and sorts a list of results; zero values do not.
type ResultFilter struct {
	Page
	Status       []string
	MaxScore     *float64 // kcal/mol
	Interactions []string // chain:residueName:residue:type, each part perhaps "*"; all are asked for
	LigandID     string   // as the submission gave it
	Text         string   // part of a label or of a ligand's id
	PassedChecks *bool
	Sort         string // as the API names it: score, -score, ligandEfficiency, cnnScore, index, label, createdAt …
}

func (f ResultFilter) query() url.Values {
	query := f.Page.query()
	for _, status := range f.Status {
		query.Add("status", status)
	}
	for _, interaction := range f.Interactions {
		query.Add("interaction", interaction)
	}
	if f.MaxScore != nil {
		query.Set("maxScore", strconv.FormatFloat(*f.MaxScore, 'g', -1, 64))
	}
	if f.LigandID != "" {
		query.Set("ligandId", f.LigandID)
	}
	if f.Text != "" {
		query.Set("q", f.Text)
	}
	if f.PassedChecks != nil {
		query.Set("passedChecks", strconv.FormatBool(*f.PassedChecks))
	}
	if f.Sort != "" {
		query.Set("sort", f.Sort)
	}
	return query
}

// DockingPose is one pose of a ligand.
type DockingPose struct {
	PoseID                string   `json:"poseId"`
	Rank                  int      `json:"rank"` // among the ligand's poses, from 1
	ScoreKcalMol          float64  `json:"scoreKcalMol"`
	CNNScore              *float64 `json:"cnnScore"`       // 0 to 1; nil where the network was not at hand
	CNNAffinityPk         *float64 `json:"cnnAffinityPk"`  // likewise
	RMSDLowerBound        float64  `json:"rmsdLowerBound"` // Å, to the best pose
	RMSDUpperBound        float64  `json:"rmsdUpperBound"`
	ReferenceRMSDAngstrom *float64 `json:"referenceRmsdAngstrom"` // to the structure's own ligand
	Checks                *struct {
		Passed bool            `json:"passed"`
		Tool   string          `json:"tool"`
		Tests  map[string]bool `json:"tests"`
	} `json:"checks"`
	Analysed bool `json:"analysed"`
}

// DockingPoses is a page of a result's poses, best first.
type DockingPoses struct {
	Document
	Poses      []DockingPose `json:"poses"`
	NextCursor *string       `json:"nextCursor"`
}

// Interaction is one contact between a ligand and the receptor.
type Interaction struct {
	Type     string `json:"type"`
	Receptor struct {
		Chain         string `json:"chain"`
		Residue       int    `json:"residue"`
		InsertionCode string `json:"insertionCode"`
		ResidueName   string `json:"residueName"`
		AtomName      string `json:"atomName"`
		AtomSerial    *int   `json:"atomSerial"` // in the given file; nil for an atom that was added
	} `json:"receptor"`
	Ligand struct {
		AtomIndices []int `json:"atomIndices"` // heavy atoms from 0, as in the pose's SDF record
	} `json:"ligand"`
	DistanceAngstrom float64  `json:"distanceAngstrom"`
	AngleDegrees     *float64 `json:"angleDegrees"`
	Method           *struct {
		Tool    string `json:"tool"`
		Version string `json:"version"`
	} `json:"method"`
}

// Interactions are the contacts of a pose.
type Interactions struct {
	Document
	PoseID       string        `json:"poseId"`
	Analysed     bool          `json:"analysed"` // false: nobody has looked, and the list is empty
	Interactions []Interaction `json:"interactions"`
}

// Candidate is a molecule that a look-up has found.
type Candidate struct {
	SourceID    string    `json:"sourceId"`
	Name        string    `json:"name"`
	ComponentID *string   `json:"componentId"`
	Formula     string    `json:"formula"`
	SMILES      string    `json:"smiles"`
	Token       string    `json:"token"` // for a ligand's confirmation
	ExpiresAt   time.Time `json:"expiresAt"`
}

// Candidates are the answer to a look-up.
type Candidates struct {
	Document
	Candidates []Candidate `json:"candidates"`
}

// ReproduceReceipt is the answer to a reproduction; amounts are in Currency's main unit.
type ReproduceReceipt struct {
	Document
	RunID           string      `json:"runId"` // the new one
	JobID           string      `json:"jobId"`
	ReproducesRunID string      `json:"reproducesRunId"`
	EstimatedCost   json.Number `json:"estimatedCost"`
	Currency        string      `json:"currency"`
	Status          job.Status  `json:"status"`
}

// The verdicts of a Reproduction.
const (
	VerdictPending         = "PENDING"
	VerdictIdentical       = "IDENTICAL"
	VerdictWithinTolerance = "WITHIN_TOLERANCE"
	VerdictDifferent       = "DIFFERENT"
)

// Reproduction is what the repetition of a run has found.
type Reproduction struct {
	OfRunID   string `json:"ofRunId"`
	Verdict   string `json:"verdict"`
	Tolerance struct {
		ScoreKcalMol float64 `json:"scoreKcalMol"` // of two scores of a ligand
	} `json:"tolerance"`
	Reasons  []string `json:"reasons"` // what differs
	Compared struct {
		Ligands                   int      `json:"ligands"`
		Identical                 int      `json:"identical"` // with the same poses to the byte, or the same failure
		ScoreDifferenceMaxKcalMol *float64 `json:"scoreDifferenceMaxKcalMol"`
	} `json:"compared"`
}

// DockingRuns reads a page of the account's runs.
func (c *Client) DockingRuns(ctx context.Context, filter RunFilter) (DockingRuns, error) {
	query := filter.query()
	if filter.JobID != "" {
		query.Set("jobId", filter.JobID)
	}
	for _, status := range filter.Status {
		query.Add("status", status)
	}
	var runs DockingRuns
	err := c.do(ctx, call{method: http.MethodGet, path: dockingPath + "/runs", query: query, into: &runs})
	return runs, err
}

// DockingRun reads a run, by its id or by the name that its submission gave it.
func (c *Client) DockingRun(ctx context.Context, runID string) (DockingRun, error) {
	var run DockingRun
	err := c.do(ctx, call{method: http.MethodGet, path: runPath(runID, ""), into: &run})
	return run, err
}

// RunOfJob finds the run of a docking job; found is false for a job that has none, or none yet.
func (c *Client) RunOfJob(ctx context.Context, jobID string) (run DockingRun, found bool, err error) {
	runs, err := c.DockingRuns(ctx, RunFilter{Page: Page{Limit: 1}, JobID: jobID})
	if err != nil {
		return DockingRun{}, false, err
	}
	for _, run := range runs.Runs {
		if run.JobID == jobID {
			return run, true, nil
		}
	}
	return DockingRun{}, false, nil
}

// DockingResults reads a page of a run's results.
func (c *Client) DockingResults(ctx context.Context, runID string, filter ResultFilter) (DockingResults, error) {
	var results DockingResults
	err := c.do(ctx, call{method: http.MethodGet, path: runPath(runID, "/results"), query: filter.query(), into: &results})
	return results, err
}

// The media types that ExportResults knows.
const (
	MediaCSV = "text/csv"
	MediaSDF = "chemical/x-mdl-sdfile"
)

// ExportResults writes a run's results to the file at destination, as a table (MediaCSV) or as structures (MediaSDF). The file
// appears under its name only when it is whole. The filter's Limit may be up to 10,000; 0 means all.
func (c *Client) ExportResults(ctx context.Context, runID string, filter ResultFilter, mediaType, destination string) error {
	return c.save(ctx, call{
		method: http.MethodGet, path: runPath(runID, "/results"), query: filter.query(), header: map[string]string{"Accept": mediaType},
	}, destination)
}

// Bundle writes a run's provenance bundle, a zip of an RO-Crate, to the file at destination, which appears under its name only
// when it is whole.
func (c *Client) Bundle(ctx context.Context, runID, destination string) error {
	return c.save(ctx, call{method: http.MethodGet, path: runPath(runID, "/bundle"), header: map[string]string{"Accept": "application/zip"}}, destination)
}

// DockingPoses reads a page of a result's poses.
func (c *Client) DockingPoses(ctx context.Context, resultID string, page Page) (DockingPoses, error) {
	var poses DockingPoses
	path := dockingPath + "/results/" + url.PathEscape(resultID) + "/poses"
	err := c.do(ctx, call{method: http.MethodGet, path: path, query: page.query(), into: &poses})
	return poses, err
}

// Interactions reads the contacts of a pose; types narrows them to these, none of them does not.
func (c *Client) Interactions(ctx context.Context, poseID string, types []string) (Interactions, error) {
	query := url.Values{}
	for _, kind := range types {
		query.Add("type", kind)
	}
	var interactions Interactions
	path := dockingPath + "/poses/" + url.PathEscape(poseID) + "/interactions"
	err := c.do(ctx, call{method: http.MethodGet, path: path, query: query, into: &interactions})
	return interactions, err
}

// ResolveLigand looks a name, a synonym or a component id up.
func (c *Client) ResolveLigand(ctx context.Context, query string) (Candidates, error) {
	var candidates Candidates
	err := c.do(ctx, call{
		method: http.MethodPost, path: dockingPath + "/ligands/resolve", body: map[string]string{"query": query}, idempotent: true, into: &candidates,
	})
	return candidates, err
}

// Reproduce submits a run again with its inputs and its seed pinned. It repeats itself safely under a key of its own.
func (c *Client) Reproduce(ctx context.Context, runID string) (ReproduceReceipt, error) {
	var receipt ReproduceReceipt
	err := c.do(ctx, call{
		method: http.MethodPost, path: runPath(runID, "/reproduce"), idempotent: true, into: &receipt,
		header: map[string]string{"Idempotency-Key": uuid.NewString()},
	})
	return receipt, err
}

func runPath(runID, rest string) string { return dockingPath + "/runs/" + url.PathEscape(runID) + rest }
