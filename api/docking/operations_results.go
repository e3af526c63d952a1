package docking

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	resultsText = "Results of the account, one a ligand, newest first unless sort says otherwise. " + exportText
	runResults  = "Results of a run, best by its rankBy first unless sort says otherwise; while the job runs, those without a " +
		"figure yet come last. " + exportText
	batchResults = "Results of a batch, best by its rankBy first unless sort says otherwise; while the job runs, those without " +
		"a figure yet come last. " + exportText
	resultText  = "What became of one ligand."
	posesText   = "Poses of the account, newest first. " + poseExportText
	resultPoses = "Poses of a result, best first. " + poseExportText
	poseText    = "One pose of a ligand. Accept: chemical/x-mdl-sdfile gets exactly this pose as a structure, text/csv its " +
		"figures."
	contactsText = "Contacts between a pose and the receptor, by the receptor author's numbering. Before the analysis the list " +
		"is empty and analysed is false."
	exportText = "Accept: text/csv gets the same list as a table, chemical/x-mdl-sdfile the best pose of each result as a " +
		"structure with its figures as data items; both with the same filters and sort, whole up to limit. " + cellText
	poseExportText = "Accept: text/csv gets the same list as a table, chemical/x-mdl-sdfile the poses as structures with their " +
		"figures as data items. " + cellText
	cellText = "X-Total-Count tells how many entries there are, X-Truncated whether the answer stops before the last. A cell " +
		"that a spreadsheet would take for a formula begins with an apostrophe. An export that cannot go on breaks the connection."
)

type resultsInput struct{ ResultQuery }

type resultsOfInput struct {
	ID string `path:"id" doc:"Id of the run or of the batch."`
	ResultQuery
}

func registerResults(api huma.API, s *Service) {
	all := read("list-docking-results", "/results", "List docking results", resultsText)
	huma.Register(api, exported[contract.DockingResultList](api, all), s.listResults(api))
	ofRun := orGone(read("list-docking-run-results", "/runs/{id}/results", "List a docking run's results", runResults))
	huma.Register(api, exported[contract.DockingResultList](api, ofRun), s.listRunResults(api))
	ofBatch := orGone(read("list-docking-batch-results", "/batches/{id}/results", "List a docking batch's results", batchResults))
	huma.Register(api, exported[contract.DockingResultList](api, ofBatch), s.listBatchResults(api))
	huma.Register(api, read("get-docking-result", "/results/{id}", "Read a docking result", resultText), s.getResult)
}

func registerPoses(api huma.API, s *Service) {
	all := read("list-docking-poses", "/poses", "List docking poses", posesText)
	huma.Register(api, exported[contract.DockingPoseList](api, all), s.listPoses(api))
	ofResult := read("list-docking-result-poses", "/results/{id}/poses", "List a docking result's poses", resultPoses)
	huma.Register(api, exported[contract.DockingPoseList](api, ofResult), s.listResultPoses(api))
	one := read("get-docking-pose", "/poses/{id}", "Read a docking pose", poseText)
	huma.Register(api, exported[contract.DockingPose](api, one), s.getPose(api))
	huma.Register(api, read("list-docking-pose-interactions", "/poses/{id}/interactions", "List a docking pose's interactions",
		contactsText), s.getInteractions)
}

// exported documents the three media types of an operation whose JSON answer is a T.
func exported[T any](api huma.API, op huma.Operation) huma.Operation {
	return list.Documented[T](api, op, "CSV and SDF", list.CSV, typeSDF)
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
	if mediaType := negotiate(query.Accept); mediaType != list.JSON {
		return s.exportResults(ctx, accountID, of, query, mediaType)
	}
	answer, err := s.Results(ctx, accountID, of, query)
	return list.InJSON(api, answer, err)
}

func (s *Service) getResult(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the result."`
}) (*wire.Answer[contract.DockingResult], error) {
	return wire.Answered(s.Result(ctx, access.From(ctx).AccountID, in.ID))
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

func (s *Service) answerPoses(
	ctx context.Context, api huma.API, resultID string, o order, query PoseQuery,
) (*huma.StreamResponse, error) {
	accountID := access.From(ctx).AccountID
	if mediaType := negotiate(query.Accept); mediaType != list.JSON {
		return s.exportPoses(ctx, accountID, resultID, o, query, mediaType)
	}
	answer, err := s.Poses(ctx, accountID, resultID, o, query)
	return list.InJSON(api, answer, err)
}

type poseInput struct {
	ID     string `path:"id" doc:"Id of the pose."`
	Accept string `header:"Accept" hidden:"true"`
}

func (s *Service) getPose(api huma.API) func(context.Context, *poseInput) (*huma.StreamResponse, error) {
	return func(ctx context.Context, in *poseInput) (*huma.StreamResponse, error) {
		accountID := access.From(ctx).AccountID
		if mediaType := negotiate(in.Accept); mediaType != list.JSON {
			return s.exportPose(ctx, accountID, in.ID, mediaType)
		}
		pose, err := s.Pose(ctx, accountID, in.ID)
		return list.InJSON(api, pose, err)
	}
}

func (s *Service) getInteractions(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the pose."`
	InteractionQuery
}) (*wire.Answer[contract.DockingInteractions], error) {
	return wire.Answered(s.Interactions(ctx, access.From(ctx).AccountID, in.ID, in.InteractionQuery))
}
