-- +goose Up

-- These tables are written all the time: rather than hold up every writer behind a transaction that does not end, this gives up.
SET LOCAL lock_timeout = '10s';

-- How much a task works on (frames, ligands, queries), for progress; and how many times in a row workers gave it back unstarted.
ALTER TABLE tasks
    ADD COLUMN items int NOT NULL DEFAULT 0,
    ADD COLUMN given_back int NOT NULL DEFAULT 0;
-- The number of the frame that a file shows; null for what is none.
ALTER TABLE artifacts ADD COLUMN frame bigint;

-- What an attempt had used when it last saved finished work in checkpoints. It is charged, and the row goes, when a later attempt
-- that went on from it is charged. A row that is left belongs to work that nobody has gone on from, or not yet: it is free.
CREATE TABLE kept_work (
    task_id text   NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt int    NOT NULL,
    cpu_us  bigint NOT NULL CHECK (cpu_us >= 0),
    gpu_us  bigint NOT NULL CHECK (gpu_us >= 0),
    wall_ms bigint NOT NULL CHECK (wall_ms >= 0),
    at      timestamptz NOT NULL,
    PRIMARY KEY (task_id, attempt)
);

-- Attempts of a job's tasks that the program failed, or that were lost, by the worker that had them, and why the last one ended.
-- A worker with too many of them is kept off the job while another one serves it.
CREATE TABLE worker_faults (
    job_id    text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    worker_id text NOT NULL,
    attempts  int  NOT NULL CHECK (attempts > 0),
    code      text NOT NULL,                         -- of the last failure, e.g. OUT_OF_MEMORY; WORKER_LOST
    at        timestamptz NOT NULL,
    PRIMARY KEY (job_id, worker_id)
);

-- The scene that a job draws, to know it again: "sha256:<hex>" of the file, or "key:<storage key>:<bytes>" where nobody stated one.
CREATE TABLE renders (
    job_id     text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    account_id text NOT NULL,
    engine     text NOT NULL,
    scene      text NOT NULL,
    created_at timestamptz NOT NULL
);

-- What frames of a scene took when they were last rendered, in seconds of one core; the account's next plan is made with it.
CREATE TABLE render_costs (
    account_id        text NOT NULL REFERENCES accounts (id),
    scene             text NOT NULL,
    engine            text NOT NULL,
    load_cpu_seconds  double precision NOT NULL CHECK (load_cpu_seconds >= 0),
    frame_cpu_seconds double precision NOT NULL CHECK (frame_cpu_seconds >= 0),
    pixels            bigint,                        -- of a frame; null when the program did not say
    samples           int,                           -- of a pixel; null when the program did not say
    stated            boolean NOT NULL DEFAULT false, -- size or samples were the request's, and not the scene's own
    at                timestamptz NOT NULL,
    PRIMARY KEY (account_id, scene, engine)
);

-- +goose Down
SET LOCAL lock_timeout = '10s';
DROP TABLE render_costs, renders, worker_faults, kept_work;
ALTER TABLE artifacts DROP COLUMN frame;
ALTER TABLE tasks DROP COLUMN given_back, DROP COLUMN items;
