package docking

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"regexp"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/page"
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

	studioTemplate = template.Must(template.New("studio").Funcs(studioWords).Parse(studioHTML))
	// studioPolicy lets the page's own style in and nothing else: no script runs, whatever a ligand is called.
	studioPolicy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", styleDigest())
)

func styleDigest() string {
	sum := sha256.Sum256([]byte(studioCSS))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Mount adds the page that uiLinks lead to (specification §9, rule 6). signedIn comes before it: it lets browsers with a session
// through and puts whose it is into the request's context.
func (s *Service) Mount(app *fiber.App, signedIn fiber.Handler) {
	app.Get(studioPath, signedIn, s.studio)
}

// studioPage is what the page shows: one subject, or a message in its place.
type studioPage struct {
	Title   string
	Style   template.CSS
	Refresh int // seconds; 0 for never
	Up      []studioLink
	Message string
	Project string // address of a project
	Home    *studioHome
	Run     *studioRun
	Result  *studioResult
	Pose    *studioPose
}

type studioLink struct{ Name, URL string }

// studioHome lists the newest runs.
type studioHome struct{ Runs []DockingRun }

// subjects are what the page shows, by the parameter that names it.
var subjects = map[string]func(s *Service, ctx context.Context, accountID, id string, c *fiber.Ctx) (studioPage, error){
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
		return sendStudio(c, view, err)
	case 1:
		view, err := subjects[named[0]](s, ctx, accountID, c.Query(named[0]), c)
		return sendStudio(c, view, err)
	}
	return sendStudio(c, studioPage{}, fault.New(fault.Validation, "query: the page shows one thing at a time"))
}

// sendStudio answers with a page. What another account has, and what nobody has, is one page; a link that cannot be read is another.
func sendStudio(c *fiber.Ctx, view studioPage, err error) error {
	status := http.StatusOK
	switch {
	case fault.Is(err, fault.NotFound):
		status = http.StatusNotFound
		view = studioPage{Title: "Not found", Message: "There is nothing of that name in your account. Are you signed in to the right one?"}
	case fault.Is(err, fault.Validation), fault.Is(err, fault.InvalidCursor):
		status = http.StatusBadRequest
		view = studioPage{Title: "This link cannot be read", Message: "Use the link as it stands in the answer of the API, unchanged."}
	case err != nil:
		return err
	}
	view.Style = template.CSS(studioCSS) //nolint:gosec // G203: the file beside this one
	var text bytes.Buffer
	if err := studioTemplate.Execute(&text, view); err != nil {
		return fmt.Errorf("write the studio: %w", err)
	}
	c.Set(fiber.HeaderContentSecurityPolicy, studioPolicy)
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Status(status).Send(text.Bytes())
}

func (s *Service) studioHome(ctx context.Context, accountID string) (studioPage, error) {
	list, err := s.Runs(ctx, accountID, RunQuery{Query: page.Query{Limit: homeRuns}})
	return studioPage{Title: "Docking runs", Home: &studioHome{Runs: list.Runs}}, err
}

// projectForm is the form of a project's id (RFC 9562).
var projectForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// studioProject says where a project is: another group keeps it, and judges who may read it.
func (s *Service) studioProject(_ context.Context, _, id string, c *fiber.Ctx) (studioPage, error) {
	if !projectForm.MatchString(id) {
		return studioPage{}, noSuch("project")
	}
	address := "/api/v1/molecular/projects/" + id
	if revision := c.QueryInt("revision"); revision > 0 {
		address += fmt.Sprintf("/revisions/%d", revision)
	}
	return studioPage{Title: "A molecular project", Message: "The studio shows dockings. A project is read and saved through the API.", Project: address}, nil
}

// refreshWhile is how soon a page is read again, by the state of its job.
func refreshWhile(status string) int {
	if job.Status(status).Terminal() {
		return 0
	}
	return refreshSeconds
}
