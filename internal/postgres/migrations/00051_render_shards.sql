-- +goose Up
-- Into how many shards frames were cut, by the digest of what the shards have in common ('' where that was not recorded): such frames
-- are cut so again, or nothing of them would be known.
ALTER TABLE renders ADD COLUMN IF NOT EXISTS likeness text NOT NULL DEFAULT '';
ALTER TABLE renders ADD COLUMN IF NOT EXISTS shards int NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS renders_by_scene ON renders (account_id, scene, engine, created_at DESC);

-- +goose Down
DROP INDEX renders_by_scene;
ALTER TABLE renders DROP COLUMN shards, DROP COLUMN likeness;
