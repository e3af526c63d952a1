package jobs

import (
	"context"
	"errors"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/sequences"
)

// Databases is the registry of a deployment's sequence databases.
type Databases interface {
	// Find returns the newest database that a search means. Errors: *sequences.UnknownError.
	Find(ctx context.Context, wanted sequences.Selection) (sequences.Database, error)
}

func (ignorance) Find(context.Context, sequences.Selection) (sequences.Database, error) {
	return sequences.Database{}, &sequences.UnknownError{Member: sequences.ByName, Reason: "this deployment has no databases"}
}

// databaseMembers are the members of simulationParams by what they select.
var databaseMembers = map[sequences.Member]string{
	sequences.ByPath: "blastDatabasePath", sequences.ByName: "blastDatabaseName", sequences.ByVersion: "blastDatabaseVersion",
	sequences.ByDate: "blastDatabaseDate", sequences.ByChecksum: "blastDatabaseChecksum",
}

// lookUpDatabase finds the database that a search with the simulator blast.IDProtein or blast.IDNucleotide names; one that names
// none gets the only one that there is. Errors: fault.Validation.
func (s *Service) lookUpDatabase(ctx context.Context, given *SimulationParams, simulator string) (engines.Found, error) {
	params := valueOr(given, SimulationParams{}).SearchParams
	if err := params.Check(simulator); err != nil {
		return engines.Found{}, asValidation(err)
	}
	wanted := sequences.Selection{
		Type: sequences.Protein, Path: valueOr(params.DatabasePath, ""), Name: valueOr(params.DatabaseName, ""),
		Version: valueOr(params.DatabaseVersion, ""), ReleasedOn: valueOr(params.DatabaseDate, ""), Checksum: valueOr(params.DatabaseChecksum, ""),
	}
	if simulator == blast.IDNucleotide {
		wanted.Type = sequences.Nucleotide
	}
	d, err := s.deps.Databases.Find(ctx, wanted)
	var unknown *sequences.UnknownError
	if errors.As(err, &unknown) {
		return engines.Found{}, fault.Wrap(err, fault.Validation, "simulationParams.%s: %s", databaseMembers[unknown.Member], unknown.Reason)
	}
	if err != nil {
		return engines.Found{}, err
	}
	found := engines.SequenceDatabase{Name: d.Name, Version: d.Version, Type: d.Type, ReleasedOn: d.ReleasedOn, Checksum: d.Checksum,
		Sequences: d.Sequences, Residues: d.Residues, Files: make(map[string]engines.Object, len(d.Files))}
	for _, f := range d.Files {
		found.Files[f.Name] = engines.Object{StorageKey: d.Key(f.Name), SHA256: f.SHA256, ByteSize: f.ByteSize}
	}
	return engines.Found{Database: &found}, nil
}
