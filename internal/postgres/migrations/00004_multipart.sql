-- +goose Up

-- Files of a project package lie below one prefix, so that the relative paths among them resolve. A file that a submission has
-- found is used: it is neither replaced nor cleaned up. One that is being removed or replaced is as if absent.
ALTER TABLE uploads
    ADD COLUMN project_id   uuid,
    ADD COLUMN logical_path text,
    ADD COLUMN used_at      timestamptz,
    ADD COLUMN removing     boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT uploads_place CHECK ((project_id IS NULL) = (logical_path IS NULL)),
    ADD CONSTRAINT uploads_used_stay CHECK (used_at IS NULL OR NOT removing);
COMMENT ON COLUMN uploads.sha256 IS 'which the store has enforced, or which was found by reading the file; null when unknown';
-- Which of the earlier files are in use is not known, so all are.
UPDATE uploads SET used_at = created_at;
CREATE INDEX uploads_by_project ON uploads (account_id, project_id, logical_path) WHERE project_id IS NOT NULL;
CREATE INDEX uploads_unused ON uploads (created_at) WHERE used_at IS NULL;

-- A file on its way in parts. When it is complete it becomes a row of uploads. Which parts have arrived is the object store's
-- knowledge until then.
CREATE TABLE multipart_uploads (
    id           text PRIMARY KEY,
    account_id   text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    storage_key  text NOT NULL,
    store_handle text NOT NULL,                      -- the object store's name for the undertaking
    filename     text NOT NULL,
    content_type text NOT NULL,
    byte_size    bigint NOT NULL CHECK (byte_size > 0),
    sha256       text CHECK (sha256 ~ '^[0-9a-f]{64}$'), -- of the whole file, as stated at the start or at completion
    project_id   uuid,
    logical_path text,
    part_bytes   bigint NOT NULL CHECK (part_bytes > 0), -- of every part but the last
    part_count   int NOT NULL CHECK (part_count BETWEEN 1 AND 10000),
    checksummed  boolean NOT NULL,                   -- the store holds every part against its SHA-256
    state        text NOT NULL CHECK (state IN ('open', 'completing', 'completed', 'failed', 'aborted', 'expired')),
    part_etags   text[],                             -- of the parts that the file was made of, in order; from 'completing' on
    integrity    text,                               -- what the parts were held against; from 'completing' on
    answer       jsonb,                              -- of the completion, for its repetitions
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    CHECK ((project_id IS NULL) = (logical_path IS NULL)),
    CHECK ((state = 'completed') = (answer IS NOT NULL))
);
CREATE INDEX multipart_uploads_expiry ON multipart_uploads (expires_at);
CREATE INDEX multipart_uploads_by_project ON multipart_uploads (account_id, project_id) WHERE project_id IS NOT NULL;

-- +goose Down
DROP TABLE multipart_uploads;
DELETE FROM uploads WHERE removing;
DROP INDEX uploads_by_project, uploads_unused;
ALTER TABLE uploads
    DROP CONSTRAINT uploads_place, DROP CONSTRAINT uploads_used_stay,
    DROP COLUMN project_id, DROP COLUMN logical_path, DROP COLUMN used_at, DROP COLUMN removing;

