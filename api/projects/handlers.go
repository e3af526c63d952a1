package projects

import (
	"context"
	"net/http"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/internal/contract"
)

// ProjectPath is embedded in the input of every operation on one project.
type ProjectPath struct {
	ProjectID string `path:"projectId" maxLength:"64" doc:"Id of the project." example:"019aa63b-5d2c-7c31-9a53-1d8f3a0c4b52"`
}

// KeyHeader is embedded in the input of every operation that takes a key; precondition has seen that there is one.
type KeyHeader struct {
	Key string `header:"Idempotency-Key" required:"true" minLength:"8" maxLength:"255" pattern:"^[^\\x00-\\x1f\\x7f]+$" patternDescription:"free of control characters" doc:"New for every new request. The same key with the same request answers as the first time, for at least 24 hours." example:"5f1c9a0e-save-3"`
}

// VersionQuery lets expectedVersion stand in the query of operations whose body has it; precondition has read it.
type VersionQuery struct {
	Version string `query:"expectedVersion" hidden:"true"`
}

type listInput struct{ list.Query }

type listOutput struct{ Body contract.ProjectList }

func (s *Service) list(ctx context.Context, in *listInput) (*listOutput, error) {
	list, err := s.List(ctx, access.From(ctx).AccountID, in.Query)
	return &listOutput{Body: list}, err
}

type createInput struct {
	KeyHeader
	Body contract.ProjectCreateRequest
}

// projectOutput answers every change and reading of a project.
type projectOutput struct {
	Status   int
	ETag     string `header:"ETag" doc:"Begins with the version; If-Match takes it."`
	Replayed string `header:"Idempotency-Replayed" doc:"true when an earlier request with the same key gave this answer first."`
	Body     contract.Project
}

type createOutput struct {
	Location string `header:"Location" doc:"Address of the project."`
	ETag     string `header:"ETag" doc:"Begins with the version; If-Match takes it."`
	Replayed string `header:"Idempotency-Replayed" doc:"true when an earlier request with the same key gave this answer first."`
	Body     contract.Project
}

func (s *Service) create(ctx context.Context, in *createInput) (*createOutput, error) {
	made, err := s.Create(ctx, access.From(ctx).AccountID, in.Key, in.Body)
	if err != nil {
		return nil, err
	}
	answer, err := projectAnswer(http.StatusCreated, made)
	if err != nil {
		return nil, err
	}
	return &createOutput{Location: "/api" + base + "/" + made.ProjectID, ETag: answer.ETag, Replayed: answer.Replayed, Body: made},
		nil
}

type readInput struct {
	ProjectPath
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of an earlier answer."`
}

func (s *Service) read(ctx context.Context, in *readInput) (*projectOutput, error) {
	found, err := s.Read(ctx, access.From(ctx).AccountID, in.ProjectID)
	if err != nil {
		return nil, err
	}
	out, err := projectAnswer(http.StatusOK, found)
	if err == nil && wire.Matches(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, err
}

type saveInput struct {
	ProjectPath
	KeyHeader
	VersionQuery
	Body contract.ProjectSaveRequest
}

func (s *Service) save(ctx context.Context, in *saveInput) (*projectOutput, error) {
	saved, err := s.Save(ctx, access.From(ctx).AccountID, in.Key, in.ProjectID, in.Body)
	if err != nil {
		return nil, err
	}
	return projectAnswer(http.StatusOK, saved)
}

// endInput is the input of the operations that have expectedVersion in the query.
type endInput struct {
	ProjectPath
	ExpectedVersion int64 `query:"expectedVersion" required:"true" minimum:"1" maximum:"9007199254740991" doc:"The version that the caller takes for the head." example:"3"`
}

func (s *Service) delete(ctx context.Context, in *endInput) (*struct{}, error) {
	return nil, s.Delete(ctx, access.From(ctx).AccountID, in.ProjectID, in.ExpectedVersion)
}

type revisionsInput struct {
	ProjectPath
	list.Query
}

type revisionsOutput struct{ Body contract.ProjectRevisionList }

func (s *Service) revisions(ctx context.Context, in *revisionsInput) (*revisionsOutput, error) {
	list, err := s.Revisions(ctx, access.From(ctx).AccountID, in.ProjectID, in.Query)
	return &revisionsOutput{Body: list}, err
}

// RevisionPath is embedded in the input of every operation on one revision.
type RevisionPath struct {
	RevisionVersion int64 `path:"version" minimum:"1" maximum:"9007199254740991" doc:"Number of the revision." example:"2"`
}

type revisionInput struct {
	ProjectPath
	RevisionPath
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of an earlier answer."`
}

type revisionOutput struct {
	Status int
	ETag   string `header:"ETag"`
	Body   contract.ProjectRevision
}

func (s *Service) revision(ctx context.Context, in *revisionInput) (*revisionOutput, error) {
	found, err := s.Revision(ctx, access.From(ctx).AccountID, in.ProjectID, in.RevisionVersion)
	if err != nil {
		return nil, err
	}
	out := &revisionOutput{Status: http.StatusOK, ETag: revisionTag(found.Version), Body: found}
	if wire.Matches(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

type restoreInput struct {
	ProjectPath
	RevisionPath
	KeyHeader
	VersionQuery
	Body contract.ProjectRestoreRequest
}

func (s *Service) restore(ctx context.Context, in *restoreInput) (*projectOutput, error) {
	restored, err := s.Restore(ctx, access.From(ctx).AccountID, in.Key, in.ProjectID, in.RevisionVersion, in.Body)
	if err != nil {
		return nil, err
	}
	return projectAnswer(http.StatusOK, restored)
}

type shareInput struct {
	ProjectPath
	KeyHeader
	VersionQuery
	Body contract.ProjectShareRequest
}

type shareOutput struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true when an earlier request with the same key gave this answer first."`
	Body     contract.ProjectShareAnswer
}

func (s *Service) share(ctx context.Context, in *shareInput) (*shareOutput, error) {
	made, err := s.Share(ctx, access.From(ctx).AccountID, in.Key, in.ProjectID, in.Body)
	if err != nil {
		return nil, err
	}
	return &shareOutput{Replayed: replayedHeader(made.IdempotentReplay), Body: made}, nil
}

func (s *Service) revoke(ctx context.Context, in *endInput) (*struct{}, error) {
	return nil, s.Revoke(ctx, access.From(ctx).AccountID, in.ProjectID, in.ExpectedVersion)
}

// sharedCaching lets anybody keep a share's answer, but only to show it again after asking: a revoked share ends at once.
const sharedCaching = "public, no-cache"

type sharedInput struct {
	Token       string `path:"token" maxLength:"128" doc:"Token of the share." example:"AZqkIDuwfPKbJ7bdkTbBHpsFJb7xgmYHzOEzv7dVw2BUdVqnAGQbDdHFwTeK8A3M"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of an earlier answer."`
}

type sharedOutput struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control" doc:"An answer may be kept, and must be asked about before it is used again."`
	Robots       string `header:"X-Robots-Tag" doc:"Keeps the link out of search engines."`
	Body         contract.SharedProject
}

func (s *Service) shared(ctx context.Context, in *sharedInput) (*sharedOutput, error) {
	found, err := s.Shared(ctx, in.Token)
	if err != nil {
		return nil, err
	}
	out := &sharedOutput{
		Status: http.StatusOK, ETag: revisionTag(found.Version), CacheControl: sharedCaching, Robots: "noindex", Body: found,
	}
	if wire.Matches(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

func projectAnswer(status int, p contract.Project) (*projectOutput, error) {
	tag, err := etag(p.ProjectSummary)
	if err != nil {
		return nil, err
	}
	return &projectOutput{Status: status, ETag: tag, Replayed: replayedHeader(p.IdempotentReplay), Body: p}, nil
}

func replayedHeader(replayed bool) string {
	if replayed {
		return "true"
	}
	return ""
}
