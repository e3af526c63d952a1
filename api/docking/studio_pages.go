package docking

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/internal/contract"
)

// studioRun is the page of a run, or of the batch that it docks.
type studioRun struct {
	Run     contract.DockingRun
	All     bool // a page of all results, not the best alone
	Results []contract.DockingResult
	More    string // address of the next page, or of all results
	Files   []page.Link
	best    float64 // score of the whole run, or of the page
}

// Ended counts the ligands with an outcome.
func (r studioRun) Ended() int { return r.Run.Counts.Completed + r.Run.Counts.Failed }

// Open counts the ligands without one.
func (r studioRun) Open() int { return max(r.Run.Counts.Total-r.Ended(), 0) }

// Bar is the length of a score's bar in percent of the best score's; "" for a score that binds nothing.
func (r studioRun) Bar(score *float64) string {
	if score == nil || *score >= 0 || r.best >= 0 {
		return ""
	}
	return strconv.FormatFloat(math.Min(*score/r.best, 1)*100, 'f', 1, 64)
}

// offered are the files of a run that its page offers, and what people call them.
var offered = []struct{ name, title string }{
	{"report.html", "Report"}, {"results.csv", "Results as a table"}, {"results.json", "Results as JSON"},
	{"best.sdf", "Best poses"}, {"receptor.pdb", "Receptor (PDB)"}, {"receptor.pdbqt", "Receptor (PDBQT)"},
	{"receptor.json", "Report on the receptor"}, {"box.json", "Box"}, {"redock.json", "Redocking"},
}

func (s *Service) studioBatch(ctx context.Context, accountID, id string, c *fiber.Ctx) (page.View, error) {
	batch, err := s.Batch(ctx, accountID, id)
	if err != nil {
		return page.View{}, err
	}
	if batch.RunID == nil {
		return page.View{}, noSuch("batch")
	}
	return s.studioOfRun(ctx, accountID, *batch.RunID, c)
}

func (s *Service) studioOfRun(ctx context.Context, accountID, id string, c *fiber.Ctx) (page.View, error) {
	if err := checkID("run_", "run", id); err != nil {
		return page.View{}, err
	}
	run, err := s.Run(ctx, accountID, id)
	if err != nil {
		return page.View{}, err
	}
	experiment, err := s.Experiment(ctx, accountID, run.ExperimentID)
	if err != nil {
		return page.View{}, err
	}
	view := studioRun{Run: run, All: c.Query("results") == "all"}
	if err := s.addResults(ctx, accountID, &view, c.Query("cursor")); err != nil {
		return page.View{}, err
	}
	if view.Files, err = s.offer(ctx, accountID, run); err != nil {
		return page.View{}, err
	}
	shown := page.View{Title: strconv.Itoa(run.LigandCount) + " " + plural(run.LigandCount, "ligand") + " into " + experiment.Name,
		Body: studioBody{Run: &view}, Refresh: refreshWhile(run.Status)}
	if view.All {
		shown.Up = []page.Link{{Name: "run", URL: run.UILinks.Studio}}
		shown.Refresh = 0 // what somebody reads through does not move
	}
	return shown, nil
}

// addResults adds the best results, or a page of all.
func (s *Service) addResults(ctx context.Context, accountID string, view *studioRun, cursor string) error {
	query := ResultQuery{Exportable: Exportable{Limit: pageResults, Cursor: cursor}}
	if !view.All {
		query = ResultQuery{Exportable: Exportable{Limit: topResults}}
	}
	page, err := s.Results(ctx, accountID, scope{runID: view.Run.RunID, sort: bestFirst(view.Run.RankBy)}, query)
	if err != nil {
		return err
	}
	view.Results = page.Results
	if !view.All { // the best are those with a score
		view.Results = slices.DeleteFunc(page.Results, func(r contract.DockingResult) bool { return r.BestScoreKcalMol == nil })
	}
	top, err := s.store.topResults(ctx, accountID, []string{view.Run.RunID}, 1)
	if err != nil {
		return err
	}
	for _, best := range top[view.Run.RunID] {
		view.best = best.BestScoreKcalMol
	}
	more := url.Values{"dockingRun": {view.Run.RunID}, "results": {"all"}}
	switch {
	case !view.All:
		view.More = studioPath + "?" + more.Encode()
	case page.NextCursor != nil:
		more.Set("cursor", *page.NextCursor)
		view.More = studioPath + "?" + more.Encode()
	}
	return nil
}

// offer are the files of a run to download, and its bundle once it has ended.
func (s *Service) offer(ctx context.Context, accountID string, run contract.DockingRun) (links []page.Link, err error) {
	names := make([]string, len(offered))
	for i, one := range offered {
		names[i] = one.name
	}
	files, err := s.store.named(ctx, accountID, run.JobID, names)
	if err != nil {
		return nil, err
	}
	for _, one := range offered {
		if id := files[one.name]; id != "" {
			links = append(links, page.Link{Name: one.title, URL: download(id)})
		}
	}
	if refreshWhile(run.Status) == 0 {
		links = append(links, page.Link{Name: "Bundle (RO-Crate)", URL: runsPath + run.RunID + "/bundle"},
			page.Link{Name: "Bundle with all poses", URL: runsPath + run.RunID + "/bundle?poses=true"})
	}
	return links, nil
}

// download leads to a file; its address is made when it is asked for.
func download(artifactID string) string {
	return artifactsPath + artifactID + "/download?redirect=true"
}

// studioResult is the page of a ligand.
type studioResult struct {
	Result   contract.DockingResult
	Poses    []contract.DockingPose
	Contacts []contract.DockingInteraction // of the best pose
}

func (s *Service) studioOfResult(ctx context.Context, accountID, id string, _ *fiber.Ctx) (page.View, error) {
	result, err := s.Result(ctx, accountID, id)
	if err != nil {
		return page.View{}, err
	}
	poses, err := s.Poses(ctx, accountID, id, byRank, PoseQuery{Exportable: Exportable{Limit: list.MaxPage}})
	if err != nil {
		return page.View{}, err
	}
	view := studioResult{Result: result, Poses: poses.Poses}
	if len(poses.Poses) > 0 {
		found, err := s.Interactions(ctx, accountID, poses.Poses[0].PoseID, InteractionQuery{})
		if err != nil {
			return page.View{}, err
		}
		view.Contacts = found.Interactions
	}
	run, err := s.store.run(ctx, accountID, result.RunID)
	if err != nil {
		return page.View{}, err
	}
	return page.View{
		Title: result.Label, Body: studioBody{Result: &view},
		Up:      []page.Link{{Name: "run", URL: studio("dockingRun", result.RunID).Studio}},
		Refresh: refreshWhile(run.Status),
	}, nil
}

// studioPose is the page of a pose.
type studioPose struct {
	Pose     contract.DockingPose
	Contacts []contract.DockingInteraction
	Files    []page.Link
}

func (s *Service) studioOfPose(ctx context.Context, accountID, id string, _ *fiber.Ctx) (page.View, error) {
	pose, err := s.Pose(ctx, accountID, id)
	if err != nil {
		return page.View{}, err
	}
	found, err := s.Interactions(ctx, accountID, id, InteractionQuery{})
	if err != nil {
		return page.View{}, err
	}
	view := studioPose{Pose: pose, Contacts: found.Interactions}
	for _, one := range []struct {
		title string
		file  *contract.DockingPoseArtifact
	}{{"All poses (SDF)", pose.Artifacts.SDF}, {"All poses (PDBQT)", pose.Artifacts.PDBQT},
		{"Complex with the receptor (PDB)", pose.Artifacts.ComplexPDB}} {
		if one.file != nil {
			view.Files = append(view.Files, page.Link{Name: one.title, URL: download(one.file.ArtifactID)})
		}
	}
	return page.View{
		Title: "Pose " + strconv.Itoa(pose.Rank) + " of " + pose.Label, Body: studioBody{Pose: &view},
		Up: []page.Link{{Name: "run", URL: studio("dockingRun", pose.RunID).Studio},
			{Name: "ligand", URL: studio("dockingResult", pose.ResultID).Studio}},
	}, nil
}
