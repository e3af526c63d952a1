-- +goose Up

-- Both tables are written all the time: rather than hold up every writer behind a transaction that does not end, this gives up.
SET LOCAL lock_timeout = '10s';

-- What a task is expected to keep devices busy for, and what an attempt did, in seconds and microseconds × devices.
ALTER TABLE tasks ADD COLUMN gpu_weight real NOT NULL DEFAULT 0;
ALTER TABLE task_attempts ADD COLUMN gpu_us bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN tasks.queue IS '"<worker class>.<engine>"; the tasks of a job may need several classes';

-- +goose Down
SET LOCAL lock_timeout = '10s';
ALTER TABLE task_attempts DROP COLUMN gpu_us;
ALTER TABLE tasks DROP COLUMN gpu_weight;
