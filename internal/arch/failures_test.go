package arch

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of failures of jobs into doc/errors.md")

const (
	errorPage      = "doc/errors.md"
	failuresBegin  = "<!-- made by go test ./internal/arch -run TestFailuresOfJobs -update -->\n"
	failuresEnd    = "<!-- end of failures -->\n"
	maxMessageRead = 150
)

// raised match where a program of an engine, or the fabric, makes a failure: its class or what stands for it, its code, and what
// follows, which begins with the message.
var raised = map[string]*regexp.Regexp{
	".py": regexp.MustCompile(`\b(user_error|executor_error|Failure)\(\s*(?:"([A-Z_]+)",\s*)?"([A-Z]+(?:_[A-Z]+)+)",\s*`),
	".go": regexp.MustCompile(`(systemFailure)\((?:engines\.(\w+))?"([A-Z]+(?:_[A-Z]+)+)",\s*|` +
		`engines\.Failure\{Class: engines\.(\w+), Code: "([A-Z]+(?:_[A-Z]+)+)",\s*Message: `),
}

var classes = map[string]string{"user_error": "USER_INPUT", "executor_error": "EXECUTOR", "systemFailure": "SYSTEM",
	"UserInput": "USER_INPUT", "Executor": "EXECUTOR", "System": "SYSTEM", "Timeout": "TIMEOUT"}

var (
	literal   = regexp.MustCompile(`^\s*\+?\s*f?"((?:[^"\\]|\\.)*)"`)
	filledIn  = regexp.MustCompile(`\{[^{}]*\}|%[a-z]`)
	firstPart = regexp.MustCompile(`^(.*?[.;:]) `)
)

// failure is a way in which a job may fail.
type failure struct{ code, class, room, message string }

// TestFailuresOfJobs holds the page of errors to the failures that the engines' programs and the fabric make.
func TestFailuresOfJobs(t *testing.T) {
	t.Parallel()
	page := filepath.Join(root, errorPage)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), failuresBegin)
	old, after, closed := strings.Cut(rest, failuresEnd)
	if !opened || !closed {
		t.Fatalf("%s lacks the lines %q and %q", errorPage, failuresBegin, failuresEnd)
	}
	table := failureTable(failuresIn(t))
	switch {
	case strings.Count(table, "\n") < 100:
		t.Errorf("only %d lines of failures were found", strings.Count(table, "\n"))
	case old != table && !*update:
		t.Errorf("%s is not what the programs say; run: go test ./internal/arch -run TestFailuresOfJobs -update", errorPage)
	case old != table:
		if err := os.WriteFile(page, []byte(before+failuresBegin+table+failuresEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func failuresIn(t *testing.T) (found []failure) {
	t.Helper()
	for _, room := range []string{"engines", "worker", "scheduler"} {
		for name, text := range programsBelow(t, room) {
			for _, m := range raised[filepath.Ext(name)].FindAllStringSubmatchIndex(text, -1) {
				group := func(n int) string {
					if 2*n+1 >= len(m) || m[2*n] < 0 {
						return ""
					}
					return text[m[2*n]:m[2*n+1]]
				}
				class := cmp.Or(group(2), group(4), group(1))
				if classes[class] == "" && class != "USER_INPUT" && class != "EXECUTOR" {
					continue // where the kit gives a class its name
				}
				found = append(found, failure{code: cmp.Or(group(3), group(5)), class: cmp.Or(classes[class], class),
					room:    makerOf(name),
					message: messageAt(text[m[1]:])})
			}
		}
	}
	return found
}

// programsBelow are the texts of the programs below a folder, without tests and what tests use.
func programsBelow(t *testing.T, below string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, below), func(name string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasSuffix(entry.Name(), "test")):
			return filepath.SkipDir
		case entry.IsDir() || raised[filepath.Ext(name)] == nil || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		relative, pathErr := filepath.Rel(root, name)
		found[filepath.ToSlash(relative)] = string(text)
		return cmp.Or(err, pathErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// makerOf is the engine that a program belongs to, or what several share; the fabric for all others.
func makerOf(name string) string {
	if parts := strings.Split(name, "/"); parts[0] == "engines" && len(parts) > 2 {
		return parts[1]
	}
	return "fabric"
}

// messageAt is the first sentence of the message that a text begins with, with … for what is filled in; "" for one that is put
// together elsewhere.
func messageAt(text string) string {
	var message strings.Builder
	for {
		m := literal.FindStringSubmatch(text)
		if m == nil {
			break
		}
		message.WriteString(m[1])
		text = text[len(m[0]):]
	}
	said := filledIn.ReplaceAllString(strings.NewReplacer(`\"`, `"`, `{{`, "{", `}}`, "}", "|", "\\|").Replace(message.String()),
		"…")
	if m := firstPart.FindStringSubmatch(said); m != nil && len(m[1]) > 40 {
		said = strings.TrimRight(m[1], ".;:")
	}
	if runes := []rune(said); len(runes) > maxMessageRead {
		said = strings.TrimRight(string(runes[:maxMessageRead]), " ") + "…"
	}
	return said
}

// failureTable has a line for each code, with every room that it comes from and the first of its messages.
func failureTable(found []failure) string {
	slices.SortFunc(found, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.room, b.room), cmp.Compare(a.message, b.message))
	})
	var table strings.Builder
	table.WriteString("\n| code | class | from | what its message says |\n|---|---|---|---|\n")
	for len(found) > 0 {
		end := slices.IndexFunc(found, func(f failure) bool { return f.code != found[0].code })
		if end < 0 {
			end = len(found)
		}
		group := found[:end]
		found = found[end:]
		rooms, kinds, message := []string{}, []string{}, ""
		for _, f := range group {
			rooms, kinds, message = append(rooms, f.room), append(kinds, "`"+f.class+"`"), cmp.Or(message, f.message)
		}
		slices.Sort(kinds)
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", group[0].code, strings.Join(slices.Compact(kinds), ", "),
			strings.Join(slices.Compact(rooms), ", "), message)
	}
	table.WriteString("\n")
	return table.String()
}
