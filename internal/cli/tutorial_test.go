package cli

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestPagesNameCommandsThatExist reads the commands of the README and the tutorial as a shell would and has cobra parse each: an
// option that is renamed or gone is found before a reader types it. Commands that run a server are main's, and not looked at.
func TestPagesNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	servers := map[string]bool{"up": true, "doctor": true, "demo": true}
	seen := 0
	for _, page := range []string{"../../README.md", "../../doc/tutorial.md"} {
		for _, line := range commandLines(t, page) {
			arguments := strings.Fields(line)
			if servers[arguments[0]] {
				continue
			}
			seen++
			root := &cobra.Command{Use: "molfabric"}
			AddCommands(root, "test")
			cmd, rest, err := root.Find(arguments)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil || cmd == root {
				t.Errorf("%s: molfabric %s: %v", page, line, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d commands were found in the pages, want more", seen)
	}
}

// commandLines are the arguments of molfabric in the code blocks of a page, without comments. No argument there has quotes.
func commandLines(t *testing.T, page string) []string {
	t.Helper()
	file, err := os.Open(page)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var found []string
	code := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), " #")
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "bin/"), "molfabric "); ok && code {
			found = append(found, strings.TrimSpace(rest))
		}
	}
	return found
}
