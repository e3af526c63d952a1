-- +goose Up

-- When the owner of a job had its files deleted: its record, its use and its bill stay. inputs_recorded tells that job_inputs has what the
-- job reads; of jobs from before, and from the previous release, it stands in the request alone.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS files_deleted_at timestamptz,
    ADD COLUMN IF NOT EXISTS inputs_recorded boolean NOT NULL DEFAULT false;

-- When an account was closed. Its row stays for the books, without its owner's address, name and credentials.
ALTER TABLE accounts ADD COLUMN IF NOT EXISTS closed_at timestamptz;
-- A closed account sets nothing aside any more. It is told by the row that every movement of its money locks.
ALTER TABLE credit_accounts ADD COLUMN IF NOT EXISTS closed boolean NOT NULL DEFAULT false;

-- The account's own files that a job reads: uploads, and outputs of other jobs. lost_at is when one was deleted with the job that made it.
CREATE TABLE IF NOT EXISTS job_inputs (
    job_id      text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    account_id  text NOT NULL,
    storage_key text COLLATE "C" NOT NULL,
    lost_at     timestamptz,
    PRIMARY KEY (job_id, storage_key)
);
CREATE INDEX IF NOT EXISTS job_inputs_by_key ON job_inputs (storage_key);

-- Names of docking runs and batches whose rows were deleted, so that who asks for one is told so.
CREATE TABLE IF NOT EXISTS deleted_results (
    id         text PRIMARY KEY,
    account_id text NOT NULL,
    job_id     text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    deleted_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS deleted_results_by_job ON deleted_results (job_id);

-- What is still to be deleted from the object store: written with the deletion of the rows that named it, and removed when it is done.
CREATE TABLE IF NOT EXISTS removals (
    prefix     text COLLATE "C" PRIMARY KEY,         -- all below it when it ends with a slash, else this one object
    account_id text NOT NULL,
    asked_at   timestamptz NOT NULL,
    due_at     timestamptz NOT NULL,                 -- when it is looked at next
    looked     int NOT NULL DEFAULT 0,               -- how often all was deleted: the last time when nothing can be written there any more
    CHECK (starts_with(prefix, 'accounts/' || account_id || '/'))
);
CREATE INDEX IF NOT EXISTS removals_due ON removals (due_at);

-- Addresses whose accounts were closed after they had had the free credit: an HMAC under the deployment's secret, and nothing else.
CREATE TABLE IF NOT EXISTS closed_addresses (
    address_hmac bytea PRIMARY KEY CHECK (octet_length(address_hmac) = 32),
    closed_at    timestamptz NOT NULL
);

-- +goose StatementBegin
DO $$
DECLARE walled text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['job_inputs', 'deleted_results', 'removals'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('DROP POLICY IF EXISTS own ON %I', walled);
        EXECUTE format('DROP POLICY IF EXISTS everyone ON %I', walled);
        EXECUTE format('CREATE POLICY own ON %I TO molfabric_app USING (account_id = (SELECT current_setting(''molfabric.account'', true)))', walled);
        EXECUTE format('CREATE POLICY everyone ON %I TO molfabric_everyone USING (true)', walled);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO molfabric_app, molfabric_everyone', walled);
    END LOOP;
    -- Nobody who serves requests changes the audit log, but for this: the lines of a closed account lose what tells of a person.
    EXECUTE format('CREATE OR REPLACE FUNCTION audit_log_forget(of_account text)
        RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = %I, pg_temp AS $body$
            UPDATE audit_log SET address = '''', detail = CASE WHEN event LIKE ''credit.%%'' OR event = ''account.closed'' THEN detail ELSE '''' END
            WHERE account_id = of_account AND (address <> '''' OR detail <> '''')
                AND EXISTS (SELECT FROM accounts WHERE id = of_account AND closed_at IS NOT NULL)
        $body$', current_schema());
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION audit_log_forget FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit_log_forget TO molfabric_app, molfabric_everyone;
GRANT SELECT, INSERT ON closed_addresses TO molfabric_app, molfabric_everyone;

-- +goose Down
SET LOCAL lock_timeout = '10s';
DROP FUNCTION audit_log_forget;
DROP TABLE closed_addresses, removals, deleted_results, job_inputs;
ALTER TABLE credit_accounts DROP COLUMN closed;
ALTER TABLE accounts DROP COLUMN closed_at;
ALTER TABLE jobs DROP COLUMN inputs_recorded, DROP COLUMN files_deleted_at;
