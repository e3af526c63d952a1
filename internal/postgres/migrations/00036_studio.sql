-- +goose Up

-- Conversations about scenes. The state is the program's own: the scenes with their operations, and the question that is open.
CREATE TABLE IF NOT EXISTS studio_sessions (
    id              text PRIMARY KEY,
    account_id      text NOT NULL,
    title           text NOT NULL,
    state           jsonb NOT NULL,
    revision        bigint NOT NULL DEFAULT 1,       -- grows with every message, so that two at once do not overwrite each other
    scene_version   bigint NOT NULL DEFAULT 1,       -- grows with every change of the scene
    messages        int NOT NULL DEFAULT 0,
    project_id      uuid,                            -- where it was opened from or saved to last
    project_version bigint,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS studio_sessions_by_account ON studio_sessions (account_id, created_at, id);

-- What was said and answered, in order; the number is the Last-Event-ID of the event stream.
CREATE TABLE IF NOT EXISTS studio_messages (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id text NOT NULL REFERENCES studio_sessions (id) ON DELETE CASCADE,
    account_id text NOT NULL,
    body       jsonb NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS studio_messages_by_session ON studio_messages (session_id, number);

-- +goose StatementBegin
DO $$
DECLARE walled text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['studio_sessions', 'studio_messages'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('DROP POLICY IF EXISTS own ON %I', walled);
        EXECUTE format('DROP POLICY IF EXISTS everyone ON %I', walled);
        EXECUTE format('CREATE POLICY own ON %I TO molfabric_app USING (account_id = (SELECT current_setting(''molfabric.account'', true)))', walled);
        EXECUTE format('CREATE POLICY everyone ON %I TO molfabric_everyone USING (true)', walled);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO molfabric_app, molfabric_everyone', walled);
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE studio_messages;
DROP TABLE studio_sessions;
