package projects

import (
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
)

// maxBodyBytes bounds a body with a content (doc/contract.md §8): canonical JSON of 5 MiB and what else a request holds.
const maxBodyBytes = 6_000_000

// base is where the operations lie; olderBase is where they lay before version 1, and still answer (doc/contract.md §4, rule 6).
const (
	base      = "/v1/molecular/projects"
	olderBase = "/molecular/projects"
)

// The older routes are marked from the first release on and work for longer than the 90 days of doc/contract.md §9.
var (
	olderSince  = time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	olderSunset = time.Date(2027, time.June, 30, 0, 0, 0, 0, time.UTC)
)

// Register adds the group's operations, their older routes and the public reading of shares.
func Register(api huma.API, s *Service) {
	for _, r := range []routes{{api: api, base: base}, {api: api, base: olderBase, older: true}} {
		huma.Register(api, r.read("list-projects", "", "List projects", listText), s.list)
		huma.Register(api, r.create(), s.create)
		huma.Register(api, r.read("get-project", "/{projectId}", "Read a project", readText, http.StatusNotModified), s.read)
		huma.Register(api, r.change(http.MethodPut, "save-project", "/{projectId}", "Save a project", saveText, maxBodyBytes),
			s.save)
		huma.Register(api, r.end("delete-project", "/{projectId}", "Delete a project", deleteText), s.delete)
		huma.Register(api, r.read("list-project-revisions", "/{projectId}/revisions", "List a project's revisions", revisionsText),
			s.revisions)
		huma.Register(api, r.read("get-project-revision", "/{projectId}/revisions/{version}", "Read a revision", revisionText,
			http.StatusNotModified), s.revision)
		huma.Register(api, r.change(http.MethodPost, "restore-project-revision", "/{projectId}/revisions/{version}/restore",
			"Restore a revision", restoreText, 0), s.restore)
		huma.Register(api, r.share(), s.share)
		huma.Register(api, r.end("revoke-project-share", "/{projectId}/shares", "Revoke a project's share", revokeText), s.revoke)
	}
	huma.Register(api, publicOperation(), s.shared)
}

const (
	listText   = "Projects of the account, newest first, without their contents."
	createText = "Makes a project at version 1. With the same Idempotency-Key the request may be sent again: the first answer " +
		"comes back."
	readText = "The project with the content of its head. The ETag begins with the version: send it as If-Match with the " +
		"next change, or as If-None-Match to be spared an unchanged answer."
	saveText = "Appends an immutable revision, one version after the head, and replaces name, description, tags and " +
		"content: what is left out is empty afterwards. " + versionText
	deleteText    = "Deletes the project with all its revisions, for good. Its share answers 410 from then on. " + versionText
	revisionsText = "The history of a project, newest first, without contents."
	revisionText  = "A revision with its content. It never changes."
	restoreText   = "Appends a revision whose content is that of an earlier one. History stays as it is, and so do name, " +
		"description and tags. " + versionText
	shareText = "Makes a link that shows the head, or, with content, a successor saved first. It stays on that revision when " +
		"the project moves on. A share from before is revoked. " + versionText
	revokeText  = "Ends the project's share: its link answers 410 from then on. Without a share nothing changes. " + versionText
	sharedText  = "What a share shows to anybody who has its token: one revision, and nothing of its owner. Limited by address."
	versionText = "expectedVersion may stand in the body, in the query or, as the ETag, in If-Match, whichever is shown here; in " +
		"two places it must be the same. When it is not the head, nothing is changed: read the project again, and do not send " +
		"currentVersion back unseen."
)

// routes makes the operations below one base.
type routes struct {
	api   huma.API
	base  string
	older bool
}

func (r routes) operation(method, id, tail, summary, text string, rule access.Rule) huma.Operation {
	if r.older {
		id = "older-" + id
		rule.Deprecated = &access.Deprecation{Since: olderSince, Sunset: olderSunset, Successor: base + tail}
		summary, text = summary+" (older route)", "Answers as "+strings.ToUpper(method)+" "+base+tail+", which replaces it."
	}
	return access.Guarded(huma.Operation{
		OperationID: id, Method: method, Path: r.base + tail, Tags: []string{"Projects"}, Summary: summary, Description: text,
	}, rule)
}

func (r routes) read(id, tail, summary, text string, further ...int) huma.Operation {
	op := r.operation(http.MethodGet, id, tail, summary, text, access.Rule{Scope: access.ProjectsRead})
	for range further {
		op.Responses = notModified()
	}
	return op
}

func notModified() map[string]*huma.Response {
	return map[string]*huma.Response{"304": {Description: "It is as the ETag in If-None-Match says."}}
}

func (r routes) create() huma.Operation {
	op := r.operation(http.MethodPost, "create-project", "", "Create a project", createText,
		access.Rule{Scope: access.ProjectsWrite, MaxBody: maxBodyBytes})
	op.DefaultStatus = http.StatusCreated
	op.Errors = []int{http.StatusConflict, http.StatusUnprocessableEntity}
	op.Middlewares = huma.Middlewares{precondition{r.api}.keyed}
	return op
}

// change is a change that takes a key, and its version in the body.
func (r routes) change(method, id, tail, summary, text string, maxBody int64) huma.Operation {
	op := r.operation(method, id, tail, summary, text, access.Rule{Scope: access.ProjectsWrite, MaxBody: maxBody})
	op.Errors = []int{http.StatusConflict, http.StatusUnprocessableEntity}
	op.Middlewares = huma.Middlewares{precondition{r.api}.keyed, precondition{r.api}.inBody}
	return op
}

func (r routes) share() huma.Operation {
	op := r.change(http.MethodPost, "share-project", "/{projectId}/shares", "Save and share a project", shareText, maxBodyBytes)
	op.DefaultStatus = http.StatusCreated
	return op
}

// end is a change that takes its version in the query.
func (r routes) end(id, tail, summary, text string) huma.Operation {
	op := r.operation(http.MethodDelete, id, tail, summary, text, access.Rule{Scope: access.ProjectsWrite})
	op.DefaultStatus = http.StatusNoContent
	op.Errors = []int{http.StatusConflict, http.StatusRequestEntityTooLarge}
	op.Middlewares = huma.Middlewares{precondition{r.api}.inQuery}
	return op
}

func publicOperation() huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: "get-shared-project", Method: http.MethodGet, Path: "/v1/public/shares/{token}", Tags: []string{"Public"},
		Summary: "Read a share", Description: sharedText, Errors: []int{http.StatusGone}, Responses: notModified(),
	}, access.Rule{Public: true})
}
