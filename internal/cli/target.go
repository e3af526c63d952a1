package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/mol"
)

const (
	demoTarget = "ABL1"
	// findTimeout bounds the start of Python, which imports nothing here.
	findTimeout = 30 * time.Second
	// findPackage prints where dockstring lies without importing it: its own dependencies are not installed.
	findPackage = `import importlib.util, sys
spec = importlib.util.find_spec("dockstring")
print(spec.submodule_search_locations[0]) if spec else sys.exit("dockstring is not installed")`
)

// target is a prepared receptor of the dockstring package (García-Ortegón et al. 2022, doi:10.1021/acs.jcim.1c01334).
type target struct {
	pdbqt  []byte
	center mol.BoxCenter // of the binding site
}

// findTarget reads the demonstration's receptor from the scientific Python's packages.
func findTarget(ctx context.Context, python string) (target, error) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	var problem bytes.Buffer
	find := exec.CommandContext(ctx, python, "-I", "-c", findPackage)
	find.Stderr = &problem
	where, err := find.Output()
	if err != nil {
		return target{}, fmt.Errorf("the receptor of the demonstration was not found with %s: %w %s; run `make setup`", python, err, strings.TrimSpace(problem.String()))
	}
	return readTarget(filepath.Join(strings.TrimSpace(string(where)), "resources", "targets"), demoTarget)
}

func readTarget(folder, name string) (target, error) {
	pdbqt, err := os.ReadFile(filepath.Join(folder, name+"_target.pdbqt"))
	if err != nil {
		return target{}, err
	}
	path := filepath.Join(folder, name+"_conf.txt")
	conf, err := os.ReadFile(path)
	if err != nil {
		return target{}, err
	}
	center, err := readCenter(string(conf))
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", path, err)
	}
	return target{pdbqt: pdbqt, center: center}, nil
}

// readCenter reads the centre of the box from a Vina configuration file: lines of "name = number".
func readCenter(conf string) (mol.BoxCenter, error) {
	values := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(conf))
	for lines.Scan() {
		name, number, found := strings.Cut(lines.Text(), "=")
		if value, err := strconv.ParseFloat(strings.TrimSpace(number), 64); found && err == nil {
			values[strings.TrimSpace(name)] = value
		}
	}
	var center mol.BoxCenter
	for i, axis := range []string{"center_x", "center_y", "center_z"} {
		value, ok := values[axis]
		if !ok {
			return center, fmt.Errorf("%s is missing", axis)
		}
		center[i] = value
	}
	return center, lines.Err()
}

// write keeps the receptor where the demonstration uploads it from, and where its user finds it later.
func (t target) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, t.pdbqt, 0o644)
}

// WriteTarget writes the demonstration's receptor to path, as PDBQT, and returns the centre of its box. python is the scientific
// Python, whose dockstring package holds it.
func WriteTarget(ctx context.Context, python, path string) (mol.BoxCenter, error) {
	found, err := findTarget(ctx, python)
	if err != nil {
		return mol.BoxCenter{}, err
	}
	return found.center, found.write(path)
}
