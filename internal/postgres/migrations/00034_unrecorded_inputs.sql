-- +goose Up

-- Jobs whose inputs are not recorded yet, which package erasure does little by little; then it is empty. Writers of jobs wait while it is
-- built, which takes a look at every row and at no request: rather than wait for them in turn, this gives up.
SET LOCAL lock_timeout = '10s';
CREATE INDEX IF NOT EXISTS jobs_unrecorded ON jobs (account_id, id) WHERE NOT inputs_recorded;

-- +goose Down
DROP INDEX jobs_unrecorded;
