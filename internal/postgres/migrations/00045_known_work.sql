-- +goose Up

-- What tasks have made that need not be made again. A task's identity is a digest of all that decides its outputs but the programs
-- of the worker, whose digest is the toolchain; null for a task that may make something else each time.
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS identity bytea;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS no_reuse boolean NOT NULL DEFAULT false;

CREATE TABLE IF NOT EXISTS known_work (
    account_id text NOT NULL,
    identity   bytea NOT NULL,
    toolchain  text NOT NULL,
    task_id    text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE, -- the newest that made it
    attempt    int NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (account_id, identity, toolchain)
);
CREATE INDEX IF NOT EXISTS known_work_by_task ON known_work (task_id);

-- Of an attempt that took over what another had made: which one. It names, and refers to nothing: the other may be gone.
ALTER TABLE task_attempts ADD COLUMN IF NOT EXISTS reused_job text;
ALTER TABLE task_attempts ADD COLUMN IF NOT EXISTS reused_task text;
ALTER TABLE task_attempts ADD COLUMN IF NOT EXISTS reused_attempt int;

ALTER TABLE known_work ENABLE ROW LEVEL SECURITY;
-- +goose StatementBegin
DO $$
BEGIN
    DROP POLICY IF EXISTS own ON known_work;
    DROP POLICY IF EXISTS everyone ON known_work;
    CREATE POLICY own ON known_work TO molfabric_app USING (account_id = (SELECT current_setting('molfabric.account', true)));
    CREATE POLICY everyone ON known_work TO molfabric_everyone USING (true);
    GRANT SELECT, INSERT, UPDATE, DELETE ON known_work TO molfabric_app, molfabric_everyone;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE known_work;
ALTER TABLE task_attempts DROP COLUMN reused_job, DROP COLUMN reused_task, DROP COLUMN reused_attempt;
ALTER TABLE jobs DROP COLUMN no_reuse;
ALTER TABLE tasks DROP COLUMN identity;
