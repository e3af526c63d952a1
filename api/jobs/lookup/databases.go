package lookup

import (
	"context"
	"errors"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/sequences"
)

// Databases is the registry of a deployment's sequence databases.
type Databases interface {
	// Find returns the newest database that a search means. Errors: *sequences.UnknownError.
	Find(ctx context.Context, wanted sequences.Selection) (sequences.Database, error)
}

func (nothing) Find(context.Context, sequences.Selection) (sequences.Database, error) {
	return sequences.Database{}, &sequences.UnknownError{Member: sequences.ByName, Reason: "this deployment has no databases"}
}

// database finds the sequence database, for an estimate too. Errors: fault.Validation.
func (s *search) database(ctx context.Context, wants engines.Wants) (bool, error) {
	if wants.Database == nil || !s.once("database") {
		return false, nil
	}
	w := *wants.Database
	d, err := s.Databases.Find(ctx, sequences.Selection{
		Type: w.Type, Path: w.Place.Value, Name: w.Name.Value, Version: w.Version.Value, ReleasedOn: w.ReleasedOn.Value,
		Checksum: w.Checksum.Value,
	})
	var unknown *sequences.UnknownError
	if errors.As(err, &unknown) {
		members := map[sequences.Member]engines.Selected{
			sequences.ByPath: w.Place, sequences.ByName: w.Name, sequences.ByVersion: w.Version, sequences.ByDate: w.ReleasedOn,
			sequences.ByChecksum: w.Checksum,
		}
		return true, fault.Wrap(err, fault.Validation, "%s: %s", engines.Place(members[unknown.Member].Path), unknown.Reason)
	}
	if err != nil {
		return true, err
	}
	found := engines.SequenceDatabase{Name: d.Name, Version: d.Version, Type: d.Type, ReleasedOn: d.ReleasedOn,
		Checksum: d.Checksum, Sequences: d.Sequences, Residues: d.Residues, Files: make(map[string]engines.Object, len(d.Files))}
	for _, f := range d.Files {
		found.Files[f.Name] = engines.Object{StorageKey: d.Key(f.Name), SHA256: f.SHA256, ByteSize: f.ByteSize}
	}
	s.work.Found.Database = &found
	return true, nil
}
