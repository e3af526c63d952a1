package docking

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/scheduler"
)

// ligandRecorder keeps what one shard has found of one ligand.
type ligandRecorder func(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.LigandFound) error

// eachLigand reads a shard's summary and keeps what it says of each of its ligands.
func eachLigand(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, keep ligandRecorder) error {
	var found vina.LigandsFound
	if err := json.Unmarshal(move.Result.Summary, &found); err != nil {
		return fmt.Errorf("read the summary: %w", err)
	}
	for _, ligand := range found.Ligands {
		if err := keep(ctx, tx, move, ligand); err != nil {
			return fmt.Errorf("ligand %d: %w", ligand.Index, err)
		}
	}
	return nil
}

func ligandPrepared(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.LigandFound) error {
	status := statusPending
	if found.Failed() {
		status = statusFailed
	}
	return setIdentity(ctx, tx, move, status, found)
}

func ligandDocked(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.LigandFound) error {
	if found.Failed() || len(found.Poses) == 0 {
		return failLigand(ctx, tx, move, found)
	}
	key, sha256 := storageKey(move, found.PDBQT)
	resultID, err := setScores(ctx, tx, move, found, sha256)
	if err != nil || resultID == "" {
		return err
	}
	return replacePoses(ctx, tx, move, resultID, key, found.Poses)
}

func ligandAnalysed(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove, found vina.LigandFound) error {
	if found.Failed() {
		return failLigand(ctx, tx, move, found)
	}
	resultID, err := setAnalysis(ctx, tx, move, found)
	if err != nil || resultID == "" {
		return err
	}
	key, _ := storageKey(move, found.SDF)
	return setPoseAnalysis(ctx, tx, resultID, key, found.Poses)
}

func receptorPrepared(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	var found vina.ReceptorFound
	if err := json.Unmarshal(move.Result.Summary, &found); err != nil {
		return fmt.Errorf("read the summary: %w", err)
	}
	if err := setReceptor(ctx, tx, move, found); err != nil {
		return err
	}
	if found.Hashes.CacheKey == "" {
		return nil
	}
	return upsertPreparation(ctx, tx, move, found)
}
