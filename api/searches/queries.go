package searches

import (
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/api/wire"
)

// Bounds of a table.
const (
	// maxQueryRows is how many queries a search may have.
	maxQueryRows = 100_000
	// maxHitRows bounds the hits of a table: what a spreadsheet can hold. hits.tsv of the job's outputs has all.
	maxHitRows = 1_000_000
)

// SearchQuery filters the list of searches.
type SearchQuery struct {
	list.Query
	Program  string   `query:"program" enum:"blastp,blastn" doc:"Searches of this program."`
	Database string   `query:"database" maxLength:"128" doc:"Searches of the database with this name."`
	Status   []string `query:"status,explode" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" maxItems:"8" doc:"Searches in any of these states; may be repeated."`
}

// QueriesQuery filters and sorts the list of a search's queries.
type QueriesQuery struct {
	Limit     int                    `query:"limit" minimum:"1" maximum:"100000" doc:"Entries a page: 1 to 100, 20 when left out. Of CSV, entries of the whole answer: 1 to 100000, 100000 when left out."`
	Cursor    string                 `query:"cursor" maxLength:"512" doc:"The nextCursor of the page before, unchanged. It goes with the same filters and the same sort."`
	Accept    string                 `header:"Accept" hidden:"true"`
	Status    []string               `query:"status,explode" enum:"PENDING,SEARCHING,COMPLETED,FAILED" maxItems:"4" doc:"Queries in any of these states; may be repeated."`
	MinHits   int                    `query:"minHits" minimum:"0" maximum:"1000" doc:"Queries with so many hits or more."`
	MaxEvalue wire.Optional[float64] `query:"maxEvalue" minimum:"0" maximum:"1000" doc:"Queries whose best hit has this expectation value or a smaller one."`
	Q         string                 `query:"q" maxLength:"200" doc:"Queries whose id or title, or whose best hit's, holds this text, in either case."`
	Sort      string                 `query:"sort" enum:"index,-index,evalue,-evalue,hits,-hits,length,-length" default:"index" doc:"index: as in the file; evalue: best hit first, queries without one last; hits: most first; length: longest first. A minus turns the order around; what has no figure stays last."`
}

// HitsQuery filters lists of hits.
type HitsQuery struct {
	Limit       int                    `query:"limit" minimum:"1" maximum:"1000000" doc:"Hits a page: 1 to 100, 20 when left out. Of CSV and TSV, hits of the whole answer: 1 to 1000000, 1000000 when left out."`
	Cursor      string                 `query:"cursor" maxLength:"512" doc:"The nextCursor of the page before, unchanged. It goes with the same filters."`
	Accept      string                 `header:"Accept" hidden:"true"`
	MaxEvalue   wire.Optional[float64] `query:"maxEvalue" minimum:"0" maximum:"1000" doc:"Alignments with this expectation value or a smaller one."`
	MinIdentity wire.Optional[float64] `query:"minIdentity" minimum:"0" maximum:"100" doc:"Alignments with so many identities or more, in percent of their columns."`
}
