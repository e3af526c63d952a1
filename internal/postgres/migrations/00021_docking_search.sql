-- +goose Up

-- A docking run may leave the length of its searches to them, and each ligand's result says how its search has ended.
ALTER TABLE docking_runs ADD COLUMN IF NOT EXISTS exhaustiveness_auto boolean NOT NULL DEFAULT false; -- exhaustiveness is then the most that a ligand gets
ALTER TABLE docking_results ADD COLUMN IF NOT EXISTS convergence jsonb; -- how independent searches agreed; null for a search of a fixed length

-- +goose Down
ALTER TABLE docking_results DROP COLUMN convergence;
ALTER TABLE docking_runs DROP COLUMN exhaustiveness_auto;
