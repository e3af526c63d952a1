-- +goose Up

-- When a file that was announced was first seen in the object store. What has not come a day after its URL has expired is forgotten, so
-- that it takes nothing of its account's quota. Files that were put in the place of another are looked for anew.
ALTER TABLE uploads ADD COLUMN IF NOT EXISTS arrived_at timestamptz;
CREATE INDEX IF NOT EXISTS uploads_announced ON uploads (expires_at) WHERE arrived_at IS NULL AND used_at IS NULL;
-- What an account has on its way counts as if it were there.
CREATE INDEX IF NOT EXISTS multipart_uploads_on_their_way ON multipart_uploads (account_id) WHERE state IN ('open', 'completing');

-- +goose Down
DROP INDEX multipart_uploads_on_their_way;
DROP INDEX uploads_announced;
ALTER TABLE uploads DROP COLUMN arrived_at;
