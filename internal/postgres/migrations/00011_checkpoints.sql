-- +goose Up

-- Finished work that an attempt of a task saved while it ran: the next attempt goes on from it. The rows go when the task
-- succeeds, and when a retry runs it again from the start.
CREATE TABLE task_checkpoints (
    task_id     text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    name        text NOT NULL,                       -- "checkpoint/…", below the program's outputs
    storage_key text NOT NULL,
    sha256      text NOT NULL,
    byte_size   bigint NOT NULL CHECK (byte_size >= 0),
    attempt     int  NOT NULL,                       -- that saved it
    at          timestamptz NOT NULL,
    PRIMARY KEY (task_id, name)
);

-- +goose Down
DROP TABLE task_checkpoints;
