package roles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/sequences"
	"github.com/molfabric/molfabric/internal/tenant"
)

// WithDatabases calls use with the registry of sequence databases in the configured stores; see withStores.
func WithDatabases(
	ctx context.Context, cfg config.Config, log *slog.Logger, use func(context.Context, *sequences.Registry) error,
) error {
	ctx = tenant.Everyone(ctx, "the operator keeps the databases of all accounts")
	return withStores(ctx, cfg, log, func(db *sqlx.DB, objects *object.Store) error {
		return use(ctx, sequences.New(sequences.Deps{DB: db, Objects: objects, Log: log, Now: time.Now}))
	})
}

// examineDatabases counts the sequence databases of the configured or the running system; nothing where there is neither.
func examineDatabases(ctx context.Context, cfg config.Config, log *slog.Logger) []Finding {
	if running := FindRunning(cfg.Home); running != nil {
		cfg = running.fill(cfg)
	}
	if cfg.DatabaseURL == "" {
		return nil
	}
	const part = "BLAST databases"
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	db, err := openMigrated(ctx, cfg)
	if err != nil {
		return []Finding{finding(part, "", err)}
	}
	found, err := sequences.New(sequences.Deps{DB: db, Log: log, Now: time.Now}).List(tenant.Nobody(ctx), "")
	if err = errors.Join(err, db.Close()); err != nil {
		return []Finding{finding(part, "", err)}
	}
	counts := map[string]int{}
	for _, d := range found {
		counts[d.Type]++
	}
	note := fmt.Sprintf("%d for blastp, %d for blastn", counts[sequences.Protein], counts[sequences.Nucleotide])
	if len(found) == 0 {
		note = "none; `molfabric blastdb add` adds one, and until then searches are refused"
	}
	return []Finding{{Part: part, Healthy: true, Note: note}}
}

// shownDatabase is a database in the JSON of the command line.
type shownDatabase struct {
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	ReleasedOn string     `json:"releasedOn"`
	Type       string     `json:"type"`
	Checksum   string     `json:"checksum"`
	Title      string     `json:"title"`
	Sequences  int64      `json:"sequences"`
	Residues   int64      `json:"residues"`
	ByteSize   int64      `json:"byteSize"`
	Program    string     `json:"program"`
	CreatedAt  time.Time  `json:"createdAt"`
	RetiredAt  *time.Time `json:"retiredAt"`
}

// WriteDatabases prints databases as a table, or as JSON.
func WriteDatabases(out io.Writer, list []sequences.Database, asJSON bool) error {
	if asJSON {
		shown := make([]shownDatabase, len(list))
		for i, d := range list {
			shown[i] = shownDatabase{d.Name, d.Version, d.ReleasedOn, d.Type, d.Checksum, d.Title, d.Sequences, d.Residues, d.Bytes,
				d.Program, d.CreatedAt, d.RetiredAt}
		}
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(shown)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"Name", "Version", "Released", "Type", "Sequences", "Residues", "MB", "Checksum", "State"})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 5, Align: text.AlignRight}, {Number: 6, Align: text.AlignRight},
		{Number: 7, Align: text.AlignRight}})
	for _, d := range list {
		state := "in use"
		if d.RetiredAt != nil {
			state = "retired " + d.RetiredAt.Format(time.DateOnly)
		}
		t.AppendRow(table.Row{d.Name, d.Version, d.ReleasedOn, d.Type, Grouped(d.Sequences), Grouped(d.Residues),
			fmt.Sprintf("%.1f", float64(d.Bytes)/1e6), d.Checksum[:12] + "…", state})
	}
	_, err := fmt.Fprintln(out, t.Render())
	return err
}

// Grouped writes a count with a comma before every three digits.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
