-- +goose Up

-- Docking as a science resource: what a docking job has made, for its owner to find again in a year. The scheduler writes these
-- rows in the transactions that move the job's tasks; everybody else reads.

-- A campaign against one receptor: every docking of an account into the same structure.
CREATE TABLE docking_experiments (
    id           text PRIMARY KEY,
    account_id   text NOT NULL REFERENCES accounts (id),
    receptor_key text NOT NULL,                      -- "pdb:1IEP", or "file:" and the digest or the storage key of the file
    name         text NOT NULL,
    receptor     jsonb NOT NULL,                     -- {pdbId, storageKey, sha256, format}; unknown members are null
    created_at   timestamptz NOT NULL,
    UNIQUE (account_id, receptor_key)
);
CREATE INDEX docking_experiments_by_account ON docking_experiments (account_id, created_at DESC, id DESC);

-- A library that was docked as one job. A single ligand has a run, and no batch.
CREATE TABLE docking_batches (
    id            text PRIMARY KEY,
    account_id    text NOT NULL,
    experiment_id text NOT NULL REFERENCES docking_experiments (id),
    job_id        text NOT NULL UNIQUE REFERENCES jobs (id) ON DELETE CASCADE,
    shard_size    int    NOT NULL,
    seed          bigint NOT NULL,
    ligand_count  int    NOT NULL,
    created_at    timestamptz NOT NULL
);
CREATE INDEX docking_batches_by_account ON docking_batches (account_id, created_at DESC, id DESC);
CREATE INDEX docking_batches_by_experiment ON docking_batches (experiment_id, created_at DESC, id DESC);

-- One docking job: the receptor, the box and the search that its results have in common. What is null is not known yet.
CREATE TABLE docking_runs (
    id                text PRIMARY KEY,
    account_id        text NOT NULL,
    experiment_id     text NOT NULL REFERENCES docking_experiments (id),
    batch_id          text REFERENCES docking_batches (id) ON DELETE CASCADE,
    job_id            text NOT NULL UNIQUE REFERENCES jobs (id) ON DELETE CASCADE,
    request_id        text,                          -- dockingRequest.requestId
    request_run_id    text,                          -- dockingRequest.runId, the caller's own name of the run
    reproduces_run_id text REFERENCES docking_runs (id),
    exhaustiveness    int NOT NULL,
    num_modes         int NOT NULL,
    energy_range_kcal_mol double precision NOT NULL,
    seed              bigint NOT NULL,
    cpu_threads       int NOT NULL,
    ligand_count      int NOT NULL,
    programs          jsonb NOT NULL DEFAULT '{}',   -- program → version, as the programs said
    box               jsonb,                         -- {source, centerAngstrom, sizeAngstrom, notes}
    receptor          jsonb,                         -- summary of the preparation: hashes, protonation, notes, reused, …
    native_component_id text,                        -- of dockingValidation.nativeReference
    validation        jsonb,                         -- of the redocking: rmsdAngstrom, passed, …
    gate_rmsd_angstrom double precision,
    created_at        timestamptz NOT NULL
);
CREATE INDEX docking_runs_by_account ON docking_runs (account_id, created_at DESC, id DESC);
CREATE INDEX docking_runs_by_batch ON docking_runs (batch_id);
CREATE INDEX docking_runs_by_request ON docking_runs (account_id, request_run_id) WHERE request_run_id IS NOT NULL;

-- One ligand of a run.
CREATE TABLE docking_results (
    id               text PRIMARY KEY,
    account_id       text NOT NULL,
    run_id           text NOT NULL REFERENCES docking_runs (id) ON DELETE CASCADE,
    ligand_index     int  NOT NULL,                  -- its place in the request, from 0
    ligand_id        text NOT NULL,
    label            text NOT NULL,
    source           text NOT NULL,                  -- ccd, smiles or artifact
    input_smiles     text,
    prepare_task     text NOT NULL,                  -- name of the shard that prepares it
    dock_task        text NOT NULL,                  -- name of the shard that docks it
    status           text NOT NULL CHECK (status IN ('PENDING', 'PREPARING', 'DOCKING', 'COMPLETED', 'FAILED')),
    failure_stage    text,
    error            text,
    canonical_smiles text,
    docked_smiles    text,
    inchi_key        text,
    formal_charge    int,
    heavy_atoms      int,
    rotatable_bonds  int,
    best_score_kcal_mol double precision,
    ligand_efficiency   double precision,
    pose_count       int NOT NULL DEFAULT 0,
    passed_checks    boolean,                        -- of the best pose
    interactions     text[],                         -- keys of the best pose's, e.g. A:ASP:381:hydrogen_bond; null before the analysis
    notes            jsonb NOT NULL DEFAULT '[]',
    dock_cpu_seconds double precision,
    pdbqt_sha256     text,                           -- of the poses as Vina wrote them: what a reproduction is held against
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    UNIQUE (run_id, ligand_index)
);
CREATE INDEX docking_results_by_score ON docking_results (run_id, best_score_kcal_mol, ligand_index) WHERE best_score_kcal_mol IS NOT NULL;
CREATE INDEX docking_results_by_account ON docking_results (account_id, created_at DESC, id DESC);
CREATE INDEX docking_results_by_task ON docking_results (run_id, dock_task);

-- One pose of a ligand, best score first. Its coordinates are in the artifacts: record (from 1) of the SDF file, model of the PDBQT.
CREATE TABLE docking_poses (
    id               text PRIMARY KEY,
    account_id       text NOT NULL,
    result_id        text NOT NULL REFERENCES docking_results (id) ON DELETE CASCADE,
    rank             int  NOT NULL,
    score_kcal_mol   double precision NOT NULL,
    rmsd_lower_bound double precision NOT NULL,
    rmsd_upper_bound double precision NOT NULL,
    inter            double precision NOT NULL,
    intra            double precision NOT NULL,
    torsional        double precision NOT NULL,
    unbound          double precision NOT NULL,
    reference_rmsd_angstrom double precision,
    checks           jsonb,
    interactions     jsonb,                          -- null before the analysis, and for poses beyond those analysed
    pdbqt_artifact   text REFERENCES artifacts (id) ON DELETE SET NULL,
    sdf_artifact     text REFERENCES artifacts (id) ON DELETE SET NULL,
    complex_artifact text REFERENCES artifacts (id) ON DELETE SET NULL,
    created_at       timestamptz NOT NULL,
    UNIQUE (result_id, rank)
);
CREATE INDEX docking_poses_by_account ON docking_poses (account_id, created_at DESC, id DESC);
CREATE INDEX docking_poses_by_pdbqt ON docking_poses (pdbqt_artifact);
CREATE INDEX docking_poses_by_sdf ON docking_poses (sdf_artifact);
CREATE INDEX docking_poses_by_complex ON docking_poses (complex_artifact);

-- A receptor as it was prepared, for the next docking that wants the same. The files are artifacts of the job that made it.
CREATE TABLE docking_preparations (
    account_id               text NOT NULL REFERENCES accounts (id),
    cache_key                text NOT NULL CHECK (cache_key ~ '^[0-9a-f]{64}$'),
    receptor_identity_sha256 text NOT NULL,
    preparation_sha256       text NOT NULL,
    toolchain_sha256         text NOT NULL,
    identity                 jsonb NOT NULL,         -- {inputSha256, assemblyId, model, chains}
    preparation              jsonb NOT NULL,
    task_id                  text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    created_at               timestamptz NOT NULL,
    PRIMARY KEY (account_id, cache_key)
);
CREATE INDEX docking_preparations_by_identity ON docking_preparations (account_id, receptor_identity_sha256, created_at DESC);
CREATE INDEX docking_preparations_by_task ON docking_preparations (task_id);

-- Whether a stored file still is what its digest says, as last looked.
ALTER TABLE artifacts
    ADD COLUMN verified_at timestamptz,
    ADD COLUMN verification_failed boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE artifacts DROP COLUMN verification_failed, DROP COLUMN verified_at;
DROP TABLE docking_preparations, docking_poses, docking_results, docking_runs, docking_batches, docking_experiments;
