package sequences

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	database := func(name, version, releasedOn, typ string, checksum byte) Database {
		return Database{Name: name, Version: version, ReleasedOn: releasedOn, Type: typ,
			Checksum: strings.Repeat(string(checksum), 64), CreatedAt: day}
	}
	retired := database("swissprot", "2024_06", "2024-11-27", Protein, 'c')
	retired.RetiredAt = &day
	later := database("swissprot", "2026_01b", "2026-01-28", Protein, 'd')
	later.CreatedAt = day.Add(time.Hour)
	all := []Database{
		database("swissprot", "2025_04", "2025-10-15", Protein, 'a'), database("swissprot", "2026_01", "2026-01-28", Protein, 'b'),
		later, retired, database("trembl", "2026_01", "2026-01-28", Protein, 'e'),
		database("refseq", "230", "2026-02-01", Nucleotide, 'f'),
	}
	proteins := func(s Selection) Selection { s.Type = Protein; return s }
	for _, c := range []struct {
		name   string
		wanted Selection
		want   string // the database, or the member at fault
		reason string // of a refusal
	}{
		{"only one of the type", Selection{Type: Nucleotide}, "refseq 230", ""},
		{"several, and none named", proteins(Selection{}), "name", "required where databases of several names fit: swissprot " +
			"2025_04 (2025-10-15), swissprot 2026_01 (2026-01-28), swissprot 2026_01b (2026-01-28), trembl 2026_01 (2026-01-28)"},
		{"newest release, and of a day the one added last", proteins(Selection{Name: "swissprot"}), "swissprot 2026_01b", ""},
		{"version", proteins(Selection{Name: "swissprot", Version: "2025_04"}), "swissprot 2025_04", ""},
		{"date", proteins(Selection{Name: "swissprot", ReleasedOn: "2025-10-15"}), "swissprot 2025_04", ""},
		{"checksum alone", proteins(Selection{Checksum: strings.Repeat("A", 64)}), "swissprot 2025_04", ""},
		{"path", proteins(Selection{Path: "swissprot/2026_01"}), "swissprot 2026_01", ""},
		{"path and all the rest", proteins(Selection{"", "swissprot/2025_04", "swissprot", "2025_04", "2025-10-15",
			strings.Repeat("a", 64)}), "swissprot 2025_04", ""},
		{"version of two names", proteins(Selection{Version: "2026_01"}), "name",
			"several names fit: swissprot 2026_01 (2026-01-28), trembl 2026_01 (2026-01-28)"},
		{"unknown name", proteins(Selection{Name: "nr"}), "name", `has the name "nr"; there is swissprot 2025_04`},
		{"case matters", proteins(Selection{Name: "SwissProt"}), "name", `has the name "SwissProt"`},
		{"name of the other type", proteins(Selection{Name: "refseq"}), "name",
			"refseq 230 holds nucleotides; this deployment's databases of proteins are: swissprot"},
		{"unknown version", proteins(Selection{Name: "trembl", Version: "2025_04"}), "version",
			`no database that fits the rest has the version "2025_04"; there is trembl 2026_01 (2026-01-28)`},
		{"retired", proteins(Selection{Name: "swissprot", Version: "2024_06"}), "version",
			"swissprot 2024_06 was retired on 2026-03-01"},
		{"another date", proteins(Selection{Name: "trembl", ReleasedOn: "2026-01-29"}), "date",
			"there is trembl 2026_01 (2026-01-28)"},
		{"another checksum", proteins(Selection{Name: "trembl", Checksum: strings.Repeat("a", 64)}), "checksum",
			"there is trembl 2026_01"},
		{"path and another name", proteins(Selection{Path: "swissprot/2026_01", Name: "trembl"}), "name",
			"there is swissprot 2026_01"},
		{"path of a file system", proteins(Selection{Path: "../../etc/passwd"}), "path", `is no "<name>/<version>"`},
		{"path without version", proteins(Selection{Path: "swissprot"}), "path", `is no "<name>/<version>"`},
		{"unknown path", proteins(Selection{Path: "swissprot/swissprot"}), "path",
			`has the path "swissprot/swissprot"; there is swissprot 2025_04`},
	} {
		got, err := choose(all, c.wanted)
		var unknown *UnknownError
		switch {
		case err == nil && got.String() != c.want:
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		case err != nil && (!errors.As(err, &unknown) || string(unknown.Member) != c.want || c.reason == "" ||
			!strings.Contains(unknown.Reason, c.reason)):
			t.Errorf("%s: got %v, want %s: … %s", c.name, err, c.want, c.reason)
		}
	}
	var unknown *UnknownError
	if _, err := choose(nil, proteins(Selection{})); !errors.As(err, &unknown) || unknown.Member != ByName ||
		!strings.Contains(unknown.Reason, "molfabric blastdb add") {
		t.Errorf("without any database: got %v", err)
	}
	many := make([]Database, 30)
	for i := range many {
		many[i] = database("n", string(rune('a'+i)), "2026-01-01", Protein, 'a')
	}
	if _, err := choose(many, proteins(Selection{Name: "x"})); err == nil || !strings.Contains(err.Error(), "10 more (GET") {
		t.Errorf("of many: got %v", err)
	}
}
