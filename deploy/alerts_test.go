package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alertRules(t *testing.T) []alertRule {
	t.Helper()
	text, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []alertRule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups[0].Rules
}

// TestEveryAlertHasItsPage holds the alerts and the runbook against each other.
func TestEveryAlertHasItsPage(t *testing.T) {
	t.Parallel()
	contents, err := os.ReadFile("../doc/runbook/README.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"README.md": true, "upgrade.md": true, "restore.md": true}
	for _, rule := range alertRules(t) {
		page := rule.Annotations["runbook"]
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil || filepath.Base(page) != rule.Alert+".md" || !strings.HasPrefix(string(text), "# "+rule.Alert+"\n") {
			t.Errorf("%s has the page %q (%v)", rule.Alert, page, err)
		}
		for _, part := range []string{"**Look.**", "**Do.**"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("the page of %s has no part %s", rule.Alert, part)
			}
		}
		row := "| [" + rule.Alert + "](" + rule.Alert + ".md) | " + rule.Labels["severity"] + " |"
		if !strings.Contains(string(contents), row) || rule.Annotations["summary"] == "" {
			t.Errorf("%s is not in the runbook's contents as %q, or has no summary", rule.Alert, row)
		}
		known[rule.Alert+".md"] = true
	}
	pages, err := os.ReadDir("../doc/runbook")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !known[page.Name()] {
			t.Errorf("doc/runbook/%s belongs to no alert", page.Name())
		}
	}
}

var metricName = regexp.MustCompile(`\b(molfabric|http)_[a-z_]+`)

// TestAlertsAskForMetricsThatThereAre finds expressions that would be silent for ever.
func TestAlertsAskForMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	source := productSource(t)
	for _, rule := range alertRules(t) {
		names := metricName.FindAllString(rule.Expr, -1)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric", rule.Alert)
		}
		for _, name := range names {
			name = strings.TrimSuffix(name, "_bucket")
			short := strings.TrimPrefix(name, "molfabric_") // as a helper that puts the prefix before it is told
			if !strings.Contains(source, `"`+name+`"`) && !strings.Contains(source, `"`+short+`"`) {
				t.Errorf("%s asks for %s, which no part of the product makes", rule.Alert, name)
			}
		}
	}
}

// productSource is all Go code of the product, without tests.
func productSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, room := range []string{"api", "billing", "internal", "scheduler", "worker"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
