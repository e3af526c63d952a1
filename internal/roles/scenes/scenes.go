// Package scenes brings the studio together with the groups of the API whose things it draws, since no group imports another.
package scenes

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/docking"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/api/studio"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
)

// New returns the studio of a deployment: Poses, Projects and Jobs of deps are filled in.
func New(deps studio.Deps, dockings *docking.Service, workspaces *projects.Service, work *jobs.Service) *studio.Service {
	deps.Poses, deps.Projects, deps.Jobs = poses{dockings}, drafts{workspaces}, pictures{work}
	return studio.New(deps)
}

// poses are the docked poses of accounts.
type poses struct{ dockings *docking.Service }

func (p poses) Pose(ctx context.Context, accountID, poseID string) (contract.DockingPose, error) {
	return p.dockings.Pose(ctx, accountID, poseID)
}

func (p poses) Contacts(ctx context.Context, accountID, poseID string) ([]contract.DockingInteraction, error) {
	found, err := p.dockings.Interactions(ctx, accountID, poseID, docking.InteractionQuery{})
	return found.Interactions, err
}

func (p poses) Siblings(ctx context.Context, accountID, resultID string) ([]contract.DockingPose, error) {
	return p.dockings.PosesOf(ctx, accountID, resultID)
}

func (p poses) Best(ctx context.Context, accountID, runID string) (string, error) {
	return p.dockings.BestPose(ctx, accountID, runID)
}

// drafts are the projects of accounts.
type drafts struct{ workspaces *projects.Service }

func (p drafts) Content(ctx context.Context, accountID, projectID string, version int64) ([]byte, int64, error) {
	if version == 0 {
		head, err := p.workspaces.Read(ctx, accountID, projectID)
		return []byte(head.Content), head.CurrentVersion, err
	}
	revision, err := p.workspaces.Revision(ctx, accountID, projectID, version)
	return []byte(revision.Content), revision.Version, err
}

func (p drafts) Create(ctx context.Context, accountID, key, name string, content []byte) (string, int64, error) {
	made, err := p.workspaces.Create(ctx, accountID, key, contract.ProjectCreateRequest{Name: name, Content: content})
	return made.ProjectID, made.CurrentVersion, err
}

func (p drafts) Save(
	ctx context.Context, accountID, key, projectID string, expectedVersion int64, content []byte,
) (int64, error) {
	head, err := p.workspaces.Read(ctx, accountID, projectID)
	if err != nil {
		return 0, err
	}
	saved, err := p.workspaces.Save(ctx, accountID, key, projectID, contract.ProjectSaveRequest{ExpectedVersion: expectedVersion,
		ProjectCreateRequest: contract.ProjectCreateRequest{Name: head.Name, Description: head.Description, Tags: head.Tags,
			Content: content}})
	return saved.CurrentVersion, err
}

// pictures order pictures.
type pictures struct{ work *jobs.Service }

func (j pictures) Submit(
	ctx context.Context, caller access.Principal, key string, p studio.Picture,
) (contract.SubmitResponse, error) {
	metadata, err := json.Marshal(metadataOf(p))
	if err != nil {
		return contract.SubmitResponse{}, fmt.Errorf("write the metadata of a picture: %w", err)
	}
	kind := engines.JobTypeMolecular
	return j.work.SubmitAnswer(ctx, caller, key, jobs.SubmitRequest{JobType: &kind, SceneFile: p.SceneFile,
		Attachments: p.Attachments, JobName: p.JobName, Parameters: p.Parameters, Metadata: metadata})
}

func (j pictures) Price(ctx context.Context, accountID string, p studio.Picture) (contract.Pounds, error) {
	kind, metadata := engines.JobTypeMolecular, metadataOf(p)
	estimate, err := j.work.Estimate(ctx, accountID, jobs.EstimateRequest{JobType: &kind, Parameters: p.Parameters,
		Metadata: &metadata})
	return estimate.EstimatedCost, err
}

func metadataOf(p studio.Picture) jobs.EstimateMetadata {
	metadata := jobs.EstimateMetadata{RenderEngine: p.Engine, Resolution: p.Resolution, FPS: p.FPS}
	if p.Samples != nil {
		samples := int64(*p.Samples)
		metadata.Samples = &samples
	}
	return metadata
}
