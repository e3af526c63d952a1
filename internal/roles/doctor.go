package roles

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/api/web"
	"github.com/molfabric/molfabric/engines/all"
	"github.com/molfabric/molfabric/engines/alphafold"
	"github.com/molfabric/molfabric/engines/swan"
	"github.com/molfabric/molfabric/engines/wavewatch3"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/worker"
)

// doctorPatience bounds what the doctor asks of a running system.
const doctorPatience = 10 * time.Second

// Finding is what the doctor says of one part.
type Finding struct {
	Part    string `json:"part"`
	Healthy bool   `json:"healthy"`
	Version string `json:"version,omitempty"`
	Note    string `json:"note,omitempty"` // what is wrong and what to do, or what to know
}

// Report is the whole examination. Healthy says that this machine can serve or work as it is configured.
type Report struct {
	Healthy  bool      `json:"healthy"`
	Findings []Finding `json:"parts"`
}

// Examine looks at every part: the programs of this machine, the engines in their sandbox, the configured stores and the
// system that runs from the home directory. why says how this home was chosen.
func Examine(ctx context.Context, cfg config.Config, version, why string, log *slog.Logger) Report {
	report := Report{Findings: []Finding{{Part: "molfabric", Healthy: true, Version: version,
		Note: "home " + cfg.Home + ", " + why}}}
	report.add(examineStores(ctx, cfg)...)
	report.add(examineEngines(ctx, cfg, log)...)
	report.add(examineApp())
	report.add(examineExposure(cfg)...)
	report.add(examineSecrets(ctx, cfg)...)
	report.add(examineRunning(ctx, cfg)...)
	report.add(examineDatabases(ctx, cfg, log)...)
	report.add(examineWeights(ctx, cfg, log)...)
	report.add(examineAlignments(cfg)...)
	return report
}

// ExamineWorker adds what a worker of this configuration holds and does not need, and leaves out the programs that `up` alone
// starts.
func (r *Report) ExamineWorker(ctx context.Context, cfg config.Config) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return strings.HasSuffix(f.Part, startedByUp) })
	r.add(examineWorker(ctx, cfg))
}

func (r *Report) add(findings ...Finding) {
	r.Findings = append(r.Findings, findings...)
	r.Healthy = !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Healthy })
}

// startedByUp marks the findings about programs that `up` starts.
const startedByUp = " (program)"

// examineStores asks the configured stores; of those that `up` would start, whether their programs are there.
func examineStores(ctx context.Context, cfg config.Config) []Finding {
	var findings []Finding
	for _, program := range servers.Installed(ctx) {
		configured := program.Name == "postgres" && cfg.DatabaseURL != "" || program.Name == "redis-server" && cfg.RedisURL != "" ||
			program.Name == servers.StoreName && cfg.S3.Endpoint != ""
		if !configured {
			findings = append(findings, finding(program.Name+startedByUp, program.Version, program.Err))
		}
	}
	if cfg.DatabaseURL != "" {
		db, err := openMigrated(ctx, cfg)
		if err == nil {
			err = db.Close()
		}
		findings = append(findings, finding("postgres (configured)", "", err))
	}
	if cfg.RedisURL != "" {
		client, err := openRedis(ctx, cfg)
		if err == nil {
			err = client.Close()
		}
		findings = append(findings, finding("redis (configured)", "", err))
	}
	if cfg.S3.Endpoint != "" {
		_, err := openObjects(ctx, cfg)
		findings = append(findings, finding("object store (configured)", "", err))
	}
	return findings
}

// examineEngines starts the sandbox and every engine's version probe in it.
func examineEngines(ctx context.Context, cfg config.Config, log *slog.Logger) []Finding {
	runner, err := newRunner(ctx, cfg, log)
	if err != nil {
		return []Finding{finding("sandbox", "", err)}
	}
	description, err := runner.Probe(ctx)
	box := finding("sandbox", description.BubblewrapVersion, err)
	if err != nil {
		return []Finding{box}
	}
	box.Note = description.String()
	findings := []Finding{box}
	registry, err := all.Offered(cfg.Simulators)
	if err != nil {
		return append(findings, finding("simulators", "", err))
	}
	offers, refusals := worker.Inspect(ctx, runner, registry)
	for _, offer := range offers {
		findings = append(findings, Finding{Part: "engine " + offer.Engine, Healthy: true, Version: versions(offer.Programs)})
		if offer.Engine == wavewatch3.ID {
			findings = append(findings, examineBuilds(offer.Programs)...)
		}
	}
	for _, refusal := range refusals {
		if own, ok := folders(cfg)[refusal.Engine]; ok && !own.installed() {
			findings = append(findings, Finding{Part: "engine " + refusal.Engine, Healthy: true,
				Note: fmt.Sprintf("not installed: there is no %s; `make setup-fold` installs it", own.path)})
			continue
		}
		if refusal.Engine == alphafold.AlignerID && cfg.FoldDatabase == "" {
			findings = append(findings, Finding{Part: "engine " + refusal.Engine, Healthy: true, Note: noAlignments})
			continue
		}
		if refusal.Engine == swan.ID && !models(cfg) {
			findings = append(findings, Finding{Part: "engine " + refusal.Engine, Healthy: true,
				Note: "not installed: there is no swan.exe; `make setup-waves` builds it"})
			continue
		}
		if refusal.Engine == wavewatch3.ID && cfg.WW3 == "" {
			findings = append(findings, Finding{Part: "engine " + refusal.Engine, Healthy: true,
				Note: "not installed: " + refusal.Reason.Error()})
			continue
		}
		findings = append(findings, finding("engine "+refusal.Engine, "", refusal.Reason))
	}
	return findings
}

// examineBuilds tells which of an operator's builds of WAVEWATCH III are not used beside others that are.
func examineBuilds(found map[string]string) []Finding {
	var findings []Finding
	for _, why := range wavewatch3.Refused(found) {
		findings = append(findings, Finding{Part: "build of WAVEWATCH III", Note: why})
	}
	return findings
}

// examineApp tells whether this program carries the web app, without which it has no pages for people's work.
func examineApp() Finding {
	f := Finding{Part: "web app", Healthy: true}
	if !web.Built() {
		f.Note = "not in this program: make setup build puts it in"
	}
	return f
}

// examineRunning asks the system that runs from the home directory how it is.
func examineRunning(ctx context.Context, cfg config.Config) []Finding {
	running := FindRunning(cfg.Home)
	if running == nil {
		note := "none from this home; `molfabric up` starts one"
		if others := RunningHomes(); len(others) > 0 {
			note += ". Systems run from other homes, which --home names: " + strings.Join(others, ", ")
		}
		return []Finding{{Part: "running system", Healthy: true, Note: note}}
	}
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, running.URL+"/readyz", nil)
	if err != nil {
		return []Finding{finding("running system", "", err)}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return []Finding{finding("running system", "", fmt.Errorf("process %d does not answer at %s: %w", running.PID, running.URL,
			err))}
	}
	defer response.Body.Close()
	var ready struct {
		Version string
		Parts   []struct {
			Name, Version, Problem string
			Ready                  bool
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&ready); err != nil {
		return []Finding{finding("running system", "", fmt.Errorf("/readyz: %w", err))}
	}
	findings := []Finding{{Part: "running system", Healthy: true, Version: ready.Version, Note: running.URL}}
	for _, part := range ready.Parts {
		findings = append(findings, Finding{Part: "running " + part.Name, Healthy: part.Ready, Version: part.Version,
			Note: part.Problem})
	}
	return findings
}

// Write prints the report as a table, or as JSON.
func (r Report) Write(out io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"Part", "State", "Version", "Note"})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: 40}, {Number: 4, WidthMax: 70}})
	for _, f := range r.Findings {
		state := "ok"
		if !f.Healthy {
			state = "NOT OK"
		}
		t.AppendRow(table.Row{f.Part, state, f.Version, f.Note})
	}
	_, err := fmt.Fprintln(out, t.Render())
	return err
}

func finding(part, version string, err error) Finding {
	f := Finding{Part: part, Healthy: err == nil, Version: version}
	if err != nil {
		f.Note = err.Error()
	}
	return f
}

func versions(programs map[string]string) string {
	words := make([]string, 0, len(programs))
	for name, version := range programs {
		words = append(words, name+" "+version)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
