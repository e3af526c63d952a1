-- +goose Up

-- A licence server of an account's own. The settings group writes it; the scheduler reads it and locks it.
CREATE TABLE license_servers (
    id              text PRIMARY KEY,
    account_id      text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name            text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    vendor          text NOT NULL,
    product         text NOT NULL,
    license_key     text NOT NULL,                   -- vendor and product, folded: what software is matched by
    protocol        text NOT NULL CHECK (protocol IN ('flexlm', 'rlm', 'sesi', 'custom')),
    host            text NOT NULL,
    port            int  NOT NULL CHECK (port BETWEEN 1 AND 65535),
    seats           int  NOT NULL CHECK (seats BETWEEN 1 AND 100000),
    enforcement     text NOT NULL CHECK (enforcement IN ('ENFORCED', 'ADVISORY', 'DISABLED')),
    enabled         boolean NOT NULL,
    status          text NOT NULL CHECK (status IN ('UNVERIFIED', 'READY', 'NOT_READY')),
    last_checked_at timestamptz,
    last_error      text,
    secret_sealed   bytea,                           -- encrypted, never shown; null when there is none
    created_at      timestamptz NOT NULL,
    CHECK ((status = 'UNVERIFIED') = (last_checked_at IS NULL)),
    CHECK ((status = 'NOT_READY') = (last_error IS NOT NULL))
);
CREATE INDEX license_servers_by_account ON license_servers (account_id, created_at DESC, id DESC);

-- What a job's licensed software means for it, decided at submit: its name in the price book, the fee of a core-hour, and,
-- where the account's own servers provide the licence, their key. Then there is no fee, and seats are counted.
ALTER TABLE jobs
    ADD COLUMN software text,
    ADD COLUMN software_micropence_per_core_hour bigint NOT NULL DEFAULT 0,
    ADD COLUMN license_key text,
    ADD CHECK (license_key IS NULL OR software_micropence_per_core_hour = 0);
ALTER TABLE tasks ADD COLUMN license_key text;       -- of the job

-- Tasks that need a seat wait in an index of their own: while there is none, nobody reads them.
DROP INDEX tasks_pending;
CREATE INDEX tasks_pending ON tasks (queue, account_id, priority DESC, id)
    WHERE status = 'PENDING' AND ready AND license_key IS NULL;
CREATE INDEX tasks_pending_licensed ON tasks (queue, account_id, license_key, priority DESC, id)
    WHERE status = 'PENDING' AND ready AND license_key IS NOT NULL;
CREATE INDEX tasks_licensed_in_flight ON tasks (account_id, license_key)
    WHERE license_key IS NOT NULL AND status IN ('QUEUED', 'RUNNING');

-- The newest successes of a queue tell how well its engine's expectations are met.
CREATE INDEX tasks_succeeded ON tasks (queue, finished_at DESC) WHERE status = 'SUCCEEDED' AND weight > 0;

-- How the seats of an account's licence stand: what its servers offer together, how many tasks are in flight, and how many
-- more may start. free is null where a server merely advises; without any server there is no seat.
-- +goose StatementBegin
CREATE FUNCTION license_use(of_account text, of_key text)
    RETURNS TABLE (seats bigint, in_use bigint, free bigint) LANGUAGE sql STABLE AS $$
    SELECT s.seats, t.in_use, CASE WHEN s.advisory THEN NULL ELSE greatest(s.seats - t.in_use, 0) END
    FROM (SELECT coalesce(sum(l.seats), 0)::bigint AS seats, coalesce(bool_or(l.enforcement = 'ADVISORY'), false) AS advisory
          FROM license_servers l
          WHERE l.account_id = of_account AND l.license_key = of_key AND l.enabled AND l.enforcement <> 'DISABLED') s,
         (SELECT count(*) AS in_use FROM tasks k
          WHERE k.account_id = of_account AND k.license_key = of_key AND k.status IN ('QUEUED', 'RUNNING')) t
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION license_use(text, text);
DROP INDEX tasks_succeeded, tasks_licensed_in_flight, tasks_pending_licensed, tasks_pending;
CREATE INDEX tasks_pending ON tasks (queue, account_id, priority DESC, id) WHERE status = 'PENDING' AND ready;
ALTER TABLE tasks DROP COLUMN license_key;
ALTER TABLE jobs DROP COLUMN license_key, DROP COLUMN software_micropence_per_core_hour, DROP COLUMN software;
DROP TABLE license_servers;
