package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

func TestShortIDs(t *testing.T) {
	t.Parallel()
	const id = "job_0190aaaabbbb7ccc8ddd0123456789ab"
	for digits, want := range map[string]bool{"0190": true, "0190aaaabbbb": true, "89ab": true, "aaaa": false, "0191": false} {
		if got := means(id, jobPrefix, digits); got != want {
			t.Errorf("%s: got %v, want %v", digits, got, want)
		}
	}
	for named, want := range map[string]bool{
		"0190": true, "job_0190": true, "run_0190aa": true, "019": false,
		"job_1": false, "mine": false, "beef": true, id: false, "result_0190": false,
	} {
		if got := shortID.MatchString(named); got != want {
			t.Errorf("%s is a shortened id: got %v, want %v", named, got, want)
		}
	}
}

func TestAmbiguousIDsListTheirChoices(t *testing.T) {
	t.Parallel()
	var found []choice
	for i := range maxChoices + 2 {
		found = append(found, choice{fmt.Sprintf("job_0190%d", i), "completed  aspirin"})
	}
	_, err := theOnly("job", "0190", found)
	lines := strings.Count(err.Error(), "\n    ")
	if ExitCode(err) != ExitUsage || lines != maxChoices+1 || !strings.Contains(err.Error(), "and 2 more") {
		t.Errorf("got %v", err)
	}
	if got, err := theOnly("job", "0190", found[:1]); err != nil || got != "job_01900" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := theOnly("job", "0190", nil); ExitCode(err) != ExitNotFound || hint(err) == "" {
		t.Errorf("got %v", err)
	}
}

func TestLigandsAreChosenByName(t *testing.T) {
	t.Parallel()
	named := func(pairs ...string) (results []contract.DockingResult) {
		for _, pair := range pairs {
			id, label, _ := strings.Cut(pair, "=")
			results = append(results, contract.DockingResult{ResultID: "result of " + id, LigandID: id, Label: label})
		}
		return results
	}
	library := named("imatinib=Imatinib", "imatinib-2=Imatinib", "nilotinib=Nilotinib", "PP1=PP1", "PP12=PP12", "l-9=lead 9")
	for text, want := range map[string]string{
		"PP1": "result of PP1", "pp1": "result of PP1", "pp12": "result of PP12",
		"nil": "result of nilotinib", "LEAD": "result of l-9", "l-": "result of l-9",
		"imatinib": `"imatinib" may be 2 ligands`, "pp": `"pp" may be 2 ligands`,
		"otinib": "within their names", "IMATINIB": `"IMATINIB" may be 2 ligands`,
	} {
		got, err := chooseLigand(text, library)
		if err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v; want %s", text, got, err, want)
		}
	}
	if _, err := chooseLigand("x", nil); ExitCode(err) != ExitNotFound {
		t.Errorf("nothing is like it: got %v", err)
	}
}
