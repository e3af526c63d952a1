package jobs

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

const deleteFilesText = "Deletes the files and results of a job that has ended, for good: outputs, logs, checkpoints, docking " +
	"and search results, prepared receptors, " +
	"shares that show them, and uploads that no other job and no project refers to, which the quota is freed of. " +
	"The job's record, its history, its tasks with what they used, and its bill stay. What reads the files answers 410 " +
	"FILES_DELETED from then on, and the job cannot be retried. " +
	"Nothing of it is to be had from the moment of the answer on, but by addresses that were given out before, which end within " +
	"minutes, when the files are gone from the store. " +
	"409 JOB_NOT_ENDED while the job, or one that reads its files, runs: cancel it first. It may be repeated."

// DeleteFiles deletes the files and results of a job of the caller. Errors: those of erasure.JobFiles.
func (s *Service) DeleteFiles(ctx context.Context, accountID, jobID string) (erasure.Deleted, error) {
	if err := checkForm(jobID); err != nil {
		return erasure.Deleted{}, err
	}
	deleted, err := erasure.JobFiles(ctx, s.deps.DB, erasure.Order{AccountID: accountID, JobID: jobID, At: s.deps.Now(),
		Address: access.Address(ctx)})
	return deleted, asNoSuchJob(err)
}

func deleteFilesOperation() huma.Operation {
	op := post("delete-job-files", "/v1/jobs/{id}/files", "Delete a job's files", deleteFilesText,
		access.Rule{Scope: access.JobsWrite}, http.StatusConflict)
	op.Method = http.MethodDelete
	return op
}

type deleteFilesInput struct {
	ID string `path:"id" doc:"Id of the job."`
}

type deleteFilesOutput struct{ Body contract.FilesDeletion }

func (s *Service) deleteFiles(ctx context.Context, in *deleteFilesInput) (*deleteFilesOutput, error) {
	deleted, err := s.DeleteFiles(ctx, access.From(ctx).AccountID, in.ID)
	if err != nil {
		return nil, err
	}
	message := fmt.Sprintf("Deleted: %d files of the job, and %d uploads that only it referred to. Its record and its bill "+
		"are kept.", deleted.Outputs, deleted.Uploads)
	if deleted.Already {
		message = "The job's files had been deleted before."
	}
	return &deleteFilesOutput{Body: contract.FilesDeletion{
		JobID: in.ID, FilesDeletedAt: deleted.At, RemovedOutputs: deleted.Outputs, RemovedOutputBytes: deleted.OutputBytes,
		RemovedUploads: deleted.Uploads, RemovedUploadBytes: deleted.UploadBytes, Message: message,
	}}, nil
}
