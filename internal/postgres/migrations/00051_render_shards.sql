-- +goose Up
-- Into how many shards how many frames of a scene were cut: the same frames are cut so again, or nothing of them would be known.
ALTER TABLE renders ADD COLUMN IF NOT EXISTS frames int NOT NULL DEFAULT 0;
ALTER TABLE renders ADD COLUMN IF NOT EXISTS shards int NOT NULL DEFAULT 0; -- 0: not recorded
CREATE INDEX IF NOT EXISTS renders_by_scene ON renders (account_id, scene, engine, frames, created_at DESC);

-- +goose Down
DROP INDEX renders_by_scene;
ALTER TABLE renders DROP COLUMN shards, DROP COLUMN frames;
