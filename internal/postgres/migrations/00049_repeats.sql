-- +goose Up

-- Tasks that were run again by chance, and what came of it. A row names its job, task and attempt, and refers to none: it stays as
-- a count when they go. An attempt of a task is drawn once.
CREATE TABLE IF NOT EXISTS repeats (
    id            text PRIMARY KEY,
    account_id    text NOT NULL,
    job_id        text NOT NULL,
    task_id       text NOT NULL,
    task_attempt  int NOT NULL,
    engine        text NOT NULL,
    queue         text NOT NULL,
    toolchain     text NOT NULL,               -- of the first run; '' where it is not known
    first_worker  text NOT NULL,
    first_cpu_us  bigint NOT NULL,
    status        text NOT NULL CHECK (status IN ('WAITING', 'QUEUED', 'RUNNING', 'SAME', 'DIFFERENT', 'NOT_COMPARABLE')),
    reason        text NOT NULL DEFAULT '',    -- of NOT_COMPARABLE
    file          text NOT NULL DEFAULT '',    -- of DIFFERENT: the first that differs, with its digests ('' for none)
    sha256        text NOT NULL DEFAULT '',
    sha256_again  text NOT NULL DEFAULT '',
    attempt       int NOT NULL DEFAULT 0,
    losses        int NOT NULL DEFAULT 0,      -- attempts that were lost or failed
    given_back    int NOT NULL DEFAULT 0,
    worker_id     text,
    claim_witness bytea,
    cpu_us        bigint NOT NULL DEFAULT 0,   -- of all attempts
    chosen_at     timestamptz NOT NULL,
    not_before    timestamptz NOT NULL,
    ended_at      timestamptz,
    UNIQUE (task_id, task_attempt)
);
CREATE INDEX IF NOT EXISTS repeats_open ON repeats (queue, chosen_at) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS repeats_by_job ON repeats (job_id);
CREATE INDEX IF NOT EXISTS repeats_different ON repeats (ended_at DESC) WHERE status = 'DIFFERENT';

-- Up to which job tasks have been drawn, and the secret that decides which: one row.
CREATE TABLE IF NOT EXISTS repeat_draws (
    only_one    boolean PRIMARY KEY CHECK (only_one),
    seed        bytea NOT NULL CHECK (length(seed) = 32),
    finished_at timestamptz NOT NULL,
    job_id      text NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON repeat_draws TO molfabric_everyone;

CREATE INDEX IF NOT EXISTS jobs_by_finished ON jobs (finished_at, id) WHERE finished_at IS NOT NULL;

ALTER TABLE repeats ENABLE ROW LEVEL SECURITY;
-- +goose StatementBegin
DO $$
BEGIN
    DROP POLICY IF EXISTS own ON repeats;
    DROP POLICY IF EXISTS everyone ON repeats;
    CREATE POLICY own ON repeats TO molfabric_app USING (account_id = (SELECT current_setting('molfabric.account', true)));
    CREATE POLICY everyone ON repeats TO molfabric_everyone USING (true);
    GRANT SELECT, INSERT, UPDATE, DELETE ON repeats TO molfabric_app, molfabric_everyone;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP INDEX jobs_by_finished;
DROP TABLE repeat_draws;
DROP TABLE repeats;
