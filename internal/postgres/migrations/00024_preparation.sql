-- +goose Up

-- How many stages of a job, from its first on, only make its input ready: one that fails for its user's input before it has used anything
-- beyond them is free. Jobs from before have none.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS preparation_stages int NOT NULL DEFAULT 0 CHECK (preparation_stages >= 0);

-- +goose Down
ALTER TABLE jobs DROP COLUMN preparation_stages;
