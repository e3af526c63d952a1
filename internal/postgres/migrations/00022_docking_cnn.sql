-- +goose Up

-- What a docking run ranks by, and what GNINA's network says of poses. A result has that of its first pose.
ALTER TABLE docking_runs ADD COLUMN IF NOT EXISTS rank_by text NOT NULL DEFAULT 'vina'; -- vina or cnn
ALTER TABLE docking_results ADD COLUMN IF NOT EXISTS cnn_score double precision, ADD COLUMN IF NOT EXISTS cnn_affinity_pk double precision;
ALTER TABLE docking_poses ADD COLUMN IF NOT EXISTS vina_rank int, -- the pose's model in the PDBQT; null where it is its rank
    ADD COLUMN IF NOT EXISTS cnn_score double precision, ADD COLUMN IF NOT EXISTS cnn_affinity_pk double precision;

-- +goose Down
ALTER TABLE docking_poses DROP COLUMN vina_rank, DROP COLUMN cnn_score, DROP COLUMN cnn_affinity_pk;
ALTER TABLE docking_results DROP COLUMN cnn_score, DROP COLUMN cnn_affinity_pk;
ALTER TABLE docking_runs DROP COLUMN rank_by;
