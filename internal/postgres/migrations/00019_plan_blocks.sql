-- +goose Up

-- What the tasks of a job are to do: the shards of its plan from first_ordinal on, a JSON array compressed with Zstandard (RFC 8878). A
-- plan is written with its job and never changed; package internal/plans alone reads it. Of jobs from before, the shards lie in
-- task_details, whose rows are written from now on when there is something to say of a task.
--
-- Requests are compressed with lz4, where the server was built with it. All that waits for a lock is one step, which is taken back when a
-- lock is not to be had within a second: whoever waits behind is let through between two tries.
-- +goose StatementBegin
DO $$
DECLARE patience int := 30;
BEGIN
    PERFORM set_config('lock_timeout', '1s', true);
    LOOP
        BEGIN
            BEGIN
                ALTER TABLE jobs ALTER request SET COMPRESSION lz4;
            EXCEPTION WHEN feature_not_supported THEN NULL;
            END;
            ALTER TABLE task_details ALTER shard DROP NOT NULL;
            CREATE TABLE plan_blocks (
                job_id        text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
                first_ordinal int  NOT NULL,
                shards        bytea NOT NULL,
                PRIMARY KEY (job_id, first_ordinal)
            );
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
ALTER TABLE plan_blocks ALTER shards SET STORAGE EXTERNAL; -- it is compressed already
ALTER TABLE plan_blocks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON plan_blocks TO molfabric_app USING ((SELECT true FROM jobs parent WHERE parent.id = plan_blocks.job_id));
CREATE POLICY everyone ON plan_blocks TO molfabric_everyone USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON plan_blocks TO molfabric_app, molfabric_everyone;

-- +goose Down
-- The program of before finds no plan of the jobs that were submitted since.
DROP TABLE plan_blocks;
DELETE FROM task_details WHERE shard IS NULL;
ALTER TABLE task_details ALTER shard SET NOT NULL;
