-- +goose Up

-- The canonical submission as text. Nobody asks Postgres what is in it, and a library of 10,000 ligands took longer to be read as JSON than
-- to be stored. Of jobs from before it lies in request; scheduler.RequestText finds either. All that waits for a lock is one step, which is
-- taken back when the lock is not to be had within a second.
-- +goose StatementBegin
DO $$
DECLARE patience int := 30;
BEGIN
    PERFORM set_config('lock_timeout', '1s', true);
    LOOP
        BEGIN
            ALTER TABLE jobs ADD COLUMN request_text text, ALTER request DROP NOT NULL,
                ADD CONSTRAINT jobs_request_kept CHECK (request_text IS NOT NULL OR request IS NOT NULL) NOT VALID; -- older rows have one: no need to look
            BEGIN
                ALTER TABLE jobs ALTER request_text SET COMPRESSION lz4;
            EXCEPTION WHEN feature_not_supported THEN NULL;
            END;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            patience := patience - 1;
            IF patience = 0 THEN
                RAISE;
            END IF;
        END;
        PERFORM pg_sleep(0.5);
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
UPDATE jobs SET request = request_text::jsonb WHERE request IS NULL;
ALTER TABLE jobs DROP CONSTRAINT jobs_request_kept, DROP COLUMN request_text, ALTER request SET NOT NULL;
