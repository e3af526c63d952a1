-- +goose Up

-- Sequence searches as a science resource: what a BLAST job has found, for its owner to find again in a year. The scheduler writes
-- these rows in the transactions that move the job's tasks; everybody else reads.

-- One search job: the database and the parameters that its queries have in common. What is null is not known yet.
CREATE TABLE searches (
    job_id               text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    account_id           text NOT NULL,
    program              text NOT NULL CHECK (program IN ('blastp', 'blastn')),
    program_version      text,                       -- of BLAST+, as the program said
    database_name        text NOT NULL,
    database_version     text NOT NULL,
    database_type        text NOT NULL,              -- prot or nucl
    database_released_on text NOT NULL,              -- YYYY-MM-DD
    database_checksum    text NOT NULL,              -- SHA-256 of the database as a whole
    database_sequences   bigint NOT NULL,
    database_residues    bigint NOT NULL,
    parameters           jsonb NOT NULL,             -- {evalue, maxHits, threads, timeoutSeconds, maxOutputBytes, tasks}
    query_count          int,
    completed_count      int    NOT NULL DEFAULT 0,  -- these three count search_queries
    failed_count         int    NOT NULL DEFAULT 0,
    hit_count            bigint NOT NULL DEFAULT 0,
    created_at           timestamptz NOT NULL
);
CREATE INDEX searches_by_account ON searches (account_id, created_at DESC, job_id DESC);

-- One query of a search. Its hits lie in the object store: lines of a task's hits file.
CREATE TABLE search_queries (
    job_id             text NOT NULL REFERENCES searches (job_id) ON DELETE CASCADE,
    account_id         text NOT NULL,
    query_index        int  NOT NULL,                -- its place in the file of queries, from 0
    task               text,                         -- name of the shard that searches it; null when none ever does
    query_id           text,
    title              text,
    length             bigint,                       -- residues, or bases
    status             text NOT NULL CHECK (status IN ('PENDING', 'SEARCHING', 'COMPLETED', 'FAILED')),
    failure_step       text,
    error              text,
    hit_count          int NOT NULL DEFAULT 0,       -- database sequences
    best_evalue        double precision,
    best_bit_score     double precision,
    best_subject_id    text,
    best_subject_title text,
    hits_key           text,                         -- storage key; null without hits
    hits_offset        bigint,
    hits_bytes         bigint,
    updated_at         timestamptz NOT NULL,
    PRIMARY KEY (job_id, query_index)
);
CREATE INDEX search_queries_by_task ON search_queries (job_id, task);

-- +goose Down
DROP TABLE search_queries, searches;
