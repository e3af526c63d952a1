package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/molfabric/molfabric"

// root is the repository as seen from this folder, where go test runs.
const root = "../.."

// source is one Go file of the product; tests are not read.
type source struct {
	path    string // relative to the root, e.g. "api/jobs/store.go"
	imports []string
	texts   []text // string literals
}

type text struct {
	line  int
	value string
}

func (s source) folder() string { return path.Dir(s.path) }

func TestImports(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if _, ok := roomOf(s.folder()); !ok {
			t.Errorf("%s lies in no room of the architecture", s.path)
		}
		for _, imported := range s.imports {
			for _, reason := range objections(s.folder(), imported) {
				t.Errorf("%s imports %s: %s", s.path, imported, reason)
			}
		}
	}
}

// sqlStatement matches how a statement begins. Keywords are written in capitals here, which tells them from prose.
var sqlStatement = regexp.MustCompile(
	`^\s*(SELECT|INSERT INTO|UPDATE [a-z_.]+|DELETE FROM|WITH (RECURSIVE )?[a-z_]+|TRUNCATE|LOCK TABLE|(CREATE|DROP|ALTER) [A-Z]+)(\s|$)`)

func TestSQLStaysInStores(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if mayHoldSQL(s.path) {
			continue
		}
		for _, text := range s.texts {
			if sqlStatement.MatchString(text.value) {
				t.Errorf("%s:%d holds SQL, which belongs into store.go: %.60q", s.path, text.line, text.value)
			}
		}
	}
}

// TestRulesNameFolders finds rules that lost their folder, which would watch over nothing.
func TestRulesNameFolders(t *testing.T) {
	t.Parallel()
	var named []string
	for _, r := range rooms {
		named = append(append(named, r.folder), r.may...)
	}
	for _, s := range separate {
		named = append(append(named, s.folder), s.shared...)
	}
	for _, o := range exclusive {
		named = append(named, o.folders...)
		if name, ours := strings.CutPrefix(o.imported, module+"/"); ours {
			named = append(named, name)
		}
	}
	for _, p := range pure {
		named = append(append(named, p.folder), p.but...)
	}
	named = slices.Concat(named, gatherings, sqlPlaces, sharedPrograms)
	slices.Sort(named)
	for _, name := range slices.Compact(named) {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("a rule names what is not there: %v", err)
		}
	}
}

// TestRulesObject shows that the rules can fail.
func TestRulesObject(t *testing.T) {
	t.Parallel()
	cases := []struct {
		folder, imported string
		allowed          bool
	}{
		{".", module + "/internal/roles", true},
		{"api", module + "/api/jobs", true},
		{"api/jobs", module + "/scheduler", true},
		{"api/jobs", module + "/api/access", true},
		{"api/jobs", module + "/api/auth", false},
		{"api/access", module + "/api/jobs", false},
		{"api/jobs", module + "/worker", false},
		{"api", module, false},
		{"scheduler", module + "/api", false},
		{"scheduler", module + "/billing", true},
		{"worker", module + "/worker/sandbox", true},
		{"worker/sandbox", module + "/internal/proc", true},
		{"worker", module + "/billing", false},
		{"worker", module + "/internal/postgres", false},
		{"worker", "github.com/lib/pq", false},
		{"worker", "os/exec", true},
		{"billing", module + "/engines", false},
		{"engines/vina", module + "/engines", true},
		{"engines/vina", module + "/engines/all", false},
		{"engines/all", module + "/engines/vina", true},
		{"engines/vina", "os/exec", false},
		{"engines/vina", "net/http", false},
		{"engines/vina", "os", true},
		{"internal/mol", module + "/engines", false},
		{"internal/queue", module + "/engines", true},
		{"internal/job", "os", false},
		{"internal/job", "net/url", false},
		{"internal/director", "net/http", false},
		{"internal/director/model", "net/http", true},
		{"api/studio", "github.com/sashabaranov/go-openai", false},
		{"internal/cli", module + "/internal/servers", false},
		{"internal/cli", module + "/internal/client", true},
		{"internal/roles", "github.com/gofiber/fiber/v2", false},
		{"internal/roles", module + "/internal/postgres/pgtest", false},
		{"internal/servers", module + "/internal/roles", false},
		{"internal/servers", "github.com/versity/versitygw/embedgw", false},
		{"internal/object/versity", "github.com/versity/versitygw/embedgw", true},
		{"internal/object/gateway", "github.com/versity/versitygw/embedgw", false},
		{"internal/object/gateway", module + "/internal/object/versity", false},
		{"internal/object/molfabric-store", module + "/internal/object/versity", true},
		{"internal/object/objecttest", module + "/internal/object/versity", true},
		{"internal/lab", module + "/internal/object/versity", false},
		{"internal/unheard/of", "fmt", true},
		{"scheduler", "testing", false},
	}
	for _, c := range cases {
		if got := objections(c.folder, c.imported); (len(got) == 0) != c.allowed {
			t.Errorf("%s imports %s: objections %q, want allowed %v", c.folder, c.imported, got, c.allowed)
		}
	}
	for name, want := range map[string]bool{"scheduler/store_jobs.go": true, "scheduler/submit.go": false,
		"internal/postgres/migrate.go": true} {
		if got := mayHoldSQL(name); got != want {
			t.Errorf("may %s hold SQL: got %v, want %v", name, got, want)
		}
	}
	for statement, want := range map[string]bool{
		"SELECT 1": true, "\n\tUPDATE tasks SET state = $1": true, "WITH due AS (": true, "Select a target": false, "UPDATE": false,
		"WITH": false,
	} {
		if got := sqlStatement.MatchString(statement); got != want {
			t.Errorf("is %q SQL: got %v, want %v", statement, got, want)
		}
	}
}

// objections says what speaks against an import, by every rule.
func objections(folder, imported string) []string {
	var found []string
	if name, ours := strings.CutPrefix(imported, module); ours {
		found = objectionsToOurs(folder, strings.TrimPrefix(name, "/"))
	}
	for _, o := range exclusive {
		if below(imported, o.imported) && !belowAny(folder, o.folders) && !belowAny(folder, testRooms) {
			found = append(found, fmt.Sprintf("%s (%s)", o.why, strings.Join(o.folders, ", ")))
		}
	}
	for _, p := range pure {
		if below(folder, p.folder) && !belowAny(folder, p.but) && belowAny(imported, p.never) {
			found = append(found, p.folder+" holds values and functions over them, no I/O")
		}
	}
	return found
}

func objectionsToOurs(folder, imported string) []string {
	if imported == "" {
		return []string{"main is imported by nobody"}
	}
	if belowAny(folder, testRooms) {
		return nil
	}
	var found []string
	own, _ := roomOf(folder)
	if other, _ := roomOf(imported); other.folder != own.folder && !belowAny(imported, own.may) {
		found = append(found, fmt.Sprintf("from %s doors lead to %q alone", own.folder, own.may))
	}
	if belowAny(imported, testRooms) {
		found = append(found, "helpers of tests stay out of the product")
	}
	for _, s := range separate {
		mine, others := childOf(folder, s.folder), childOf(imported, s.folder)
		if mine != "" && others != "" && mine != others && !slices.Contains(s.shared, others) &&
			!slices.Contains(gatherings, mine) {
			found = append(found, fmt.Sprintf("the folders of %s do not know each other", s.folder))
		}
	}
	return found
}

// roomOf returns the innermost room that a folder lies in.
func roomOf(folder string) (room, bool) {
	var innermost room
	for _, r := range rooms {
		if below(folder, r.folder) && len(r.folder) > len(innermost.folder) {
			innermost = r
		}
	}
	return innermost, innermost.folder != ""
}

// below tells whether a path is another one or lies in it. Below "." lies only itself.
func below(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

func belowAny(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return below(name, folder) })
}

// childOf returns the direct child of parent that a folder lies in, or "".
func childOf(folder, parent string) string {
	rest, inside := strings.CutPrefix(folder, parent+"/")
	if !inside {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return parent + "/" + name
}

func mayHoldSQL(name string) bool {
	return strings.HasPrefix(path.Base(name), "store") || belowAny(name, sqlPlaces)
}

// sources reads the product's Go files.
func sources(t *testing.T) []source {
	t.Helper()
	var found []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && (entry.Name()[0] == '.' || entry.Name()[0] == '_' || entry.Name() == "testdata" ||
			entry.Name() == "bin" || entry.Name() == "node_modules") {
			return fs.SkipDir // what the go command skips too, what is built, and what the web app is built from
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		s, err := parse(name)
		found = append(found, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no Go file was found")
	}
	return found
}

func parse(name string) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return source{}, err
	}
	s := source{path: filepath.ToSlash(relative)}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			s.imports = append(s.imports, unquote(node.Path))
			return false
		case *ast.BasicLit:
			if node.Kind == token.STRING {
				s.texts = append(s.texts, text{set.Position(node.Pos()).Line, unquote(node)})
			}
		}
		return true
	})
	return s, nil
}

func unquote(literal *ast.BasicLit) string {
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return literal.Value // the parser has accepted it, so this does not happen
	}
	return value
}
