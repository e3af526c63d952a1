-- +goose Up

-- What failed of late, which an operator's page asks for every few seconds: the table has all jobs that there ever were.
CREATE INDEX IF NOT EXISTS jobs_failed ON jobs (finished_at) WHERE status = 'FAILED';

-- +goose Down
DROP INDEX jobs_failed;
