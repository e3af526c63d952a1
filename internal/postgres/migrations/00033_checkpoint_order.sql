-- +goose Up

-- Which report of its attempt a checkpoint came with. A report that is sent again, by whoever can write to Redis, does not
-- put an older one in its place. 0 for those of workers that do not count their reports.
ALTER TABLE task_checkpoints ADD COLUMN IF NOT EXISTS seq bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE task_checkpoints DROP COLUMN seq;
