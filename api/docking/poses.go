package docking

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// poseList is what a query for poses comes to.
type poseList struct {
	filter poseFilter
	order  order
	bound  list.Bound
	from   *place
}

// poseListOf reads a query for all poses, or for those of a result in their order. Errors: fault.Validation,
// fault.InvalidCursor.
func poseListOf(resultID string, o order, query PoseQuery) (l poseList, err error) {
	l = poseList{filter: poseFilter{ResultID: resultID, MaxScore: query.MaxScore.OrNil()}, order: o}
	if l.filter.MaxScore != nil && math.IsNaN(*l.filter.MaxScore) {
		return l, fault.New(fault.Validation, "maxScore: expected a number")
	}
	l.bound = list.Bind("poses", o.key, l.filter)
	l.from, err = o.read(query.Cursor, l.bound)
	return l, err
}

// Poses reads a page of poses. Errors: fault.Validation, fault.InvalidCursor.
func (s *Service) Poses(
	ctx context.Context, accountID, resultID string, o order, query PoseQuery,
) (contract.DockingPoseList, error) {
	l, err := poseListOf(resultID, o, query)
	if err != nil {
		return contract.DockingPoseList{}, err
	}
	limit, err := query.pageLimit()
	if err != nil {
		return contract.DockingPoseList{}, err
	}
	rows, err := s.store.poses(ctx, accountID, l.filter, o, l.from, limit+1)
	if err != nil {
		return contract.DockingPoseList{}, err
	}
	rows, next := cut(rows, limit, l.bound, poseRow.place)
	answer := contract.DockingPoseList{NextCursor: next}
	answer.Poses, err = s.showPoses(ctx, accountID, rows)
	return answer, err
}

// showPoses adds to poses the files that they are in.
func (s *Service) showPoses(ctx context.Context, accountID string, rows []poseRow) ([]contract.DockingPose, error) {
	files, err := s.store.artifacts(ctx, accountID, filesOf(rows))
	if err != nil {
		return nil, err
	}
	return viewAll(rows, func(r poseRow) (contract.DockingPose, error) { return r.view(files) })
}

// Pose reads one of the account's poses. Errors: fault.NotFound.
func (s *Service) Pose(ctx context.Context, accountID, id string) (contract.DockingPose, error) {
	row, err := s.findPose(ctx, accountID, id)
	if err != nil {
		return contract.DockingPose{}, err
	}
	views, err := s.showPoses(ctx, accountID, []poseRow{row})
	if err != nil {
		return contract.DockingPose{}, err
	}
	return views[0], nil
}

// Interactions reads the interactions of one of the account's poses, of some types or of all. Errors: fault.NotFound.
func (s *Service) Interactions(
	ctx context.Context, accountID, id string, query InteractionQuery,
) (contract.DockingInteractions, error) {
	row, err := s.findPose(ctx, accountID, id)
	if err != nil {
		return contract.DockingInteractions{}, err
	}
	found, err := row.contacts()
	if err != nil {
		return contract.DockingInteractions{}, err
	}
	answer := contract.DockingInteractions{PoseID: id, Analysed: row.Interactions != nil,
		Interactions: []contract.DockingInteraction{}}
	for _, one := range found {
		if len(query.Type) == 0 || slices.Contains(query.Type, one.Type) {
			answer.Interactions = append(answer.Interactions, one)
		}
	}
	return answer, nil
}

// PosesOf reads a result's poses, best first. Errors: fault.NotFound.
func (s *Service) PosesOf(ctx context.Context, accountID, resultID string) ([]contract.DockingPose, error) {
	if err := checkID("result_", "result", resultID); err != nil {
		return nil, err
	}
	found, err := s.Poses(ctx, accountID, resultID, byRank, PoseQuery{Exportable: Exportable{Limit: list.MaxPage}})
	return found.Poses, err
}

// BestPose is the best pose of the run's best ligand so far, by what the run ranks by. Errors: fault.NotFound, also when nothing
// has been docked yet.
func (s *Service) BestPose(ctx context.Context, accountID, runID string) (poseID string, err error) {
	row, err := s.findRun(ctx, accountID, runID)
	if err != nil {
		return "", err
	}
	run, err := row.view(s.deps.Currency)
	if err != nil {
		return "", err
	}
	best, err := s.store.results(ctx, accountID, resultFilter{RunID: run.RunID, Statuses: []string{statusCompleted}},
		sorts[bestFirst(run.RankBy)], nil, 1)
	if err != nil {
		return "", err
	}
	if len(best) == 0 {
		return "", fault.New(fault.NotFound, "runId: nothing has been docked yet")
	}
	poses, err := s.store.poses(ctx, accountID, poseFilter{ResultID: best[0].ID}, byRank, nil, 1)
	if err != nil {
		return "", err
	}
	if len(poses) == 0 {
		return "", fault.New(fault.NotFound, "runId: its best ligand has no pose")
	}
	return poses[0].ID, nil
}

func (s *Service) findPose(ctx context.Context, accountID, id string) (poseRow, error) {
	if err := checkID("pose_", "pose", id); err != nil {
		return poseRow{}, err
	}
	return s.store.pose(ctx, accountID, id)
}

// exportPoses answers with a list of poses as a table or as structures. Errors: those of Poses, fault.RateLimited,
// fault.ProviderUnavailable.
func (s *Service) exportPoses(
	ctx context.Context, accountID, resultID string, o order, query PoseQuery, mediaType string,
) (*huma.StreamResponse, error) {
	l, err := poseListOf(resultID, o, query)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(query.Limit, maxExportLimit)
	total, err := s.store.countPoses(ctx, accountID, l.filter)
	if err != nil {
		return nil, err
	}
	return s.beginPoses(ctx, accountID, list.Export{MediaType: mediaType, Header: list.CountedHeader(total, limit)}, limit, l.from,
		func(ctx context.Context, from *place, n int) ([]poseRow, error) {
			return s.store.poses(ctx, accountID, l.filter, o, from, n)
		})
}

// exportPose answers with one pose as a table or as a structure. Errors: fault.NotFound, fault.RateLimited,
// fault.ProviderUnavailable.
func (s *Service) exportPose(ctx context.Context, accountID, id, mediaType string) (*huma.StreamResponse, error) {
	row, err := s.findPose(ctx, accountID, id)
	if err != nil {
		return nil, err
	}
	if mediaType == typeSDF && !row.SDFArtifact.Valid {
		return nil, fault.New(fault.NotFound, "poseId: this pose has no structure in SDF; read its artifacts")
	}
	return s.beginPoses(ctx, accountID, list.Export{MediaType: mediaType, Header: list.CountedHeader(1, 1)}, 1, nil,
		func(context.Context, *place, int) ([]poseRow, error) {
			return []poseRow{row}, nil
		})
}

func (s *Service) beginPoses(
	ctx context.Context, accountID string, x list.Export, limit int, from *place,
	read func(context.Context, *place, int) ([]poseRow, error),
) (*huma.StreamResponse, error) {
	x.Filename = "docking-poses.csv"
	write := func(_ context.Context, poses []posed) ([]byte, error) { return table(poseColumns, poses) }
	head, err := header(poseColumns)
	if err != nil {
		return nil, err
	}
	if x.MediaType == typeSDF {
		x.Filename, head, write = "docking-poses.sdf", nil, s.drawPoses
	}
	rows := list.Rows[poseRow, place]{Head: head, From: from, Limit: limit, Page: exportPage, Read: read, At: poseRow.place}
	rows.Write = func(ctx context.Context, rows []poseRow) ([]byte, error) {
		views, err := s.showPoses(ctx, accountID, rows)
		if err != nil {
			return nil, err
		}
		poses := make([]posed, len(rows))
		for i, row := range rows {
			poses[i].DockingPose = views[i]
			if poses[i].contacts, err = row.contacts(); err != nil {
				return nil, err
			}
		}
		return write(ctx, poses)
	}
	x.Next = rows.Next
	return s.exports.Begin(ctx, accountID, x)
}
