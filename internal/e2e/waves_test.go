package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// decks are those of the tests of the engine.
const decks = "../../engines/swan/testdata/"

// coarseDeck is a bay that takes seconds.
func coarseDeck(t *testing.T) string {
	t.Helper()
	return strings.Replace(readText(t, decks+"stationary/INPUT"), "50 50 CIRCLE 36 0.04 1.0 32", "20 20 CIRCLE 18 0.04 1.0 20", 1)
}

// bayCase makes the folder of a bay with a deck and its bottom.
func bayCase(t *testing.T, deck string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "bay")
	for name, content := range map[string]string{"INPUT": deck, "bottom.bot": readText(t, decks+"bottom.bot")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestWaves is the path of a coastal engineer: a deck that is refused with its line before it costs anything, a case that runs to
// its report, and one that did not converge and says so (exit 8).
func TestWaves(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(filepath.Dir(enginestest.Python(t)), "swan.exe")); err != nil {
		enginestest.Skip(t, "there is no swan.exe; deploy/setup.sh --waves builds it")
	}
	sh := start(t).signIn()
	bay := func(deck string) string { return bayCase(t, deck) }
	coarse := coarseDeck(t)

	_, refused := sh.want(5, "", "waves", bay(readText(t, decks+"e2/INPUT")))
	sh.contains(refused, "INPUT, line 11", "GEN9")
	_, refused = sh.want(5, "", "waves", bay(strings.Replace(coarse, "'bottom.bot'", "'../bottom.bot'", 1)))
	sh.contains(refused, "line 7", "outside the case")

	done, _ := sh.want(0, "", "waves", bay(coarse), "--out", "results")
	sh.contains(done, "Converged", "Hsig", "Bill", "report.html")
	for _, name := range []string{"report.html", "Hsig.png", "fields.nc", "pts.tab", "PRINT.txt"} {
		if _, err := os.Stat(filepath.Join(sh.dir, "results", name)); err != nil {
			t.Error(err)
		}
	}
	short, _ := sh.want(8, "", "waves", bay(strings.Replace(coarse, "STATIONARY 50", "STATIONARY 3", 1)))
	sh.contains(short, "Not converged")

	storms := bay(strings.NewReplacer("PAR 2.0 8.0", "PAR {hs} {tp}").Replace(coarse))
	rows := []byte("name,hs,tp\nmild,1.0,7.0\nstrong,2.0,8.0\n")
	if err := os.WriteFile(filepath.Join(storms, "storms.csv"), rows, 0o600); err != nil {
		t.Fatal(err)
	}
	_, refused = sh.want(5, "", "waves", storms, "--scenarios", "storm.csv")
	sh.contains(refused, "waveScenarios", "storms.csv")
	table, _ := sh.want(0, "", "waves", storms, "--scenarios", "storms.csv", "--out", "storms")
	sh.contains(table, "mild", "strong", "converged", "Hsig most")
	for _, name := range []string{"scenarios.csv", "strong.report.html", "mild.Hsig.png"} {
		if _, err := os.Stat(filepath.Join(sh.dir, "storms", name)); err != nil {
			t.Error(err)
		}
	}
}
