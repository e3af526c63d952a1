package arch

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere matches how a document is cited that the repository does not hold. What public standards say may be cited by their
// names.
var elsewhere = regexp.MustCompile(`\bdecisions[.]md\b|[Ss]pecification [§]|\b[Tt]he s[p]ecification\b|\bdesign n[o]tes\b`)

var (
	citedDocument = regexp.MustCompile(`\bdoc/[A-Za-z0-9_/.-]+\.md\b`)
	citedSection  = regexp.MustCompile(`§([0-9]+(?:\.[0-9]+)*)`)
	heading       = regexp.MustCompile(`(?m)^#+ ([0-9]+(?:\.[0-9]+)*)\.? `)
)

const (
	contractPage = "doc/contract.md"
	// The table of the contract's requests gives sections in a member of its own.
	contractTable = "api/testdata/contract.yaml"
)

// TestTextsCiteTheRepository holds comments and pages to what a reader of the repository has: documents that are there, and
// sections of the contract that are in it.
func TestTextsCiteTheRepository(t *testing.T) {
	t.Parallel()
	sections := sectionsOf(t, contractPage)
	for name, lines := range texts(t) {
		for i, line := range lines {
			if found := elsewhere.FindString(line); found != "" {
				t.Errorf("%s:%d cites %q, which the repository does not hold; cite %s, or say the rule", name, i+1, found,
					contractPage)
			}
			for _, document := range citedDocument.FindAllString(line, -1) {
				if _, err := os.Stat(filepath.Join(root, document)); err != nil {
					t.Errorf("%s:%d cites what is not there: %v", name, i+1, err)
				}
			}
			cited := citedSection.FindAllStringSubmatch(line, -1)
			if len(cited) > 0 && name != contractTable && name != contractPage && !strings.Contains(line, contractPage) {
				t.Errorf("%s:%d cites %s of no document; write %s before it", name, i+1, cited[0][0], contractPage)
			}
			for _, section := range cited {
				if !slices.Contains(sections, section[1]) {
					t.Errorf("%s:%d cites %s, which %s does not have", name, i+1, section[0], contractPage)
				}
			}
		}
	}
}

// TestCitationsAreSeen shows that the test above can fail.
func TestCitationsAreSeen(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"// as decisions" + ".md says": true, "of specification" + " §" + "2.2": true, "The speci" + "fication allows it": true,
		"the XDG specification": false, "doc/decisions/0032-tenancy.md": false, "doc/contract.md": false,
	} {
		if got := elsewhere.MatchString(line); got != want {
			t.Errorf("is %q a citation of what is elsewhere: got %v, want %v", line, got, want)
		}
	}
}

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageCode    = regexp.MustCompile("(?ms)^```.*?^```$")
	pageHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksLeadSomewhere follows the links between pages, to their headings too.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := texts(t)
	for name, lines := range pages {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, link := range pageLink.FindAllStringSubmatch(pageCode.ReplaceAllString(strings.Join(lines, "\n"), ""), -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, ":") {
				continue // elsewhere
			}
			place := name
			if target != "" {
				place = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join(root, place)); err != nil {
				t.Errorf("%s links to %s: %v", name, link[1], err)
			}
			if anchor != "" && !slices.Contains(anchorsOf(pages[place]), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", name, link[1])
			}
		}
	}
}

// anchorsOf are the names that a page's headings have in links.
func anchorsOf(lines []string) []string {
	var anchors []string
	for _, found := range pageHeading.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
		anchors = append(anchors, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return anchors
}

var lockedPackage = regexp.MustCompile(`(?m)^([A-Za-z0-9_.-]+)==([^\s;\\]+)`)

// TestThirdPartiesAreNamed holds doc/third-party.md against what is pinned.
func TestThirdPartiesAreNamed(t *testing.T) {
	t.Parallel()
	page := read(t, "doc/third-party.md")
	named := func(pinnedBy, name, version string) {
		if !strings.Contains(page, "\n| "+name+" | "+version+" | ") {
			t.Errorf("doc/third-party.md has no row for %s %s, which %s pins", name, version, pinnedBy)
		}
	}
	for line := range strings.Lines(read(t, "go.mod")) {
		if fields := strings.Fields(line); len(fields) == 2 && strings.HasPrefix(fields[1], "v") { // an indirect one has a comment
			named("go.mod", fields[0], fields[1])
		}
	}
	locks := 0
	for _, pattern := range []string{"engines/*/requirements*.lock", "deploy/*.lock"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		locks += len(files)
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, pinned := range lockedPackage.FindAllStringSubmatch(read(t, name), -1) {
				named(name, strings.ToLower(pinned[1]), pinned[2])
			}
		}
	}
	if locks == 0 {
		t.Fatal("no lock file was found")
	}
}

func sectionsOf(t *testing.T, document string) []string {
	t.Helper()
	var sections []string
	for _, found := range heading.FindAllStringSubmatch(read(t, document), -1) {
		sections = append(sections, found[1])
	}
	return sections
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// texts are the lines of what people write here, by file: sources of every language with their tests, and pages.
func texts(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		switch name = filepath.ToSlash(name); {
		case entry.IsDir() && !mayHoldTexts(name):
			return fs.SkipDir
		case entry.Type().IsRegular() && isText(name):
			found[name] = strings.Split(read(t, name), "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no file was found")
	}
	return found
}

// mayHoldTexts leaves out what git and the go command do, and what is built or measured into the checkout.
func mayHoldTexts(folder string) bool {
	return folder == "." || folder == ".ci" || path.Base(folder)[0] != '.' && path.Base(folder) != "node_modules" &&
		!slices.Contains([]string{"bin", "bench", "chaos"}, folder)
}

func isText(name string) bool {
	if strings.Contains(name, "testdata/") && name != contractTable {
		return false
	}
	return slices.Contains([]string{".go", ".py", ".sql", ".sh", ".ts", ".yaml", ".yml", ".html", ".md"}, filepath.Ext(name)) ||
		filepath.Base(name) == "Makefile"
}
