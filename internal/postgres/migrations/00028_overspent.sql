-- +goose Up

-- Whether a job's run is being stopped because it has used far more than was set aside for it, what its running tasks have used included.
-- A release from before does not look at it: what such a run is charged is then decided by what its tasks report at their end.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS overspent boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE jobs DROP COLUMN overspent;
