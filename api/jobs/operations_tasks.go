package jobs

import (
	"context"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	tasksText = "Tasks of a job in the order of its plan, each with its state, its attempts, what they used, and the items " +
		"that failed."
	taskText = "One task of a job, with all of its items that failed."
	logsText = "What the programs of a job printed, in the order of its plan: the end of each log as text and an address " +
		"of the whole. A task that runs now has an entry with its last progress message; its log is stored when it ends."
	provenanceText = "How the results of a job came to be, in one document: the request, the engine and the versions of its " +
		"programs, seeds, inputs and outputs with their digests, every attempt, the cost, and what to cite."
)

type tasksInput struct {
	ID string `path:"id" doc:"Id of the job."`
	TaskQuery
}

type tasksOutput struct{ Body contract.TaskList }

func (s *Service) tasks(ctx context.Context, in *tasksInput) (*tasksOutput, error) {
	list, err := s.Tasks(ctx, access.From(ctx).AccountID, in.ID, in.TaskQuery)
	if err != nil {
		return nil, err
	}
	return &tasksOutput{Body: list}, nil
}

type taskInput struct {
	ID     string `path:"id" doc:"Id of the job."`
	TaskID string `path:"taskId" doc:"Id of the task."`
}

type taskOutput struct{ Body contract.Task }

func (s *Service) task(ctx context.Context, in *taskInput) (*taskOutput, error) {
	task, err := s.Task(ctx, access.From(ctx).AccountID, in.ID, in.TaskID)
	if err != nil {
		return nil, err
	}
	return &taskOutput{Body: task}, nil
}

type logsInput struct {
	ID string `path:"id" doc:"Id of the job."`
	LogQuery
}

type logsOutput struct{ Body contract.LogList }

func (s *Service) logs(ctx context.Context, in *logsInput) (*logsOutput, error) {
	list, err := s.Logs(ctx, access.From(ctx).AccountID, in.ID, in.LogQuery)
	if err != nil {
		return nil, err
	}
	return &logsOutput{Body: list}, nil
}

type provenanceInput struct {
	ID string `path:"id" doc:"Id of the job."`
}

type provenanceOutput struct{ Body contract.Provenance }

func (s *Service) provenance(ctx context.Context, in *provenanceInput) (*provenanceOutput, error) {
	document, err := s.Provenance(ctx, access.From(ctx).AccountID, in.ID)
	if err != nil {
		return nil, err
	}
	return &provenanceOutput{Body: document}, nil
}
