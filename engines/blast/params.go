// Package blast holds the parameters of the simulators blastp and blastn: sequence search with NCBI BLAST+. It runs nothing and
// reads no database.
package blast

import (
	"fmt"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

// Canonical simulator ids of doc/contract.md §1.
const (
	IDProtein    = "blastp"
	IDNucleotide = "blastn"
)

// The database types of BLAST+.
const (
	TypeProtein    = "prot"
	TypeNucleotide = "nucl"
)

// Params are the members of simulationParams that a sequence search reads (doc/contract.md §2.2). The API embeds the struct, so
// its tags are the rules of the public contract.
type Params struct {
	DatabasePath     *string  `json:"blastDatabasePath,omitempty" minLength:"1" maxLength:"1024" doc:"A database of the deployment as name/version; never a path of a file system." example:"swissprot/2026_01"`
	DatabaseName     *string  `json:"blastDatabaseName,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$" patternDescription:"1 to 128 letters, digits, '.', '_', '+' or '-', the first a letter or digit" doc:"Name of a database of the deployment." example:"swissprot"`
	DatabaseVersion  *string  `json:"blastDatabaseVersion,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$" patternDescription:"1 to 128 letters, digits, '.', '_', '+' or '-', the first a letter or digit" doc:"Version of the database that must be searched." example:"2026_01"`
	DatabaseDate     *string  `json:"blastDatabaseDate,omitempty" format:"date" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" patternDescription:"YYYY-MM-DD" doc:"Date of the database, a day of the calendar as YYYY-MM-DD." example:"2026-01-28"`
	DatabaseType     *string  `json:"blastDatabaseType,omitempty" enum:"prot,nucl" doc:"What the database holds: prot for blastp, nucl for blastn."`
	DatabaseChecksum *string  `json:"blastDatabaseChecksum,omitempty" pattern:"^[0-9A-Fa-f]{64}$" patternDescription:"64 hexadecimal digits" doc:"SHA-256 of the database, 64 hexadecimal digits in either case."`
	Evalue           *float64 `json:"blastEvalue,omitempty" minimum:"1e-300" maximum:"1000" doc:"Largest expectation value of a hit." example:"0.001"`
	MaxHits          *int     `json:"blastMaxHits,omitempty" minimum:"1" maximum:"1000" doc:"Most database sequences reported per query."`
	Threads          *int     `json:"blastThreads,omitempty" minimum:"1" maximum:"64" doc:"Threads per task."`
	TimeoutSeconds   *int     `json:"blastTimeoutSeconds,omitempty" minimum:"1" maximum:"86400" doc:"Longest run of one task, in seconds."`
	MaxOutputBytes   *int64   `json:"blastMaxOutputBytes,omitempty" minimum:"1024" maximum:"67108864" doc:"Largest report of one task, in bytes."`
}

// Check applies the rules that no schema can state to a search with the simulator IDProtein or IDNucleotide. It returns an
// *engines.InvalidError.
func (p Params) Check(simulator string) error {
	if want := databaseType(simulator); p.DatabaseType != nil && *p.DatabaseType != want {
		return &engines.InvalidError{Field: "blastDatabaseType", Message: fmt.Sprintf("is %s; %s searches a database of type %s",
			*p.DatabaseType, simulator, want)}
	}
	if p.DatabasePath == nil {
		return nil
	}
	if name := *p.DatabasePath; path.IsAbs(name) || strings.ContainsAny(name, "\\\x00") || path.Clean(name) != name ||
		name == ".." || strings.HasPrefix(name, "../") {
		return &engines.InvalidError{Field: "blastDatabasePath", Message: "must stay below the database folder: no leading " +
			"slash, no backslash, no empty, '.' or '..' segment"}
	}
	return nil
}

func databaseType(simulator string) string {
	if simulator == IDNucleotide {
		return TypeNucleotide
	}
	return TypeProtein
}
