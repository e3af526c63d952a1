package docking

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
)

const (
	resultsText    = "Results of the account, one a ligand, newest first unless sort says otherwise. " + exportText
	runResults     = "Results of a run, best by its rankBy first unless sort says otherwise; while the job runs, those without a figure yet come last. " + exportText
	batchResults   = "Results of a batch, best by its rankBy first unless sort says otherwise; while the job runs, those without a figure yet come last. " + exportText
	resultText     = "What became of one ligand."
	posesText      = "Poses of the account, newest first. " + poseExportText
	resultPoses    = "Poses of a result, best first. " + poseExportText
	poseText       = "One pose of a ligand. Accept: chemical/x-mdl-sdfile gets exactly this pose as a structure, text/csv its figures."
	contactsText   = "Contacts between a pose and the receptor, by the receptor author's numbering. Before the analysis the list is empty and analysed is false."
	exportText     = "Accept: text/csv gets the same list as a table, chemical/x-mdl-sdfile the best pose of each result as a structure with its figures as data items; both with the same filters and sort, whole up to limit. " + cellText
	poseExportText = "Accept: text/csv gets the same list as a table, chemical/x-mdl-sdfile the poses as structures with their figures as data items. " + cellText
	cellText       = "X-Total-Count tells how many entries there are, X-Truncated whether the answer stops before the last. A cell that a spreadsheet would take for a formula begins with an apostrophe. An export that cannot go on breaks the connection."
)

type resultsInput struct{ ResultQuery }

type resultsOfInput struct {
	ID string `path:"id" doc:"Id of the run or of the batch."`
	ResultQuery
}

func registerResults(api huma.API, s *Service) {
	results := reflect.TypeFor[DockingResultList]()
	huma.Register(api, exported(api, read("list-docking-results", "/results", "List docking results", resultsText), results), s.listResults(api))
	huma.Register(api, exported(api, read("list-docking-run-results", "/runs/{id}/results", "List a docking run's results", runResults), results), s.listRunResults(api))
	huma.Register(api, exported(api, read("list-docking-batch-results", "/batches/{id}/results", "List a docking batch's results", batchResults), results), s.listBatchResults(api))
	huma.Register(api, read("get-docking-result", "/results/{id}", "Read a docking result", resultText), s.getResult)
}

func registerPoses(api huma.API, s *Service) {
	poses := reflect.TypeFor[DockingPoseList]()
	huma.Register(api, exported(api, read("list-docking-poses", "/poses", "List docking poses", posesText), poses), s.listPoses(api))
	huma.Register(api, exported(api, read("list-docking-result-poses", "/results/{id}/poses", "List a docking result's poses", resultPoses), poses), s.listResultPoses(api))
	huma.Register(api, exported(api, read("get-docking-pose", "/poses/{id}", "Read a docking pose", poseText), reflect.TypeFor[DockingPose]()), s.getPose(api))
	huma.Register(api, read("list-docking-pose-interactions", "/poses/{id}/interactions", "List a docking pose's interactions", contactsText), s.getInteractions)
}

// exported documents the three media types of an operation whose JSON answer is of a type.
func exported(api huma.API, op huma.Operation, body reflect.Type) huma.Operation {
	file := &huma.Schema{Type: huma.TypeString}
	op.Responses = map[string]*huma.Response{"200": {
		Description: "OK",
		Content: map[string]*huma.MediaType{
			typeJSON: {Schema: api.OpenAPI().Components.Schemas.Schema(body, true, "")},
			typeCSV:  {Schema: file},
			typeSDF:  {Schema: file},
		},
		Headers: map[string]*huma.Param{
			"X-Total-Count": {Description: "Of CSV and SDF: how many entries there are.", Schema: &huma.Schema{Type: huma.TypeInteger}},
			"X-Truncated":   {Description: "Of CSV and SDF: whether the answer stops before the last entry.", Schema: &huma.Schema{Type: huma.TypeBoolean}},
		},
	}}
	return op
}

// inJSON is an answer in JSON of an operation that can also answer otherwise.
func inJSON(api huma.API, body any, err error) (*huma.StreamResponse, error) {
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("Content-Type", typeJSON)
		out.SetHeader("Vary", "Accept")
		out.SetStatus(http.StatusOK)
		if err := api.Marshal(out.BodyWriter(), typeJSON, body); err != nil {
			panic(err) // a view that JSON cannot write is a fault of ours; the front door answers it
		}
	}}, nil
}

func (s *Service) listResults(api huma.API) func(context.Context, *resultsInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *resultsInput) (*huma.StreamResponse, error) {
		return s.answerResults(ctx, api, scope{sort: "-createdAt"}, in.ResultQuery)
	}
}

func (s *Service) listRunResults(api huma.API) func(context.Context, *resultsOfInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *resultsOfInput) (*huma.StreamResponse, error) {
		run, err := s.findRun(ctx, access.From(ctx).AccountID, in.ID)
		if err != nil {
			return nil, err
		}
		return s.answerResults(ctx, api, scope{runID: run.ID, sort: bestFirst(run.RankBy)}, in.ResultQuery)
	}
}

func (s *Service) listBatchResults(api huma.API) func(context.Context, *resultsOfInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *resultsOfInput) (*huma.StreamResponse, error) {
		batch, err := s.findBatch(ctx, access.From(ctx).AccountID, in.ID)
		if err != nil {
			return nil, err
		}
		return s.answerResults(ctx, api, scope{batchID: batch.ID, sort: bestFirst(batch.RankBy.String)}, in.ResultQuery)
	}
}

// bestFirst is the sort of results that is a run's own.
func bestFirst(rankBy string) string {
	if rankBy == rankByCNN {
		return "cnnScore"
	}
	return "score"
}

func (s *Service) answerResults(ctx context.Context, api huma.API, of scope, query ResultQuery) (*huma.StreamResponse, error) {
	accountID := access.From(ctx).AccountID
	if mediaType := negotiate(query.Accept); mediaType != typeJSON {
		return s.exportResults(ctx, accountID, of, query, mediaType)
	}
	list, err := s.Results(ctx, accountID, of, query)
	return inJSON(api, list, err)
}

func (s *Service) getResult(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the result."`
}) (*answer[DockingResult], error) {
	return answered(s.Result(ctx, access.From(ctx).AccountID, in.ID))
}

type posesInput struct {
	ResultID string `query:"resultId" maxLength:"64" doc:"Poses of this result."`
	PoseQuery
}

func (s *Service) listPoses(api huma.API) func(context.Context, *posesInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *posesInput) (*huma.StreamResponse, error) {
		return s.answerPoses(ctx, api, in.ResultID, newest, in.PoseQuery)
	}
}

type resultPosesInput struct {
	ID string `path:"id" doc:"Id of the result."`
	PoseQuery
}

func (s *Service) listResultPoses(api huma.API) func(context.Context, *resultPosesInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *resultPosesInput) (*huma.StreamResponse, error) {
		result, err := s.Result(ctx, access.From(ctx).AccountID, in.ID)
		if err != nil {
			return nil, err
		}
		return s.answerPoses(ctx, api, result.ResultID, byRank, in.PoseQuery)
	}
}

func (s *Service) answerPoses(ctx context.Context, api huma.API, resultID string, o order, query PoseQuery) (*huma.StreamResponse, error) {
	accountID := access.From(ctx).AccountID
	if mediaType := negotiate(query.Accept); mediaType != typeJSON {
		return s.exportPoses(ctx, accountID, resultID, o, query, mediaType)
	}
	list, err := s.Poses(ctx, accountID, resultID, o, query)
	return inJSON(api, list, err)
}

type poseInput struct {
	ID     string `path:"id" doc:"Id of the pose."`
	Accept string `header:"Accept" hidden:"true"`
}

func (s *Service) getPose(api huma.API) func(context.Context, *poseInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *poseInput) (*huma.StreamResponse, error) {
		accountID := access.From(ctx).AccountID
		if mediaType := negotiate(in.Accept); mediaType != typeJSON {
			return s.exportPose(ctx, accountID, in.ID, mediaType)
		}
		pose, err := s.Pose(ctx, accountID, in.ID)
		return inJSON(api, pose, err)
	}
}

func (s *Service) getInteractions(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the pose."`
	InteractionQuery
}) (*answer[DockingInteractions], error) {
	return answered(s.Interactions(ctx, access.From(ctx).AccountID, in.ID, in.InteractionQuery))
}
