package sequences

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// maxShownChoices bounds the databases that a refusal lists.
const maxShownChoices = 20

// Selection is what a search says of the database that it wants. Type is that of its program and always stated; what else is ""
// was not said.
//
// A path names an entry of the registry, "<name>/<version>" and nothing else. It is never a path of a file system.
type Selection struct {
	Type       string
	Path       string
	Name       string
	Version    string
	ReleasedOn string
	Checksum   string // in either case
}

// Member is a member of a Selection.
type Member string

// The members of a selection that can fit nothing. NoMember says that a selection is wrong as a whole.
const (
	ByPath     Member = "path"
	ByName     Member = "name"
	ByVersion  Member = "version"
	ByDate     Member = "date"
	ByChecksum Member = "checksum"
)

// UnknownError is a selection that no database of the deployment fits, or several of different names.
type UnknownError struct {
	Member Member // that is to be changed
	Reason string // says what is wrong and which databases there are
}

func (e *UnknownError) Error() string { return string(e.Member) + ": " + e.Reason }

// Find returns the database that a selection means: the newest release of those that fit, when they have one name. Retired ones
// fit nothing. Errors: *UnknownError.
func (r *Registry) Find(ctx context.Context, wanted Selection) (Database, error) {
	all, err := r.store.all(ctx)
	if err != nil {
		return Database{}, err
	}
	return choose(all, wanted)
}

// choose is Find among these databases.
func choose(all []Database, wanted Selection) (Database, error) {
	pathName, pathVersion, isPath := strings.Cut(wanted.Path, "/")
	if wanted.Path != "" && (!isPath || !nameForm.MatchString(pathName) || !nameForm.MatchString(pathVersion)) {
		return Database{}, &UnknownError{ByPath, fmt.Sprintf("%q is no \"<name>/<version>\"; %s", wanted.Path,
			choicesOf(all, wanted.Type))}
	}
	fitting := inUse(all, wanted.Type)
	for _, rule := range []struct {
		member Member
		given  string
		of     func(Database) string
	}{
		{ByPath, wanted.Path, func(d Database) string { return d.Name + "/" + d.Version }},
		{ByName, wanted.Name, func(d Database) string { return d.Name }},
		{ByVersion, wanted.Version, func(d Database) string { return d.Version }},
		{ByDate, wanted.ReleasedOn, func(d Database) string { return d.ReleasedOn }},
		{ByChecksum, strings.ToLower(wanted.Checksum), func(d Database) string { return d.Checksum }},
	} {
		if rule.given == "" {
			continue
		}
		isIt := func(d Database) bool { return rule.of(d) == rule.given }
		left := slices.Collect(filter(fitting, isIt))
		if len(left) == 0 {
			return Database{}, &UnknownError{rule.member, whyNone(all, fitting, wanted.Type, rule.member, rule.given, isIt)}
		}
		fitting = left
	}
	switch names := namesOf(fitting); len(names) {
	case 0:
		return Database{}, &UnknownError{ByName, choicesOf(all, wanted.Type)}
	case 1:
		return slices.MaxFunc(fitting, func(a, b Database) int {
			return cmp.Or(cmp.Compare(a.ReleasedOn, b.ReleasedOn), a.CreatedAt.Compare(b.CreatedAt),
				cmp.Compare(a.Version, b.Version))
		}), nil
	}
	return Database{}, &UnknownError{ByName, "is required where databases of several names fit: " + listed(fitting)}
}

// whyNone says why no database is left of those that the members before have left.
func whyNone(all, before []Database, typ string, member Member, given string, isIt func(Database) bool) string {
	for d := range filter(all, isIt) {
		switch {
		case d.Type != typ && !slices.ContainsFunc(all, func(other Database) bool { return isIt(other) && other.Type == typ }):
			return fmt.Sprintf("%s holds %s; %s", d, kindOf(d.Type), choicesOf(all, typ))
		case d.Type == typ && d.RetiredAt != nil && !slices.ContainsFunc(inUse(all, typ), isIt):
			return fmt.Sprintf("%s was retired on %s; %s", d, d.RetiredAt.Format(dateForm), choicesOf(all, typ))
		}
	}
	if len(before) == 0 {
		return choicesOf(all, typ)
	}
	return fmt.Sprintf("no database that fits the rest has the %s %.80q; there is %s", member, given, listed(before))
}

// choicesOf says which databases of a type there are.
func choicesOf(all []Database, typ string) string {
	choices := inUse(all, typ)
	if len(choices) == 0 {
		return fmt.Sprintf("this deployment has no database of %s; its operator adds one with `molfabric blastdb add`", kindOf(typ))
	}
	return fmt.Sprintf("this deployment's databases of %s are: %s", kindOf(typ), listed(choices))
}

func kindOf(typ string) string {
	if typ == Nucleotide {
		return "nucleotides"
	}
	return "proteins"
}

func inUse(all []Database, typ string) []Database {
	return slices.Collect(filter(all, func(d Database) bool { return d.RetiredAt == nil && d.Type == typ }))
}

func filter(all []Database, keep func(Database) bool) func(yield func(Database) bool) {
	return func(yield func(Database) bool) {
		for _, d := range all {
			if keep(d) && !yield(d) {
				return
			}
		}
	}
}

func namesOf(all []Database) []string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listed names databases in a sentence.
func listed(all []Database) string {
	var words []string
	for _, d := range all[:min(len(all), maxShownChoices)] {
		words = append(words, d.String()+" ("+d.ReleasedOn+")")
	}
	if more := len(all) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more (GET /v1/molecular/blast/databases)", more))
	}
	return joined(words)
}

func joined(words []string) string { return strings.Join(words, ", ") }
