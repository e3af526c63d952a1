package roles

import (
	"fmt"
	"log/slog"

	"github.com/molfabric/molfabric/engines/alphafold"
	"github.com/molfabric/molfabric/internal/alignments"
	"github.com/molfabric/molfabric/internal/config"
)

// noAlignments is what an operator does who has no database to align to.
const noAlignments = "no database to align to: alphafold predicts from single sequences. To have one, name its folder in " +
	"MOLFABRIC_FOLD_DATABASE of the API and of the workers that align; engines/alphafold/tools/database.py makes or describes it"

// alignmentDatabase is the database that proteins are aligned to; nil where none is configured.
func alignmentDatabase(cfg config.Config) (*alignments.Database, error) {
	if cfg.FoldDatabase == "" {
		return nil, nil
	}
	found, err := alignments.Open(cfg.FoldDatabase)
	if err != nil {
		return nil, fmt.Errorf("MOLFABRIC_FOLD_DATABASE: %w", err)
	}
	return &found.Database, nil
}

// shownAlignments is what the sandbox shows of the database, and the variable that says where. A folder that cannot be used is not
// shown: then the engine that aligns is not offered, and its probe says why.
func shownAlignments(cfg config.Config, log *slog.Logger) (paths []string, environment map[string]string) {
	if cfg.FoldDatabase == "" {
		return nil, nil
	}
	environment = map[string]string{alphafold.DatabaseVariable: cfg.FoldDatabase}
	_, err := alignments.Open(cfg.FoldDatabase)
	switch {
	case cfg.Sandbox == "container":
		log.Warn("tasks in images see no database to align to", "folder", cfg.FoldDatabase)
	case err != nil:
		log.Warn("the database to align to cannot be used", "error", err)
	default:
		return []string{cfg.FoldDatabase}, environment
	}
	return nil, environment
}

// examineAlignments holds the database that proteins are aligned to against its description; nothing where there is none.
func examineAlignments(cfg config.Config) []Finding {
	if cfg.FoldDatabase == "" {
		return nil
	}
	const part = "alignment database"
	found, err := alignments.Open(cfg.FoldDatabase)
	if err != nil {
		return []Finding{finding(part, "", err)}
	}
	whole, err := found.Examine(cfg.FoldDatabase)
	f := finding(part, found.Name+" "+found.Version, err)
	if err == nil {
		f.Note = fmt.Sprintf("%s sequences, sha256 %.16s…", Grouped(found.Sequences), found.Digest)
		if !whole {
			f.Note += "; sizes alone were compared, as its files are large: engines/alphafold/tools/database.py verify reads them"
		}
	}
	return []Finding{f}
}
