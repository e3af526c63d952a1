package contract

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// StudioObject is a JSON object that passes through as it is: a scene, or the arguments of an operation.
type StudioObject json.RawMessage

// Schema describes an object with any members.
func (StudioObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// MarshalJSON writes the text; nothing is an empty object.
func (o StudioObject) MarshalJSON() ([]byte, error) {
	if len(o) == 0 {
		return []byte("{}"), nil
	}
	return o, nil
}

// UnmarshalJSON keeps the text.
func (o *StudioObject) UnmarshalJSON(text []byte) error {
	*o = append((*o)[:0], text...)
	return nil
}

// StudioOperation is one step on a scene.
type StudioOperation struct {
	Op   string       `json:"op" minLength:"1" maxLength:"40" doc:"Name of the operation; GET /v1/molecular/studio/operations has the schema of all." example:"show"`
	Args StudioObject `json:"args" doc:"Its arguments."`
}

// StudioSessionRequest opens a session: with a structure, with a scene that was saved, or with nothing.
type StudioSessionRequest struct {
	Source    string `json:"source,omitempty" maxLength:"1100" doc:"What to load: pdb:ID, alphafold:ACCESSION, pose:ID or run:ID of a docking, frame:JOB/N of a simulation or frame:JOB/FILE, artifact:ID of any job, or upload:KEY, a structure or a scene (.mvsj, .mvsx) that the studio has exported." example:"pdb:1CBS"`
	ProjectID string `json:"projectId,omitempty" maxLength:"64" doc:"A project that a session was saved to; not together with source."`
	Revision  *int64 `json:"revision,omitempty" minimum:"1" doc:"Which revision of the project; its head when left out."`
	Title     string `json:"title,omitempty" maxLength:"200" doc:"Name for people; the structure's title when left out."`
}

// StudioStructure is a structure of a session's scene.
type StudioStructure struct {
	Source string `json:"source" doc:"Where it comes from, as in the request." example:"pdb:1CBS"`
	Title  string `json:"title" doc:"What its file calls itself."`
	File   string `json:"file" doc:"Its name in the scene, and below the session's files." example:"pdb-1cbs.cif"`
	Format string `json:"format" doc:"Format of the file: mmcif, pdb or pdbqt."`
	Atoms  int    `json:"atoms" doc:"Atoms of the model that is shown."`
}

// StudioQuestion is what a session asks back.
type StudioQuestion struct {
	_       struct{} `nullable:"true"`
	About   string   `json:"about" doc:"What is not clear: ligand, chain, target, structure and so on."`
	Choices []string `json:"choices" doc:"What may be meant; the next message may be one of them."`
}

// StudioSessionSummary is a session in a list.
type StudioSessionSummary struct {
	SessionID    string    `json:"sessionId" doc:"Id of the session."`
	Title        string    `json:"title" doc:"Name for people."`
	SceneVersion int64     `json:"sceneVersion" doc:"Grows by one with every change of the scene, undo and redo included."`
	Messages     int       `json:"messages" doc:"Messages so far."`
	CreatedAt    time.Time `json:"createdAt" doc:"When it was opened."`
	UpdatedAt    time.Time `json:"updatedAt" doc:"When it changed last."`
}

// StudioSessionList is a page of sessions.
type StudioSessionList struct {
	Sessions   []StudioSessionSummary `json:"sessions" doc:"Sessions, newest first."`
	NextCursor *string                `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// StudioStep is a step that undo takes back.
type StudioStep struct {
	Operations []StudioOperation `json:"operations" doc:"What it consists of; empty for the scene that the session began with."`
}

// StudioProject is where a session was saved last.
type StudioProject struct {
	_         struct{} `nullable:"true"`
	ProjectID string   `json:"projectId" doc:"Id of the project."`
	Version   int64    `json:"version" doc:"Number of the revision."`
}

// StudioSession is a conversation about a scene.
type StudioSession struct {
	StudioSessionSummary
	Structures []StudioStructure `json:"structures" doc:"Structures of the scene."`
	Steps      []StudioStep      `json:"steps" doc:"The scenes of the session, oldest first, as the operations that led to each."`
	At         int               `json:"at" doc:"Which of the steps is seen; those behind it were undone."`
	Question   *StudioQuestion   `json:"question" doc:"What the last message left open; null when nothing."`
	Project    *StudioProject    `json:"project" doc:"Where it was opened from or saved to last; null when nowhere."`
	Scene      StudioObject      `json:"scene" doc:"The scene as MolViewSpec. Its references are names below the session's files."`
}

// StudioMessageRequest is something to say.
type StudioMessageRequest struct {
	Message      string            `json:"message,omitempty" maxLength:"2000" doc:"What to do, in English." example:"show the ligand as sticks and its pocket within 5 Å"`
	Operations   []StudioOperation `json:"operations,omitempty" maxItems:"20" doc:"Operations in place of a message."`
	Selection    string            `json:"selection,omitempty" maxLength:"4000" doc:"What is selected in the viewer: what 'this' and 'selected' mean." example:"chain A and resi 315"`
	DryRun       bool              `json:"dryRun,omitempty" doc:"Answer as if, and change nothing."`
	SceneVersion *int64            `json:"sceneVersion,omitempty" minimum:"1" doc:"The version that the caller sees. When the scene has another one, nothing is done."`
}

// StudioSelection is a selection and what it means on the coordinates.
type StudioSelection struct {
	Query        string   `json:"query" doc:"In the selection language." example:"byres (protein and within 5 of ligand)"`
	Chains       []string `json:"chains" doc:"Chains that it touches."`
	ResidueCount int      `json:"residueCount" doc:"Residues that it touches."`
	AtomCount    int      `json:"atomCount" doc:"Atoms that it means."`
}

// StudioOffer is a picture that was talked about.
type StudioOffer struct {
	_       struct{}             `nullable:"true"`
	Request *StudioRenderRequest `json:"request" doc:"The request for it: send it to POST /v1/molecular/studio/renders, or answer yes."`
	Price   *Pounds              `json:"price" doc:"What it is expected to cost, in pounds; null when that cannot be said now."`
	JobID   *string              `json:"jobId" doc:"The job, after a yes; else null."`
}

// StudioMessage is a message and its answer.
type StudioMessage struct {
	MessageID          string            `json:"messageId" doc:"Id of the message; of a dry run empty."`
	Message            string            `json:"message" doc:"What was said; empty for operations."`
	Reply              string            `json:"reply" doc:"What was done, or why nothing was."`
	UnderstoodBy       string            `json:"understoodBy" doc:"grammar, operations, or the name of the model that was asked."`
	Operations         []StudioOperation `json:"operations" doc:"What the message came to: all of it was carried out, or nothing. ask and refuse change nothing."`
	ResolvedSelections []StudioSelection `json:"resolvedSelections" doc:"What the operations' selections mean."`
	Warnings           []string          `json:"warnings" doc:"What to know: a spelling that was mended, what was chosen among several."`
	NotUnderstood      []string          `json:"notUnderstood" doc:"Parts of the message that nobody could read. Nothing was done then."`
	Question           *StudioQuestion   `json:"question" doc:"What is asked back; null when nothing."`
	Render             *StudioOffer      `json:"render" doc:"The picture that was talked about; null without one."`
	Changed            bool              `json:"changed" doc:"Whether the scene is another one now."`
	DryRun             bool              `json:"dryRun" doc:"Nothing was kept."`
	SceneVersion       int64             `json:"sceneVersion" doc:"The scene's version after the message."`
	CreatedAt          time.Time         `json:"createdAt" doc:"When it was answered."`
}

// StudioTurn is the answer to a message, with the scene that it led to.
type StudioTurn struct {
	StudioMessage
	Scene StudioObject `json:"scene" doc:"The scene as MolViewSpec."`
}

// StudioMessageList is a page of messages.
type StudioMessageList struct {
	Messages   []StudioMessage `json:"messages" doc:"Messages, newest first."`
	NextCursor *string         `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// StudioStepRequest goes back or forth.
type StudioStepRequest struct {
	Steps        int    `json:"steps,omitempty" minimum:"1" maximum:"200" default:"1" doc:"How many steps."`
	SceneVersion *int64 `json:"sceneVersion,omitempty" minimum:"1" doc:"The version that the caller sees. When the scene has another one, nothing is done."`
}

// StudioSaveRequest keeps a session's scene in a project.
type StudioSaveRequest struct {
	ProjectID       string `json:"projectId,omitempty" maxLength:"64" doc:"The project that gets a revision; a new one is made when left out."`
	ExpectedVersion *int64 `json:"expectedVersion,omitempty" minimum:"1" doc:"The project's head as the caller knows it; required with projectId."`
	Name            string `json:"name,omitempty" maxLength:"200" doc:"Name of a new project; the session's title when left out."`
}

// StudioSubject says what to draw; exactly one member is given, projectId perhaps with a revision.
type StudioSubject struct {
	SessionID string       `json:"sessionId,omitempty" maxLength:"64" doc:"The scene of a session."`
	Scene     StudioObject `json:"scene,omitempty" doc:"A scene as MolViewSpec, whose references are storage keys of the account's files."`
	ProjectID string       `json:"projectId,omitempty" maxLength:"64" doc:"A scene that was saved to a project."`
	Revision  *int64       `json:"revision,omitempty" minimum:"1" doc:"Which revision of the project; its head when left out."`
	PoseID    string       `json:"poseId,omitempty" maxLength:"64" doc:"A docked pose: in its pocket, with its contacts drawn and labelled."`
}

// StudioRenderRequest orders a picture or a film.
type StudioRenderRequest struct {
	StudioSubject
	RenderEngine string   `json:"renderEngine,omitempty" enum:"molstar,cycles" default:"molstar" doc:"molstar draws, cycles traces rays."`
	Resolution   string   `json:"resolution,omitempty" maxLength:"20" default:"1920x1080" doc:"Width and height in pixels, 16 to 8192 each." example:"3840x2160"`
	Samples      *int     `json:"samples,omitempty" minimum:"1" maximum:"65536" doc:"Rays a pixel, of cycles."`
	Frames       *int     `json:"frames,omitempty" minimum:"2" maximum:"3600" doc:"Frames of a whole turn; a still when left out."`
	FPS          *float64 `json:"fps,omitempty" exclusiveMinimum:"0" maximum:"240" doc:"Frames a second of a film."`
	Transparent  bool     `json:"transparent,omitempty" doc:"No background."`
	OutputFormat string   `json:"outputFormat,omitempty" enum:"PNG,JPEG,EXR" doc:"PNG when left out; EXR of cycles alone."`
	Video        string   `json:"video,omitempty" enum:"mp4,webm,none" doc:"Film of the frames: mp4 when left out, of transparent frames webm."`
	JobName      string   `json:"jobName,omitempty" maxLength:"200" doc:"Name of the job for people."`
}

// StudioPreviewRequest asks for a small picture at once.
type StudioPreviewRequest struct {
	StudioSubject
	WidthPixels  int  `json:"widthPixels,omitempty" minimum:"16" maximum:"960" default:"960" doc:"Width in pixels."`
	HeightPixels int  `json:"heightPixels,omitempty" minimum:"16" maximum:"540" default:"540" doc:"Height in pixels."`
	Transparent  bool `json:"transparent,omitempty" doc:"No background."`
}

// StudioExportRequest asks for a scene as a file.
type StudioExportRequest struct {
	Source string `json:"source" minLength:"1" maxLength:"1100" doc:"session:ID, project:ID or project:ID@REVISION, or anything that a session can load." example:"session:ses_019aa63b5d2c7c319a531d8f3a0c4b52"`
	Format string `json:"format" enum:"mvsj,mvsx" doc:"mvsj refers to its structures; mvsx holds them."`
}

// StudioFile is a file that was made for the caller, among its uploads.
type StudioFile struct {
	StorageKey string    `json:"storageKey" doc:"Key of the file: the sceneFile of a job, or the upload: of a session."`
	Name       string    `json:"name" doc:"File name."`
	ByteSize   int64     `json:"byteSize" doc:"Size in bytes."`
	SHA256     string    `json:"sha256" doc:"64 lower-case hexadecimal digits."`
	MediaType  string    `json:"mediaType" doc:"Media type."`
	URL        string    `json:"url" doc:"Address to fetch it from; good for a quarter of an hour."`
	ExpiresAt  time.Time `json:"expiresAt" doc:"Until when the address is good."`
}

// StudioExport is a scene as a file.
type StudioExport struct {
	Format     string     `json:"format" enum:"mvsj,mvsx" doc:"Format of the file."`
	MVSVersion string     `json:"mvsVersion" doc:"Version of MolViewSpec." example:"1.8"`
	Valid      bool       `json:"valid" doc:"Whether the document follows the format."`
	Issues     []string   `json:"issues" doc:"What is wrong or worth knowing, such as structures that a viewer has to be given."`
	Artifact   StudioFile `json:"artifact" doc:"The file."`
}
