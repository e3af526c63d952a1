-- +goose Up

-- A job and everything that its owner may read of it. Only the scheduler writes here.
CREATE TABLE jobs (
    id               text PRIMARY KEY,
    account_id       text NOT NULL REFERENCES accounts (id),
    job_type         text NOT NULL,
    simulator        text,
    job_name         text NOT NULL DEFAULT '',
    scene_file       text NOT NULL,
    request          jsonb NOT NULL,                 -- the canonical submission, metadata included
    recovery_mode    text NOT NULL DEFAULT 'standard',
    priority         int  NOT NULL DEFAULT 0,        -- of the account's plan; higher is served first
    status           text NOT NULL,
    status_reason    text,
    stage_index      int  NOT NULL DEFAULT 0,        -- the stage whose tasks may be dispatched
    stage_count      int  NOT NULL,
    task_count       int  NOT NULL,
    estimated_pence  bigint NOT NULL,
    held_pence       bigint NOT NULL,
    accrued_micropence bigint NOT NULL DEFAULT 0,
    charged_pence    bigint,                         -- set once, when the job ends
    error_code       text,
    error_message    text,
    failure_class    text,
    error_retryable  boolean NOT NULL DEFAULT false,
    attempts         int NOT NULL DEFAULT 1,
    stopping         boolean NOT NULL DEFAULT false, -- what still runs is told to stop: a cancel, or no success is possible
    cancel_requested_at timestamptz,
    cancel_reason    text,
    request_id       text NOT NULL DEFAULT '',       -- X-Request-Id of the submission, for the logs
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz
);
CREATE INDEX jobs_by_account ON jobs (account_id, created_at DESC, id DESC);
CREATE INDEX jobs_open ON jobs (id) WHERE finished_at IS NULL;

CREATE TABLE job_status_history (
    job_id text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    seq    int  NOT NULL,
    status text NOT NULL,
    reason text NOT NULL DEFAULT '',
    at     timestamptz NOT NULL,
    PRIMARY KEY (job_id, seq)
);

-- The hot, narrow half of a task. PENDING rows are the outbox: what is committed here will be run.
CREATE TABLE tasks (
    id           text PRIMARY KEY,
    job_id       text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    account_id   text NOT NULL,
    ordinal      int  NOT NULL,                      -- position in the plan
    stage        text NOT NULL,
    stage_index  int  NOT NULL,
    name         text NOT NULL,                      -- of the shard; unique in the job
    essential    boolean NOT NULL,                   -- its failure is the job's
    weight       real NOT NULL,                      -- expected CPU seconds, for progress
    queue        text NOT NULL,                      -- "<hardware>.<engine>"
    priority     int  NOT NULL DEFAULT 0,
    ready        boolean NOT NULL,                   -- its stage has been reached
    status       text NOT NULL,
    attempt      int  NOT NULL DEFAULT 0,            -- rises with every start; fences late results
    retries      int  NOT NULL DEFAULT 0,            -- attempts that count against the allowance
    interruptions int NOT NULL DEFAULT 0,            -- attempts lost to the system; do not count
    not_before   timestamptz,                        -- back-off of a retry
    worker_id    text,
    progress     real NOT NULL DEFAULT 0,
    queued_at    timestamptz,
    started_at   timestamptz,
    finished_at  timestamptz,
    UNIQUE (job_id, ordinal)
);
CREATE INDEX tasks_pending ON tasks (queue, account_id, priority DESC, id) WHERE status = 'PENDING' AND ready;
CREATE INDEX tasks_by_state ON tasks (job_id, stage_index, status, essential);
CREATE INDEX tasks_in_flight ON tasks (status, queue, account_id) WHERE status IN ('QUEUED', 'RUNNING');

-- The cold half: what to run, and what came of it.
CREATE TABLE task_details (
    task_id       text PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    shard         jsonb NOT NULL,
    summary       jsonb,
    item_failures jsonb,
    programs      jsonb,
    failure_class text,
    error_code    text,
    error_message text,
    message       text NOT NULL DEFAULT ''
);

-- Every attempt and what it used. An attempt is billed at most once, when it is settled.
CREATE TABLE task_attempts (
    task_id     text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt     int  NOT NULL,
    worker_id   text NOT NULL DEFAULT '',
    outcome     text NOT NULL,                       -- SUCCEEDED, FAILED, CANCELLED or LOST
    cpu_us      bigint NOT NULL DEFAULT 0,
    wall_ms     bigint NOT NULL DEFAULT 0,
    peak_memory_bytes bigint NOT NULL DEFAULT 0,
    bytes_in    bigint NOT NULL DEFAULT 0,
    bytes_out   bigint NOT NULL DEFAULT 0,
    charged_micropence bigint NOT NULL DEFAULT 0,
    started_at  timestamptz,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (task_id, attempt)
);

CREATE TABLE artifacts (
    id          text PRIMARY KEY,
    job_id      text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    task_id     text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    account_id  text NOT NULL,
    name        text NOT NULL,
    role        text NOT NULL,
    storage_key text NOT NULL UNIQUE,
    sha256      text NOT NULL,
    byte_size   bigint NOT NULL,
    media_type  text NOT NULL,
    format      text NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX artifacts_by_job ON artifacts (job_id, id);
CREATE INDEX artifacts_by_task ON artifacts (task_id);

-- What a watcher of a job sees, in order; the id is the Last-Event-ID of the event stream.
CREATE TABLE job_events (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    kind   text NOT NULL,                            -- status, progress or task
    body   jsonb NOT NULL,
    at     timestamptz NOT NULL
);
CREATE INDEX job_events_by_job ON job_events (job_id, id);
CREATE INDEX job_events_progress ON job_events (job_id) WHERE kind = 'progress'; -- the newest alone is kept

CREATE TABLE idempotency_keys (
    account_id     text NOT NULL REFERENCES accounts (id),
    operation      text NOT NULL,
    key            text NOT NULL,
    request_sha256 text NOT NULL,                    -- of the canonical request without its key
    response       jsonb NOT NULL,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    PRIMARY KEY (account_id, operation, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- +goose Down
DROP TABLE idempotency_keys, job_events, artifacts, task_attempts, task_details, tasks, job_status_history, jobs;
