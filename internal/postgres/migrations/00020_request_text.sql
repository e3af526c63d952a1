-- +goose Up

-- The canonical submission as text. Nobody asks Postgres what is in it, and a library of 10,000 ligands takes longer to be read as JSON than
-- to be stored. Of jobs from before it lies in request; scheduler.RequestText finds either.
ALTER TABLE jobs ADD COLUMN request_text text, ALTER request DROP NOT NULL,
    ADD CONSTRAINT jobs_request_kept CHECK (request_text IS NOT NULL OR request IS NOT NULL) NOT VALID; -- older rows have one: no need to look
-- +goose StatementBegin
DO $$ BEGIN
    ALTER TABLE jobs ALTER request_text SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL; -- a server that was built without it
END $$;
-- +goose StatementEnd

-- +goose Down
UPDATE jobs SET request = request_text::jsonb WHERE request IS NULL;
ALTER TABLE jobs DROP CONSTRAINT jobs_request_kept, DROP COLUMN request_text, ALTER request SET NOT NULL;
