-- +goose Up

-- What a fleet that grows and shrinks is sized by. The seconds of wall time that a task is expected to take on the cores or devices
-- that it asks for; 0 in rows of the release before, whose weight stands in for it.
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS wall real NOT NULL DEFAULT 0;
-- When the tasks of the job's stage could first be run; null while that is when the job was accepted.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS stage_at timestamptz;

-- +goose Down
ALTER TABLE jobs DROP COLUMN stage_at;
ALTER TABLE tasks DROP COLUMN wall;
