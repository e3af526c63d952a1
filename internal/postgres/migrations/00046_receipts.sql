-- +goose Up

-- The digest of the programs that made a task's outputs (internal/queue.Toolchain); null in rows of the release before.
ALTER TABLE task_details ADD COLUMN IF NOT EXISTS toolchain text;

-- The public halves of the keys that have signed receipts: also of those whose secret has gone since. They are anybody's to read.
CREATE TABLE IF NOT EXISTS receipt_keys (
    id         text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{64}$'),
    public_key bytea NOT NULL CHECK (length(public_key) = 32),
    created_at timestamptz NOT NULL
);
GRANT SELECT, INSERT ON receipt_keys TO molfabric_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON receipt_keys TO molfabric_everyone;

-- What was signed of a job: the very bytes, since its rows may come to be read in another form. A retry's takes the place of the one
-- before.
CREATE TABLE IF NOT EXISTS receipts (
    job_id     text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    account_id text NOT NULL,
    run        int NOT NULL,
    key_id     text NOT NULL REFERENCES receipt_keys (id),
    statement  bytea NOT NULL, -- Zstandard
    signature  bytea NOT NULL CHECK (length(signature) = 64),
    signed_at  timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS receipts_by_key ON receipts (key_id);

ALTER TABLE receipts ENABLE ROW LEVEL SECURITY;
-- +goose StatementBegin
DO $$
BEGIN
    DROP POLICY IF EXISTS own ON receipts;
    DROP POLICY IF EXISTS everyone ON receipts;
    CREATE POLICY own ON receipts TO molfabric_app USING (account_id = (SELECT current_setting('molfabric.account', true)));
    CREATE POLICY everyone ON receipts TO molfabric_everyone USING (true);
    GRANT SELECT, INSERT, UPDATE, DELETE ON receipts TO molfabric_app, molfabric_everyone;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE receipts;
DROP TABLE receipt_keys;
ALTER TABLE task_details DROP COLUMN toolchain;
