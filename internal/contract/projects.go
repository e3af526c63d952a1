package contract

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Content is the document of a project: any JSON object. What is stored and answered is its canonical form (RFC 8785), in which
// numbers are IEEE 754 doubles.
type Content []byte

// Schema describes an object with any members.
func (Content) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: "Any JSON object, at most 5 MiB as canonical JSON (RFC 8785). Numbers are IEEE 754 doubles: write larger " +
			"integers as strings.",
		Examples: []any{map[string]any{"structures": []any{map[string]any{"pdbId": "1IEP", "representation": "cartoon"}}}},
	}
}

// MarshalJSON writes the text as it is.
func (c Content) MarshalJSON() ([]byte, error) { return json.RawMessage(c).MarshalJSON() }

// UnmarshalJSON keeps the text.
func (c *Content) UnmarshalJSON(text []byte) error {
	*c = slices.Clone(text)
	return nil
}

// ProjectCreateRequest makes a project.
type ProjectCreateRequest struct {
	Name        string   `json:"name" minLength:"1" maxLength:"200" doc:"Name for people." example:"ABL1 and imatinib"`
	Description string   `json:"description,omitempty" maxLength:"4000" doc:"What the project is about." example:"Binding site, prepared for docking."`
	Tags        []string `json:"tags,omitempty" maxItems:"32" minLength:"1" maxLength:"64" uniqueItems:"true" doc:"Words to find the project by." example:"[\"kinase\"]"`
	Content     Content  `json:"content" doc:"Any JSON object, at most 5 MiB as canonical JSON (RFC 8785). Numbers are IEEE 754 doubles: write larger integers as strings."`
}

// ProjectSaveRequest replaces the head by a successor.
type ProjectSaveRequest struct {
	ExpectedVersion int64 `json:"expectedVersion" minimum:"1" maximum:"9007199254740991" doc:"The version that the caller has worked on." example:"1"`
	ProjectCreateRequest
}

// ProjectRestoreRequest makes an old revision the head again.
type ProjectRestoreRequest struct {
	ExpectedVersion int64 `json:"expectedVersion" minimum:"1" maximum:"9007199254740991" doc:"The version that the caller takes for the head." example:"3"`
}

// ProjectShareRequest pins a share to the head, or to a successor with the content.
type ProjectShareRequest struct {
	ExpectedVersion int64   `json:"expectedVersion" minimum:"1" maximum:"9007199254740991" doc:"The version that the caller takes for the head." example:"3"`
	Content         Content `json:"content,omitempty" doc:"Saved as a successor first, under the project's present name, description and tags. Left out, the head is shared as it is."`
}

// ProjectShare is the active share of a project.
type ProjectShare struct {
	_       struct{} `nullable:"true"`
	Token   string   `json:"token" doc:"Whoever has it may read the shared revision." example:"AZqkIDuwfPKbJ7bdkTbBHpsFJb7xgmYHzOEzv7dVw2BUdVqnAGQbDdHFwTeK8A3M"`
	URL     string   `json:"url" doc:"Page of the share, relative to this host." example:"/shared/AZqkIDuwfPKbJ7bdkTbBHpsFJb7xgmYHzOEzv7dVw2BUdVqnAGQbDdHFwTeK8A3M"`
	Version int64    `json:"version" doc:"The revision that is shared. Later saves do not move it." example:"3"`
}

// ProjectShareAnswer is a new share.
type ProjectShareAnswer struct {
	Token            string `json:"token" doc:"Whoever has it may read the shared revision. A token from before is revoked."`
	URL              string `json:"url" doc:"Page of the share, relative to this host."`
	Version          int64  `json:"version" doc:"The revision that is shared. Later saves do not move it." example:"3"`
	IdempotentReplay bool   `json:"idempotentReplay,omitempty" doc:"true when an earlier request with the same Idempotency-Key made the share."`
}

// ProjectSummary is a project without its content.
type ProjectSummary struct {
	ProjectID      string        `json:"projectId" format:"uuid" doc:"Permanent, through all revisions." example:"019aa63b-5d2c-7c31-9a53-1d8f3a0c4b52"`
	Name           string        `json:"name" doc:"Name for people." example:"ABL1 and imatinib"`
	Description    string        `json:"description" doc:"What the project is about."`
	Tags           []string      `json:"tags" doc:"Words to find the project by."`
	CurrentVersion int64         `json:"currentVersion" doc:"The editable head. It starts at 1 and rises by 1." example:"3"`
	ContentSHA256  string        `json:"contentSha256" doc:"SHA-256 of the head's canonical content, in hexadecimal." example:"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"`
	Share          *ProjectShare `json:"share" doc:"The active share, or null."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the project was made."`
	UpdatedAt      time.Time     `json:"updatedAt" doc:"When the head was saved."`
}

// Project is a project with the content of its head.
type Project struct {
	ProjectSummary
	Content          Content `json:"content" doc:"Content of the head, as canonical JSON (RFC 8785)."`
	IdempotentReplay bool    `json:"idempotentReplay,omitempty" doc:"true when an earlier request with the same Idempotency-Key gave this answer first."`
}

// ProjectList is a page of an account's projects.
type ProjectList struct {
	Projects   []ProjectSummary `json:"projects" doc:"Newest first, without their contents."`
	NextCursor *string          `json:"nextCursor" nullable:"true" doc:"Cursor of the next page; null on the last."`
}

// ProjectRevisionSummary is an immutable state of a project, without its content.
type ProjectRevisionSummary struct {
	Version       int64     `json:"version" doc:"Number of the revision." example:"2"`
	ContentSHA256 string    `json:"contentSha256" doc:"SHA-256 of the canonical content, in hexadecimal." example:"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"`
	CreatedAt     time.Time `json:"createdAt" doc:"When the revision was saved."`
	SourceVersion *int64    `json:"sourceVersion" nullable:"true" doc:"The revision whose content it copies, when it came from a restore."`
}

// ProjectRevision is an immutable state of a project.
type ProjectRevision struct {
	ProjectRevisionSummary
	Content Content `json:"content" doc:"Content of the revision, as canonical JSON (RFC 8785)."`
}

// ProjectRevisionList is a page of a project's history.
type ProjectRevisionList struct {
	Revisions  []ProjectRevisionSummary `json:"revisions" doc:"Newest first, without their contents."`
	NextCursor *string                  `json:"nextCursor" nullable:"true" doc:"Cursor of the next page; null on the last."`
}

// SharedProject is what the holder of a share's token sees: one revision, and nothing of its owner, of other revisions, or of
// the project's later names.
type SharedProject struct {
	Name          string    `json:"name" doc:"Name of the project when it was shared." example:"ABL1 and imatinib"`
	Version       int64     `json:"version" doc:"Number of the shared revision." example:"3"`
	ContentSHA256 string    `json:"contentSha256" doc:"SHA-256 of the canonical content, in hexadecimal." example:"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"`
	Content       Content   `json:"content" doc:"Content of the shared revision, as canonical JSON (RFC 8785)."`
	CreatedAt     time.Time `json:"createdAt" doc:"When the revision was saved."`
}
