package blast

import (
	"errors"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	at := func(path string) Params { return Params{DatabasePath: &path} }
	of := func(kind string) Params { return Params{DatabaseType: &kind} }
	for _, c := range []struct {
		name, simulator string
		params          Params
		field           string // "" means accepted
	}{
		{"nothing", IDProtein, Params{}, ""},
		{"proteins", IDProtein, of(TypeProtein), ""},
		{"nucleotides", IDNucleotide, of(TypeNucleotide), ""},
		{"nucleotides for blastp", IDProtein, of(TypeNucleotide), "blastDatabaseType"},
		{"proteins for blastn", IDNucleotide, of(TypeProtein), "blastDatabaseType"},
		{"path", IDProtein, at("swissprot/2026_01/swissprot"), ""},
		{"file", IDProtein, at("nr"), ""},
		{"dots in a name", IDProtein, at("..nr"), ""},
		{"absolute", IDProtein, at("/nr"), "blastDatabasePath"},
		{"outside", IDProtein, at("../nr"), "blastDatabasePath"},
		{"parent", IDProtein, at(".."), "blastDatabasePath"},
		{"outside later", IDProtein, at("a/../../nr"), "blastDatabasePath"},
		{"dot", IDProtein, at("./nr"), "blastDatabasePath"},
		{"empty segment", IDProtein, at("a//nr"), "blastDatabasePath"},
		{"folder", IDProtein, at("a/"), "blastDatabasePath"},
		{"backslash", IDProtein, at(`a\nr`), "blastDatabasePath"},
	} {
		err := c.params.Check(c.simulator)
		var refused *engines.InvalidError
		if errors.As(err, &refused) != (c.field != "") || refused != nil && refused.Field != c.field {
			t.Errorf("%s: got %v, want a refusal of %q", c.name, err, c.field)
		}
	}
}
