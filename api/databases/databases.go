// Package databases is the API group of the sequence databases that a deployment searches: their list. It adds and changes
// none: an operator does, with `molfabric blastdb`.
package databases

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/sequences"
)

// cacheFor is what a browser may keep of an answer: databases come and go with releases.
const cacheFor = "private, max-age=60"

// Register adds the group's operations. Any valid credential is good for them: what a deployment searches is for its users.
func Register(api huma.API, registry *sequences.Registry) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "list-blast-databases", Method: http.MethodGet, Path: "/v1/molecular/blast/databases", Summary: "List the BLAST databases",
		Description: "Every sequence database that blastp and blastn can search here, by name and then from the newest release to the oldest. " +
			"simulationParams names one by blastDatabaseName, with blastDatabaseVersion, blastDatabaseDate or blastDatabaseChecksum where it must be a certain one, " +
			"or by blastDatabasePath, which is its name, a slash and its version. Of several that fit, the newest release is searched; where the deployment has " +
			"databases of one name alone, none need be named.",
		Tags: []string{"Sequence search"},
	}, access.Rule{}), func(ctx context.Context, input *listInput) (*listOutput, error) {
		found, err := registry.List(ctx, input.Type)
		if err != nil {
			return nil, err
		}
		list := DatabaseList{Databases: make([]SequenceDatabase, len(found))}
		for i, d := range found {
			list.Databases[i] = SequenceDatabase{Name: d.Name, Version: d.Version, ReleasedOn: d.ReleasedOn, Type: d.Type, Checksum: d.Checksum,
				Title: d.Title, Sequences: d.Sequences, Residues: d.Residues, ByteSize: d.Bytes}
		}
		return &listOutput{CacheControl: cacheFor, Body: list}, nil
	})
}

type listInput struct {
	Type string `query:"type" enum:"prot,nucl" doc:"Only databases of proteins (prot, for blastp) or of nucleotides (nucl, for blastn)."`
}

type listOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         DatabaseList
}

// DatabaseList is every database of the deployment that is in use.
type DatabaseList struct {
	Databases []SequenceDatabase `json:"databases" doc:"By name, and then from the newest release to the oldest."`
}

// SequenceDatabase is a BLAST database of the deployment.
type SequenceDatabase struct {
	Name       string `json:"name" example:"swissprot" doc:"Name, as blastDatabaseName takes it."`
	Version    string `json:"version" example:"2026_01" doc:"Version, as blastDatabaseVersion takes it."`
	ReleasedOn string `json:"releasedOn" format:"date" example:"2026-01-28" doc:"Day of its release, as blastDatabaseDate takes it."`
	Type       string `json:"type" enum:"prot,nucl" doc:"prot: proteins, for blastp. nucl: nucleotides, for blastn."`
	Checksum   string `json:"checksum" doc:"SHA-256 of the database, as blastDatabaseChecksum takes it: that of the lines of the digest, two spaces and the name of each of its files, by name."`
	Title      string `json:"title" doc:"Name for people."`
	Sequences  int64  `json:"sequences" doc:"How many sequences it holds."`
	Residues   int64  `json:"residues" doc:"How many residues or bases they have together."`
	ByteSize   int64  `json:"byteSize" doc:"Size of its files, in bytes."`
}
