package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// read reads an answer of the API from testdata.
func read[T any](t *testing.T, name string) T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

func TestTables(t *testing.T) {
	t.Parallel()
	docked := read[dockingEnd](t, "docking.json")
	jobs := read[contract.JobList](t, "jobs.json")
	tests := map[string]func(w *bytes.Buffer) error{
		"docking.txt": func(w *bytes.Buffer) error {
			if err := dockingTable(w, docked, read[dockingTimings](t, "timings.json").cpuSeconds(), 2); err != nil {
				return err
			}
			w.WriteString("→ " + showFailedLigands(w, docked.Results) + "\n")
			return nil
		},
		"docking-analysed.txt": func(w *bytes.Buffer) error {
			analysed := read[dockingEnd](t, "docking-analysed.json")
			analysed.Receptor.Reused = true
			analysed.Receptor.Site, analysed.Receptor.Waters.Removed = read[[]siteEntry](t, "site.json"), 214
			analysed.Receptor.Waters.Option = "--waters structural (receptorPreparation.waters)"
			if err := dockingTable(w, analysed, nil, 20); err != nil {
				return err
			}
			showSetting(w, analysed)
			showFailedLigands(w, analysed.Results)
			return nil
		},
		"runs.txt": func(w *bytes.Buffer) error {
			runs := read[contract.DockingRunList](t, "runs.json").Runs
			for _, run := range runs {
				runTable(w, run)
				w.WriteString("\n")
			}
			return runsTable(w, runs)
		},
		"run-results.txt": func(w *bytes.Buffer) error {
			return resultsTable(w, read[contract.DockingResultList](t, "run-results.json").Results)
		},
		"poses.txt": func(w *bytes.Buffer) error {
			return posesTable(w, read[contract.DockingPoseList](t, "poses.json").Poses)
		},
		"interactions.txt": func(w *bytes.Buffer) error {
			return interactionsTable(w, read[contract.DockingInteractions](t, "interactions.json"))
		},
		"candidates.txt": func(w *bytes.Buffer) error {
			return candidatesTable(w, read[contract.LigandCandidates](t, "candidates.json").Candidates)
		},
		"pockets.txt": func(w *bytes.Buffer) error { return pocketsTable(w, read[pockets](t, "pockets.json")) },
		"jobs.txt":    func(w *bytes.Buffer) error { return jobsTable(w, jobs.Jobs) },
		"no-jobs.txt": func(w *bytes.Buffer) error { return jobsTable(w, nil) },
		"outputs.txt": func(w *bytes.Buffer) error { return outputsTable(w, read[contract.Outputs](t, "outputs.json").Outputs) },
		"keys.txt":    func(w *bytes.Buffer) error { return keysTable(w, read[contract.KeyList](t, "keys.json").Keys) },
		"transactions.txt": func(w *bytes.Buffer) error {
			return transactionsTable(w, read[contract.TransactionList](t, "transactions.json").Transactions)
		},
		"status.txt": func(w *bytes.Buffer) error {
			for _, j := range jobs.Jobs {
				showJob(w, j)
				w.WriteString("\n")
			}
			return nil
		},
		"balance.txt": func(w *bytes.Buffer) error {
			showBalance(w, read[contract.Balance](t, "balance.json"))
			return nil
		},
		"tasks.txt": func(w *bytes.Buffer) error { return tasksTable(w, read[contract.TaskList](t, "tasks.json").Tasks) },
		"logs.txt": func(w *bytes.Buffer) error {
			for _, log := range read[contract.LogList](t, "logs.json").Logs {
				showLog(w, log)
			}
			return nil
		},
		"provenance.txt": func(w *bytes.Buffer) error {
			showProvenance(w, read[contract.Provenance](t, "provenance.json"))
			return nil
		},
		"projects.txt": func(w *bytes.Buffer) error {
			var list []contract.ProjectSummary
			for _, project := range read[struct{ Projects []contract.Project }](t, "projects.json").Projects {
				list = append(list, project.ProjectSummary)
				showProject(w, "https://molfabric.example.org", project)
				w.WriteString("\n")
			}
			return projectsTable(w, list)
		},
		"revisions.txt": func(w *bytes.Buffer) error {
			return revisionsTable(w, read[contract.ProjectRevisionList](t, "revisions.json").Revisions)
		},
		"licenses.txt": func(w *bytes.Buffer) error {
			return licensesTable(w, read[contract.LicenseServerList](t, "licenses.json").LicenseServers)
		},
		"webhooks.txt": func(w *bytes.Buffer) error {
			return webhooksTable(w, read[contract.WebhookList](t, "webhooks.json").Webhooks)
		},
		"deliveries.txt": func(w *bytes.Buffer) error {
			return deliveriesTable(w, read[contract.WebhookDeliveryList](t, "deliveries.json").Deliveries)
		},
		"notices.txt": func(w *bytes.Buffer) error {
			return errors.Join(showNotices(w, read[contract.NoticeSettings](t, "notices.json")),
				showNotices(w, contract.NoticeSettings{SendsMail: true}))
		},
		"service.txt": func(w *bytes.Buffer) error {
			return showService(w, "https://molfabric.example.org", read[contract.ServiceStatus](t, "service.json"))
		},
		"tiers.txt": func(w *bytes.Buffer) error { return tiersTable(w, read[contract.Pricing](t, "pricing.json").Tiers) },
		"estimate.txt": func(w *bytes.Buffer) error {
			showEstimate(&invocation{out: w}, read[contract.EstimateResponse](t, "estimate.json"), 5)
			return nil
		},
	}
	for name, show := range tests {
		var w bytes.Buffer
		if err := show(&w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden(t, name, w.String())
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	t.Parallel()
	if got := painter(&bytes.Buffer{}).status(job.Failed); got != "FAILED" {
		t.Errorf("no terminal: got %q, want no colour", got)
	}
	if got, want := paint(true).status(job.Failed), "\x1b[31mFAILED\x1b[0m"; got != want {
		t.Errorf("terminal: got %q, want %q", got, want)
	}
}

func TestLogsAreHarmlessOnTerminals(t *testing.T) {
	t.Parallel()
	if got, want := harmless("a\x1b[2Jb\tc\r\nd\u009b0m"), "a[2Jb\tc\nd0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB",
		213_672: "213.7 kB", 5 << 30: "5.4 GB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d bytes: got %s, want %s", n, got, want)
		}
	}
	for amount, want := range map[int64]string{0: "£0.00", 5: "£0.05", -5: "-£0.05", 12345: "£123.45"} {
		if got := pence(amount); got != want {
			t.Errorf("%d pence: got %s, want %s", amount, got, want)
		}
	}
	if got := money("1.20", "EUR"); got != "EUR 1.20" {
		t.Errorf("got %s, want EUR 1.20", got)
	}
	if got := shorten("naïveté", 4); got != "naï…" {
		t.Errorf("got %s, want naï…", got)
	}
}
