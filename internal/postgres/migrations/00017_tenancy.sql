-- +goose NO TRANSACTION
-- Each table is changed in a transaction of its own, so that at most one of them is held up, and for as long as lock_timeout lets the
-- change wait. What was interrupted may be run again.

-- +goose Up

-- Two roles serve the API and the scheduler; processes become one of them with every statement (internal/postgres). Neither owns a
-- table. molfabric_app sees the rows of the account that the setting molfabric.account names, and none where it names none.
-- molfabric_everyone sees all rows; it is a role and not a value of the setting, because its plans are then those of a database
-- without policies. The owner is not bound (no FORCE): migrations, backups and an older program work as it.
-- Roles belong to the whole server: databases and schemas that are migrated side by side make them once.
-- +goose StatementBegin
DO $$
DECLARE role text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('molfabric.roles', 0));
    FOREACH role IN ARRAY ARRAY['molfabric_app', 'molfabric_everyone'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role);
                EXECUTE format('GRANT %I TO CURRENT_USER', role);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration was faster
        END;
        IF NOT pg_has_role(current_user, role, 'MEMBER') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER', role);
        END IF;
    END LOOP;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO molfabric_app, molfabric_everyone', current_schema());
    EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', current_schema());
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION '%; as a user who may, once: CREATE ROLE molfabric_app; CREATE ROLE molfabric_everyone; GRANT molfabric_app, molfabric_everyone TO %',
        SQLERRM, quote_ident(current_user) USING ERRCODE = 'insufficient_privilege';
END $$;
-- +goose StatementEnd

-- Tables that name their row's account, and below them those that belong to a row of one of these: a row is seen with its parent.
-- A column of their own would have to be filled in rows without number. The parent is asked for by its primary key, a row at a time:
-- EXISTS may be planned as a hash of all the account's tasks. The setting is read once a statement, in a sub-select, and not once a row.
-- +goose StatementBegin
DO $$
DECLARE
    walled record;
    own text;
    patience int;
BEGIN
    FOR walled IN SELECT * FROM (VALUES
        ('accounts', 'id', NULL, NULL), ('sessions', 'account_id', NULL, NULL), ('api_keys', 'account_id', NULL, NULL),
        ('account_identities', 'account_id', NULL, NULL), ('uploads', 'account_id', NULL, NULL), ('multipart_uploads', 'account_id', NULL, NULL),
        ('idempotency_keys', 'account_id', NULL, NULL), ('license_servers', 'account_id', NULL, NULL), ('projects', 'account_id', NULL, NULL),
        ('jobs', 'account_id', NULL, NULL), ('tasks', 'account_id', NULL, NULL), ('artifacts', 'account_id', NULL, NULL),
        ('credit_accounts', 'account_id', NULL, NULL), ('holds', 'account_id', NULL, NULL), ('ledger_entries', 'account_id', NULL, NULL),
        ('payments', 'account_id', NULL, NULL), ('renders', 'account_id', NULL, NULL), ('render_costs', 'account_id', NULL, NULL),
        ('docking_experiments', 'account_id', NULL, NULL), ('docking_batches', 'account_id', NULL, NULL), ('docking_runs', 'account_id', NULL, NULL),
        ('docking_results', 'account_id', NULL, NULL), ('docking_poses', 'account_id', NULL, NULL), ('docking_preparations', 'account_id', NULL, NULL),
        ('searches', 'account_id', NULL, NULL), ('search_queries', 'account_id', NULL, NULL),
        ('job_status_history', 'job_id', 'jobs', 'id'), ('job_events', 'job_id', 'jobs', 'id'), ('worker_faults', 'job_id', 'jobs', 'id'),
        ('task_details', 'task_id', 'tasks', 'id'), ('task_attempts', 'task_id', 'tasks', 'id'), ('task_checkpoints', 'task_id', 'tasks', 'id'),
        ('kept_work', 'task_id', 'tasks', 'id'), ('ledger_postings', 'entry_id', 'ledger_entries', 'id'), ('payment_events', 'payment_id', 'payments', 'id'),
        ('project_contents', 'project_id', 'projects', 'id'), ('project_revisions', 'project_id', 'projects', 'id'), ('project_shares', 'project_id', 'projects', 'id')
    ) AS t (name, key, parent, parent_key) LOOP
        own := CASE WHEN walled.parent IS NULL
            THEN format('%I = (SELECT current_setting(''molfabric.account'', true))', walled.key)
            ELSE format('(SELECT true FROM %I parent WHERE parent.%I = %I.%I)', walled.parent, walled.parent_key, walled.name, walled.key) END;
        patience := 30;
        LOOP -- until nobody has held the table for a moment: whoever waits behind this is let through between two tries
            BEGIN
                PERFORM set_config('lock_timeout', '1s', true);
                EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled.name);
                EXECUTE format('DROP POLICY IF EXISTS own ON %I', walled.name);
                EXECUTE format('DROP POLICY IF EXISTS everyone ON %I', walled.name);
                EXECUTE format('CREATE POLICY own ON %I TO molfabric_app USING (%s)', walled.name, own);
                EXECUTE format('CREATE POLICY everyone ON %I TO molfabric_everyone USING (true)', walled.name);
                EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO molfabric_app, molfabric_everyone', walled.name);
                EXIT;
            EXCEPTION WHEN lock_not_available THEN
                patience := patience - 1;
                IF patience = 0 THEN
                    RAISE;
                END IF;
            END;
            PERFORM pg_sleep(0.5);
        END LOOP;
        COMMIT;
    END LOOP;
END $$;
-- +goose StatementEnd

-- What belongs to no account. Look-ups of public data are kept for everybody by whoever made them; the operator keeps the databases.
GRANT SELECT, INSERT, UPDATE ON structures, components TO molfabric_app, molfabric_everyone;
GRANT SELECT ON sequence_databases TO molfabric_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON sequence_databases TO molfabric_everyone;
GRANT SELECT ON goose_db_version TO molfabric_app, molfabric_everyone;
-- A view sees with the eyes of its owner, who sees everything.
GRANT SELECT ON ledger_violations TO molfabric_everyone;

-- How many of at most most_looked_at waiting tasks of other jobs in a queue come before a task. It looks across accounts, for whoever
-- waits in the same queue, and gives away this number alone.
-- +goose StatementBegin
DO $$ BEGIN
    EXECUTE format('CREATE OR REPLACE FUNCTION tasks_ahead(of_queue text, of_job text, of_task text, of_priority int, most_looked_at int)
        RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER SET search_path = %I, pg_temp AS $body$
            SELECT count(*) FROM (
                SELECT t.priority, t.id FROM tasks t
                WHERE t.queue = of_queue AND t.status = ''PENDING'' AND t.ready AND t.job_id <> of_job LIMIT most_looked_at
            ) waiting WHERE priority > of_priority OR (priority = of_priority AND id < of_task)
        $body$', current_schema());
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION tasks_ahead FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tasks_ahead TO molfabric_app, molfabric_everyone;

-- +goose Down
DROP FUNCTION tasks_ahead;
-- +goose StatementBegin
DO $$
DECLARE walled text;
BEGIN
    FOR walled IN SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relrowsecurity LOOP
        PERFORM set_config('lock_timeout', '2s', true);
        EXECUTE format('DROP POLICY own ON %I', walled);
        EXECUTE format('DROP POLICY everyone ON %I', walled);
        EXECUTE format('ALTER TABLE %I DISABLE ROW LEVEL SECURITY', walled);
        COMMIT;
    END LOOP;
    -- The roles stay: they are the whole server's.
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM molfabric_app, molfabric_everyone', current_schema());
    EXECUTE format('REVOKE USAGE ON SCHEMA %I FROM molfabric_app, molfabric_everyone', current_schema());
END $$;
-- +goose StatementEnd
