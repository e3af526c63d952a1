package arch

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// sharedPrograms are folders whose Python files lie beside those of engines in a task's directory.
var sharedPrograms = []string{"engines/fold", "engines/python", "engines/render/film", "engines/render/tracer",
	"engines/render/viewer", "engines/waves/programs"}

// pythonImport matches the imports of a Python file, also those within functions and those for types alone.
var pythonImport = regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+(\w+)[ \t]+import|import[ \t]+(\w+(?:[ \t]*,[ \t]*\w+)*))`)

// TestPythonHasNoCircles keeps an engine's programs in an order in which each can be read after those that it imports.
func TestPythonHasNoCircles(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, "engines"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".py" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		files[filepath.ToSlash(relative)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files["engines/python/task.py"] == "" {
		t.Fatal("task.py was not found")
	}
	if circle := circleOf(pythonImports(files)); circle != nil {
		t.Errorf("these Python files import each other in a circle: %s", strings.Join(circle, " → "))
	}
}

// maxColumns is how wide a line may be; the linter holds Go to it.
const maxColumns = 132

// TestProgramsAreNoWiderThanGo holds the Python and the TypeScript to the width of the Go.
func TestProgramsAreNoWiderThanGo(t *testing.T) {
	t.Parallel()
	read := 0
	err := filepath.WalkDir(filepath.Join(root, "engines"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if extension := path.Ext(name); entry.IsDir() || extension != ".py" && extension != ".ts" {
			return nil
		}
		text, err := os.ReadFile(name)
		read++
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > maxColumns {
				t.Errorf("%s:%d has %d columns; at most %d are allowed", name, number, n, maxColumns)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 50 {
		t.Errorf("only %d files were read", read)
	}
}

func TestCirclesAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none": {map[string]string{"e/a.py": "import os\nfrom b import x", "e/b.py": "import json, c", "e/c.py": ""}, ""},
		"of types": {map[string]string{"e/a.py": "from b import x", "e/b.py": "if TYPE_CHECKING:\n    from a import Y"},
			"e/a.py e/b.py e/a.py"},
		"in a function": {map[string]string{"e/a.py": "import b", "e/b.py": "import os, c", "e/c.py": "def f():\n\timport a"},
			"e/a.py e/b.py e/c.py e/a.py"},
		"shared":       {map[string]string{"e/a.py": "from task import main", "engines/python/task.py": "import a"}, ""},
		"other engine": {map[string]string{"e/a.py": "import b", "f/b.py": "import a"}, ""},
	} {
		if got := strings.Join(circleOf(pythonImports(c.files)), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// pythonImports gives for each file those that it imports: of its own folder, or else shared ones.
func pythonImports(files map[string]string) map[string][]string {
	imports := make(map[string][]string, len(files))
	for file, text := range files {
		imports[file] = nil
		for _, match := range pythonImport.FindAllStringSubmatch(text, -1) {
			for module := range strings.SplitSeq(match[1]+match[2], ",") {
				for _, folder := range append([]string{path.Dir(file)}, sharedPrograms...) {
					imported := path.Join(folder, strings.TrimSpace(module)+".py")
					if _, ours := files[imported]; ours {
						imports[file] = append(imports[file], imported)
						break
					}
				}
			}
		}
	}
	return imports
}

// circleOf returns a path that ends where it begins, or nil when there is none.
func circleOf(imports map[string][]string) []string {
	done := map[string]bool{}
	var visit func(file string, way []string) []string
	visit = func(file string, way []string) []string {
		if place := slices.Index(way, file); place >= 0 {
			return append(slices.Clone(way[place:]), file)
		}
		if done[file] {
			return nil
		}
		for _, imported := range imports[file] {
			if circle := visit(imported, append(way, file)); circle != nil {
				return circle
			}
		}
		done[file] = true
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(imports)) {
		if circle := visit(file, nil); circle != nil {
			return circle
		}
	}
	return nil
}
