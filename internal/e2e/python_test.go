package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// pythonPackage is the source of the Python package.
const pythonPackage = "../../api/sdk/python"

// kit is the Python package as its users have it: a wheel that was built and installed.
type kit struct {
	t      *testing.T
	python string
	source string // pythonPackage, from the root
	env    []string
}

// newKit builds the wheel in the environment that set-up makes for the tests of the package, and installs it for one test.
func newKit(t *testing.T) *kit {
	t.Helper()
	dir := cmp.Or(os.Getenv("MOLFABRIC_SDK"), filepath.Join(os.Getenv("MOLFABRIC_HOME"), "sdk"))
	python := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		enginestest.Skip(t, "set MOLFABRIC_SDK to what `deploy/setup.sh --tests` installs in .molfabric/sdk")
	}
	source, err := filepath.Abs(pythonPackage)
	if err != nil {
		t.Fatal(err)
	}
	installed := t.TempDir()
	k := &kit{t: t, python: python, source: source, env: []string{"PYTHONPATH=" + installed, "PYTHONDONTWRITEBYTECODE=1",
		"HOME=" + t.TempDir(), "TQDM_MININTERVAL=0", "OMP_NUM_THREADS=1"}}
	wheels := t.TempDir()
	k.run(source, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels)
	found, err := filepath.Glob(filepath.Join(wheels, "molfabric-*.whl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the build made %v (%v), want one wheel", found, err)
	}
	k.run(wheels, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", installed, found[0])
	return k
}

// run runs the interpreter in a folder and returns what it printed.
func (k *kit) run(dir string, args ...string) string {
	k.t.Helper()
	text, err := tool(k.t, dir, k.env, append([]string{k.python}, args...)...)
	if err != nil {
		k.t.Fatalf("python %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return text
}

// TestPythonTypesAreFresh expects that the types of the Python package are those of the OpenAPI document.
func TestPythonTypesAreFresh(t *testing.T) {
	t.Parallel()
	script := filepath.Join(pythonPackage, "tools", "generate.py")
	if text, err := tool(t, ".", nil, cmp.Or(os.Getenv("MOLFABRIC_PYTHON"), "python3"), "-B", script, "--check"); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestPython holds the installed package to its types, and docks with it on a running system: by its own tests, which break the
// line to it, and by every notebook.
func TestPython(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.run(k.source, "-m", "mypy", "--no-incremental", "--cache-dir", os.DevNull)
	structures := mirror(t)
	text, err := os.ReadFile(enginestest.Sample(t, "1cbs.cif"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(structures, "1cbs.cif"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "MOLFABRIC_STRUCTURES="+structures)
	k.env = append(k.env, "MOLFABRIC_SERVER="+s.url, "MOLFABRIC_API_KEY="+s.key())
	k.run(k.source, "-m", "unittest", "discover", "--start-directory", "tests")
	for name, shown := range map[string][]string{
		"dock_and_rank": {"widget-view+json", "benzamidine", "unclosed ring", "results/results.csv"},
		"poses":         {"0.0", "image/svg+xml", "<iframe sandbox"},
		"screens":       {"1CBS", "1UYD", "caffeine"},
	} {
		result := filepath.Join(t.TempDir(), name+".ipynb")
		k.run(k.source, filepath.Join("tests", "notebook.py"), filepath.Join("notebooks", name+".ipynb"), result)
		executed, err := os.ReadFile(result)
		if err != nil {
			t.Fatal(err)
		}
		_, outputs, _ := strings.Cut(string(executed), `"outputs"`)
		for _, text := range shown {
			if !strings.Contains(outputs, text) {
				t.Errorf("the notebook %s does not show %q: %s", name, text, executed)
			}
		}
	}
	if names, err := filepath.Glob(filepath.Join(pythonPackage, "notebooks", "*.ipynb")); err != nil || len(names) != 3 {
		t.Errorf("the notebooks are %v (%v), want each of them run", names, err)
	}
}
