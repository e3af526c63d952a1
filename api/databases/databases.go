// Package databases is the API group of the sequence databases that a deployment searches: their list. It adds and changes
// none: an operator does, with `molfabric blastdb`.
package databases

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/sequences"
)

// cacheFor is what a browser may keep of an answer: databases come and go with releases.
const cacheFor = "private, max-age=60"

// Register adds the group's operations. Any valid credential is good for them: what a deployment searches is for its users.
func Register(api huma.API, registry *sequences.Registry) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "list-blast-databases", Method: http.MethodGet, Path: "/v1/molecular/blast/databases",
		Summary: "List the BLAST databases",
		Description: "Every sequence database that blastp and blastn can search here, by name and then from the newest release " +
			"to the oldest. " +
			"simulationParams names one by blastDatabaseName, with blastDatabaseVersion, blastDatabaseDate or " +
			"blastDatabaseChecksum where it must be a certain one, " +
			"or by blastDatabasePath, which is its name, a slash and its version. Of several that fit, the newest release is " +
			"searched; where the deployment has " +
			"databases of one name alone, none need be named.",
		Tags: []string{"Sequence search"},
	}, access.Rule{}), func(ctx context.Context, input *listInput) (*listOutput, error) {
		found, err := registry.List(ctx, input.Type)
		if err != nil {
			return nil, err
		}
		list := contract.DatabaseList{Databases: make([]contract.SequenceDatabase, len(found))}
		for i, d := range found {
			list.Databases[i] = contract.SequenceDatabase{Name: d.Name, Version: d.Version, ReleasedOn: d.ReleasedOn, Type: d.Type,
				Checksum: d.Checksum, Title: d.Title, Sequences: d.Sequences, Residues: d.Residues, ByteSize: d.Bytes}
		}
		return &listOutput{CacheControl: cacheFor, Body: list}, nil
	})
}

type listInput struct {
	Type string `query:"type" enum:"prot,nucl" doc:"Only databases of proteins (prot, for blastp) or of nucleotides (nucl, for blastn)."`
}

type listOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         contract.DatabaseList
}
