-- +goose Up

-- Whose job an event is of, so that a stream of all that happens in an account reads its own events alone. NULL for those from before,
-- and of the release before: such a stream begins now.
ALTER TABLE job_events ADD COLUMN IF NOT EXISTS account_id text;
CREATE INDEX IF NOT EXISTS job_events_by_account ON job_events (account_id, id) WHERE account_id IS NOT NULL;

-- +goose Down
DROP INDEX job_events_by_account;
ALTER TABLE job_events DROP COLUMN account_id;
