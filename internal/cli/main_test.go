package cli

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	time.Local = time.UTC // tables show local times
	testscript.Main(m, map[string]func(){"molfabric": func() {
		root := &cobra.Command{Use: "molfabric", Short: "A compute fabric for molecular science"}
		AddCommands(root, "test")
		os.Exit(Execute(context.Background(), root))
	}})
}

// TestScripts runs the command line as a user does: testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: filepath.Join("testdata", "script"), UpdateScripts: *update})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite it with -update):\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func ref[T any](value T) *T { return &value }
