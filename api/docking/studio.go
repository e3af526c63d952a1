package docking

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	// studioPath is where the studio is served.
	studioPath = "/studio"
	// artifactsPath and runsPath are where a browser with a session downloads from.
	artifactsPath, runsPath = "/api" + base + "/artifacts/", "/api" + base + "/runs/"
	// refreshSeconds is how often a page of a job that runs is read again.
	refreshSeconds = 5
	// homeRuns is how many runs the page without a subject lists.
	homeRuns = 20
	// pageResults is how many results a page of all lists.
	pageResults = 50
)

var (
	//go:embed studio/studio.html
	studioHTML string
	//go:embed studio/studio.css
	studioCSS string

	studioPages = page.New(page.Source{HTML: studioHTML, CSS: studioCSS, Words: studioWords,
		Home: page.Link{Name: "runs", URL: studioPath}})
)

// Mount adds the page that uiLinks lead to (doc/contract.md §9, rule 6). signedIn comes before it: it lets browsers with a session
// through and puts whose it is into the request's context.
func (s *Service) Mount(app *fiber.App, signedIn fiber.Handler) {
	app.Get(studioPath, signedIn, s.studio)
}

// studioBody is what the page shows: one of these.
type studioBody struct {
	Project string // address of a project
	Home    *studioHome
	Run     *studioRun
	Result  *studioResult
	Pose    *studioPose
}

// studioHome lists the newest runs.
type studioHome struct{ Runs []contract.DockingRun }

// subjects are what the page shows, by the parameter that names it.
var subjects = map[string]func(s *Service, ctx context.Context, accountID, id string, c *fiber.Ctx) (page.View, error){
	"dockingBatch":  (*Service).studioBatch,
	"dockingRun":    (*Service).studioOfRun,
	"dockingResult": (*Service).studioOfResult,
	"dockingPose":   (*Service).studioOfPose,
	"project":       (*Service).studioProject,
}

func (s *Service) studio(c *fiber.Ctx) error {
	var named []string
	for parameter := range subjects {
		if c.Query(parameter) != "" {
			named = append(named, parameter)
		}
	}
	ctx, accountID := c.UserContext(), access.From(c.UserContext()).AccountID
	switch len(named) {
	case 0:
		view, err := s.studioHome(ctx, accountID)
		return studioPages.SendOr(c, view, err)
	case 1:
		view, err := subjects[named[0]](s, ctx, accountID, c.Query(named[0]), c)
		return studioPages.SendOr(c, view, err)
	}
	return studioPages.SendOr(c, page.View{}, fault.New(fault.Validation, "query: the page shows one thing at a time"))
}

func (s *Service) studioHome(ctx context.Context, accountID string) (page.View, error) {
	shown, err := s.Runs(ctx, accountID, RunQuery{Query: list.Query{Limit: homeRuns}})
	return page.View{Title: "Docking runs", Body: studioBody{Home: &studioHome{Runs: shown.Runs}}}, err
}

// projectForm is the form of a project's id (RFC 9562).
var projectForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// studioProject says where a project is: another group keeps it, and judges who may read it.
func (s *Service) studioProject(_ context.Context, _, id string, c *fiber.Ctx) (page.View, error) {
	if !projectForm.MatchString(id) {
		return page.View{}, noSuch("project")
	}
	address := "/api/v1/molecular/projects/" + id
	if revision := c.QueryInt("revision"); revision > 0 {
		address += fmt.Sprintf("/revisions/%d", revision)
	}
	return page.View{Title: "A molecular project", Body: studioBody{Project: address},
		Message: "The studio shows dockings. A project is read and saved through the API."}, nil
}

// refreshWhile is how soon a page is read again, by the state of its job.
func refreshWhile(status job.Status) int {
	if status.Terminal() {
		return 0
	}
	return refreshSeconds
}
