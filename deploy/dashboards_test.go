package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/internal/fleet/keeper"
	"github.com/molfabric/molfabric/scheduler"
	"github.com/molfabric/molfabric/scheduler/archive"
)

// dashboard is what these files use of Grafana's format; decoding refuses anything else.
type dashboard struct {
	UID           string           `json:"uid"`
	Title         string           `json:"title"`
	Description   string           `json:"description"`
	Tags          []string         `json:"tags"`
	SchemaVersion int              `json:"schemaVersion"`
	Version       int              `json:"version"`
	Editable      bool             `json:"editable"`
	Timezone      string           `json:"timezone"`
	Refresh       string           `json:"refresh"`
	Time          map[string]any   `json:"time"`
	Templating    map[string][]any `json:"templating"`
	Annotations   map[string][]any `json:"annotations"`
	Links         []map[string]any `json:"links"`
	Panels        []dashboardPanel `json:"panels"`
}

type dashboardPanel struct {
	ID          int               `json:"id"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Datasource  datasource        `json:"datasource"`
	GridPos     gridPos           `json:"gridPos"`
	FieldConfig map[string]any    `json:"fieldConfig"`
	Options     map[string]any    `json:"options"`
	Targets     []dashboardTarget `json:"targets"`
}

type gridPos struct{ H, W, X, Y int }

type datasource struct{ Type, UID string }

type dashboardTarget struct {
	RefID        string     `json:"refId"`
	Datasource   datasource `json:"datasource"`
	Expr         string     `json:"expr"`
	LegendFormat string     `json:"legendFormat"`
}

// dashboards reads all of them, by file.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	names, err := filepath.Glob("dashboards/*.json")
	if err != nil || len(names) != 4 {
		t.Fatalf("got %v, %v; want four dashboards", names, err)
	}
	found := map[string]dashboard{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		var d dashboard
		if err := decoder.Decode(&d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found[name] = d
	}
	return found
}

// TestDashboardsCanBeInstalledAnywhere: they name no data source, no address and no other's uid.
func TestDashboardsCanBeInstalledAnywhere(t *testing.T) {
	t.Parallel()
	uids := map[string]string{}
	for name, d := range dashboards(t) {
		if other := uids[d.UID]; other != "" || d.UID != "molfabric-"+strings.TrimSuffix(filepath.Base(name), ".json") {
			t.Errorf("%s has the uid %q, which %q has", name, d.UID, other)
		}
		uids[d.UID] = name
		variables := d.Templating["list"]
		if len(variables) != 1 || at(variables[0], "name") != "datasource" || at(variables[0], "type") != "datasource" ||
			at(variables[0], "query") != "prometheus" {
			t.Errorf("%s has the variables %v, want the data source", name, variables)
		}
		taken := map[gridPos]bool{}
		for i, p := range d.Panels {
			sources := []datasource{p.Datasource}
			for _, target := range p.Targets {
				sources = append(sources, target.Datasource)
			}
			for _, source := range sources {
				if source != (datasource{Type: "prometheus", UID: "${datasource}"}) {
					t.Errorf("%s, %s: asks %+v, not the variable", name, p.Title, source)
				}
			}
			place := gridPos{X: p.GridPos.X, Y: p.GridPos.Y}
			if p.ID != i+1 || p.Title == "" || len(p.Targets) == 0 || taken[place] || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: panel %d (%q) has the id %d, lies at %+v, and asks %d times", name, i, p.Title, p.ID, p.GridPos,
					len(p.Targets))
			}
			taken[place] = true
		}
	}
}

// asked is what .ci/promql says of one query.
type asked struct {
	Problem string
	Metrics []struct {
		Name   string
		Labels []string
	}
}

// askedBy reads queries as Prometheus does.
func askedBy(t *testing.T, queries []string) []asked {
	t.Helper()
	const program = "../bin/tools/promql"
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("MOLFABRIC_TEST_REQUIRE") != "" {
			t.Fatal("promql is missing: make bin/tools/promql")
		}
		t.Skip("SKIPPED: promql is missing: make bin/tools/promql")
	}
	text, err := json.Marshal(queries)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Stdin, command.Stderr = bytes.NewReader(text), os.Stderr
	printed, err := command.Output()
	var found []asked
	if err != nil || json.Unmarshal(printed, &found) != nil || len(found) != len(queries) {
		t.Fatalf("%v: %.300s", err, printed)
	}
	return found
}

// TestDashboardsAskForMetricsThatThereAre finds panels that would stay empty for ever: a metric that molfabric does not show, or a
// label that the metric does not have. The alerts are held to the same.
func TestDashboardsAskForMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	var places, queries []string
	for name, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				places, queries = append(places, name+", "+p.Title), append(queries, target.Expr)
				if used := legendLabels(target.LegendFormat); !grouped(target.Expr, used) {
					t.Errorf("%s, %s: the legend %q has labels that %s does not keep", name, p.Title, target.LegendFormat,
						target.Expr)
				}
			}
		}
	}
	for _, rule := range alertRules(t) {
		places, queries = append(places, "the alert "+rule.Alert), append(queries, rule.Expr)
	}
	shown := shownMetrics(t)
	for i, query := range askedBy(t, queries) {
		if query.Problem != "" || len(query.Metrics) == 0 {
			t.Errorf("%s: %q asks for %d metrics: %s", places[i], queries[i], len(query.Metrics), query.Problem)
		}
		for _, metric := range query.Metrics {
			name, bucket := strings.CutSuffix(metric.Name, "_bucket")
			known, there := shown[name]
			if !there {
				t.Errorf("%s asks for %s, which no part of the product shows", places[i], metric.Name)
			}
			for _, label := range metric.Labels {
				if !slices.Contains(known, label) && !(bucket && label == "le") && there {
					t.Errorf("%s asks for the label %s of %s, which has %v", places[i], label, name, known)
				}
			}
		}
	}
}

var legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

func legendLabels(format string) (names []string) {
	for _, match := range legendLabel.FindAllStringSubmatch(format, -1) {
		names = append(names, match[1])
	}
	return names
}

// grouped tells whether a query keeps labels.
func grouped(query string, labels []string) bool {
	kept := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(query)
	for _, label := range labels {
		if kept == nil || !slices.Contains(strings.Split(kept[1], ", "), label) {
			return false
		}
	}
	return true
}

// described collects what is registered, and registers nothing.
type described struct{ labels map[string][]string }

func (d described) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descriptions)
		close(descriptions)
	}()
	for one := range descriptions {
		d.add(one)
	}
	return nil
}

func (d described) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = d.Register(c)
	}
}

func (d described) Unregister(prometheus.Collector) bool { return false }

// description is how the library prints one: it has no other way to ask for the name.
var description = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

func (d described) add(one *prometheus.Desc) {
	if match := description.FindStringSubmatch(one.String()); match != nil {
		d.labels[match[1]] = strings.FieldsFunc(match[2], func(r rune) bool { return r == ',' || r == ' ' })
	}
}

// shownMetrics are the metrics of the product with their labels: those of the scheduler and of a fleet's keeper as they register
// them, and the others as they stand in their rooms, which keep them to themselves.
func shownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	shown := described{labels: map[string][]string{}}
	scheduler.NewMetrics(shown)
	archive.NewMetrics(shown)
	if _, err := keeper.New(keeper.File{}, nil, nil, shown); err != nil {
		t.Fatal(err)
	}
	shown.MustRegister(describer(func(ch chan<- *prometheus.Desc) { (&scheduler.Scheduler{}).Describe(ch) }))
	if got := shown.labels["molfabric_tasks"]; !slices.Equal(got, []string{"queue", "status"}) || len(shown.labels) < 30 {
		t.Fatalf("the scheduler's metrics were not understood: %v", shown.labels)
	}
	source := productSource(t)
	for name, labels := range map[string][]string{
		"http_requests_total": {"method", "route", "status"}, "http_request_duration_seconds": {"method", "route"},
		"http_body_spool_bytes": nil, "molfabric_part_ready": {"part"}, "molfabric_ledger_violations": nil,
		"molfabric_previews_total": {"outcome"}, "molfabric_preview_seconds": nil, "molfabric_preview_renderers": nil,
		"molfabric_studio_messages_total": {"understood_by", "outcome"}, "molfabric_removals_waiting": nil,
	} {
		declared := strings.Index(source, `"`+name+`"`)
		if declared < 0 {
			t.Errorf("%s is not shown any more", name)
			continue
		}
		for _, label := range labels {
			if !strings.Contains(source[declared:min(declared+500, len(source))], `"`+label+`"`) {
				t.Errorf("%s has no label %s any more", name, label)
			}
		}
		shown.labels[name] = labels
	}
	return shown.labels
}

// describer is a collector that only tells what it would show.
type describer func(chan<- *prometheus.Desc)

func (d describer) Describe(ch chan<- *prometheus.Desc) { d(ch) }
func (d describer) Collect(chan<- prometheus.Metric)    {}
