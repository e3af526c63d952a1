package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines/alphafold"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/tenant"
	"github.com/molfabric/molfabric/internal/weights"
)

// WithWeights calls use with the registry of models' weights in the configured stores; see withStores.
func WithWeights(
	ctx context.Context, cfg config.Config, log *slog.Logger, use func(context.Context, *weights.Registry) error,
) error {
	ctx = tenant.Everyone(ctx, "the operator keeps the weights that all accounts run")
	return withStores(ctx, cfg, log, func(db *sqlx.DB, objects *object.Store) error {
		return use(ctx, weights.New(weights.Deps{DB: db, Objects: objects, Log: log, Now: time.Now}))
	})
}

// howToGetWeights is what an operator does who has none. Nothing of molfabric downloads them.
const howToGetWeights = "fetch facebook/esmfold_v1 of Hugging Face (licence MIT, 8.4 GB) into a folder, write its tensors as " +
	"safetensors with engines/esmfold/tools/convert_weights.py, and add that folder with `molfabric weights add FOLDER --model " +
	"esmfold --licence MIT --commercial-use`; for alphafold unpack alphafold_params_2021-07-14.tar of AlphaFold (CC BY 4.0) " +
	"beside a config.json of {\"model_type\":\"alphafold2\"}, and add it with `--model alphafold --licence CC-BY-4.0 " +
	"--commercial-use`; until then predictions are refused"

// examineWeights says which weights the configured or the running system has; nothing where there is neither.
func examineWeights(ctx context.Context, cfg config.Config, log *slog.Logger) []Finding {
	if running := FindRunning(cfg.Home); running != nil {
		cfg = running.fill(cfg)
	}
	if cfg.DatabaseURL == "" {
		return nil
	}
	const part = "weights of models"
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	db, err := openMigrated(ctx, cfg)
	if err != nil {
		return []Finding{finding(part, "", err)}
	}
	found, err := weights.New(weights.Deps{DB: db, Log: log, Now: time.Now}).List(tenant.Nobody(ctx))
	if err = errors.Join(err, db.Close()); err != nil {
		return []Finding{finding(part, "", err)}
	}
	words := make([]string, 0, len(found))
	for _, w := range found {
		words = append(words, fmt.Sprintf("%s (%s)", w, DescribeWeights(w)))
	}
	note := strings.Join(words, ", ")
	if len(found) == 0 {
		note = "none; " + howToGetWeights
	}
	return []Finding{{Part: part, Healthy: true, Note: note}}
}

// DescribeWeights says in some words what may be done with weights.
func DescribeWeights(w weights.Weights) string {
	said := "licence " + w.Licence
	if !w.CommercialUse {
		said += ", no commercial use"
	}
	if !w.Trained {
		said += ", untrained"
	}
	return said
}

// unready are the engines whose models have no weights in this deployment, and the one that aligns where there is no database.
func (c *control) unready(ctx context.Context) ([]string, error) {
	ctx = tenant.Nobody(ctx)
	registry := weights.New(weights.Deps{DB: c.db, Objects: c.objects, Log: c.log, Now: time.Now})
	var missing []string
	if c.alignment == nil {
		missing = append(missing, alphafold.AlignerID)
	}
	for _, model := range weights.Models {
		_, err := registry.Newest(ctx, model)
		var none *weights.NoneError
		if errors.As(err, &none) {
			missing = append(missing, model)
		} else if err != nil {
			return nil, err
		}
	}
	return missing, nil
}
