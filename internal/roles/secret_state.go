package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/secret/resting"
	"github.com/molfabric/molfabric/internal/tenant"
)

// SecretState is the deployment's secrets by their ids, and what rests on them.
type SecretState struct {
	Sealing string         `json:"sealing"`           // id of the secret that seals
	Opening []string       `json:"opening,omitempty"` // ids of those that only open
	Rests   []resting.Rest `json:"rests"`
}

// Secrets tells what rests on which secret of the configured database, or of that of the home's system.
func Secrets(ctx context.Context, cfg config.Config, log *slog.Logger) (state SecretState, err error) {
	err = withAccounts(ctx, cfg, log, func(ctx context.Context, db *sqlx.DB) error {
		state, err = secretState(ctx, cfg, db)
		return err
	})
	return state, err
}

func secretState(ctx context.Context, cfg config.Config, db *sqlx.DB) (SecretState, error) {
	ring, err := knownSecrets(cfg)
	if err != nil {
		return SecretState{}, err
	}
	state := SecretState{Sealing: ring.ID(), Opening: ring.IDs()[1:]}
	state.Rests, err = resting.Count(ctx, db, ring, time.Now())
	return state, err
}

// Reseal seals what the deployment can seal anew by itself under the secret that seals.
func Reseal(ctx context.Context, cfg config.Config, log *slog.Logger) (done resting.Resealed, err error) {
	ring, err := knownSecrets(cfg)
	if err != nil {
		return done, err
	}
	err = withAccounts(ctx, cfg, log, func(ctx context.Context, db *sqlx.DB) error {
		done, err = resting.Reseal(ctx, db, ring)
		return err
	})
	return done, err
}

// withAccounts calls use with everybody's rows, in the configured database as it is, or in that of the system of the home.
func withAccounts(ctx context.Context, cfg config.Config, log *slog.Logger, use func(context.Context, *sqlx.DB) error) error {
	ctx = tenant.Everyone(ctx, "the operator keeps the accounts")
	if running := FindRunning(cfg.Home); running != nil {
		cfg = running.fill(cfg)
	}
	if cfg.DatabaseURL == "" {
		return withStores(ctx, cfg, log, func(db *sqlx.DB, _ *object.Store) error { return use(ctx, db) })
	}
	db, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(use(ctx, db), db.Close())
}

// examineSecrets says whether an earlier secret is still needed. It starts no database to find out.
func examineSecrets(ctx context.Context, cfg config.Config) []Finding {
	const part = "key secret"
	ring, err := knownSecrets(cfg)
	if errors.Is(err, errNoSecret) {
		return nil
	}
	if err != nil {
		return []Finding{finding(part, "", err)}
	}
	found := Finding{Part: part, Healthy: true, Version: ring.ID()}
	if len(ring.IDs()) == 1 {
		return []Finding{found}
	}
	found.Note = "also opens what was made under " + strings.Join(ring.IDs()[1:], ", ")
	if running := FindRunning(cfg.Home); running != nil {
		cfg = running.fill(cfg)
	}
	if cfg.DatabaseURL == "" {
		return []Finding{found}
	}
	db, err := openMigrated(ctx, cfg)
	if err != nil {
		return []Finding{found} // the finding about Postgres says it
	}
	defer db.Close()
	state, err := secretState(tenant.Everyone(ctx, "the doctor counts what rests on the secrets"), cfg, db)
	if err != nil {
		return []Finding{finding(part, ring.ID(), err)}
	}
	found.Note += ". " + state.Advice()
	return []Finding{found}
}

// Advice says what is to be done about the earlier secrets.
func (s SecretState) Advice() string {
	if len(s.Opening) == 0 {
		return "There is one secret. `molfabric secret rotate` replaces that of a home; doc/operating.md says how others are " +
			"replaced."
	}
	if kind, n := resting.Hindrance(s.Rests); n > 0 {
		what := "keys move at their next use"
		if kind == resting.Licences || kind == resting.Webhooks {
			what = "`molfabric secret reseal` moves them"
		}
		return fmt.Sprintf("The earlier secret is needed: %d %s in use rest on it; %s.", n, kind, what)
	}
	var lost []string
	for _, one := range s.Rests {
		if one.Earlier > 0 {
			lost = append(lost, fmt.Sprintf("%d %s", one.Earlier, one.Kind))
		}
	}
	if len(lost) == 0 {
		return "Nothing rests on the earlier secret; it may go a day after the last process that sealed with it has stopped."
	}
	return "The earlier secret may go; what ends with it: " + strings.Join(lost, ", ") + "."
}
