package contract

import (
	"time"

	"github.com/molfabric/molfabric/internal/job"
)

// BlastLinks lead to the browser's view of a resource.
type BlastLinks struct {
	Studio string `json:"studio" example:"/studio/searches/job_0197" doc:"Relative link to the Studio. Use it as it is; it opens for who may see the resource."`
}

// BlastSearchedDatabase is the database that was searched, as it was when the job was submitted.
type BlastSearchedDatabase struct {
	Name       string `json:"name" example:"swissprot" doc:"Name in the deployment's registry."`
	Version    string `json:"version" example:"2026_01" doc:"Version."`
	Type       string `json:"type" enum:"prot,nucl" doc:"What it holds: proteins or nucleotides."`
	ReleasedOn string `json:"releasedOn" example:"2026-01-28" doc:"Date of the release, YYYY-MM-DD."`
	Checksum   string `json:"checksum" doc:"SHA-256 of the database as a whole, 64 lower-case hexadecimal digits."`
	Sequences  int64  `json:"sequences" minimum:"0" doc:"Sequences in it."`
	Residues   int64  `json:"residues" minimum:"0" doc:"Residues of all of them; bases of nucleotides."`
}

// BlastParameters are how a search is made, the engine's own choices included.
type BlastParameters struct {
	Evalue         float64 `json:"evalue" doc:"Largest expectation value of a hit."`
	MaxHits        int     `json:"maxHits" doc:"Most database sequences reported per query."`
	Threads        int     `json:"threads" doc:"Threads per task."`
	TimeoutSeconds *int    `json:"timeoutSeconds" doc:"Longest run of one task, in seconds; null where the engine chooses by the size of the work."`
	MaxOutputBytes int64   `json:"maxOutputBytes" doc:"Largest report of one task, in bytes."`
	Tasks          int     `json:"tasks" doc:"Tasks that search, each a part of the queries."`
}

// BlastCounts are queries by outcome and their hits, so far.
type BlastCounts struct {
	Queries   *int  `json:"queries" minimum:"0" doc:"Queries in the file; null before they are counted."`
	Completed int   `json:"completed" minimum:"0" doc:"Queries that were searched."`
	Failed    int   `json:"failed" minimum:"0" doc:"Queries that failed."`
	Hits      int64 `json:"hits" minimum:"0" doc:"Hits of all queries: pairs of a query and a database sequence."`
}

// BlastArtifact is a file with the results of a whole search.
type BlastArtifact struct {
	ArtifactID string    `json:"artifactId" doc:"Id of the file."`
	Name       string    `json:"name" example:"hits.tsv" doc:"File name."`
	Role       string    `json:"role" doc:"What the file is: result or provenance."`
	SHA256     string    `json:"sha256" doc:"64 lower-case hexadecimal digits."`
	ByteSize   int64     `json:"byteSize" minimum:"0" doc:"Size in bytes."`
	MediaType  string    `json:"mediaType" doc:"Media type."`
	Format     string    `json:"format" doc:"Format of the content: json, jsonl, tsv."`
	URL        string    `json:"url" doc:"Short-lived address of the file, made anew for every call; never store it."`
	ExpiresAt  time.Time `json:"expiresAt" doc:"Until when the address is good."`
}

// BlastSearch is one search job: the queries of a file against one database.
type BlastSearch struct {
	JobID      string                `json:"jobId" doc:"The job that searches; also the id of the search."`
	JobName    string                `json:"jobName" doc:"Its name."`
	Program    string                `json:"program" enum:"blastp,blastn" doc:"What searches: blastp for proteins, blastn for nucleotides."`
	Version    *string               `json:"version" example:"2.12.0+" doc:"Version of BLAST+, as it said; null before the first task has searched."`
	Status     job.Status            `json:"status" enum:"SUBMITTED,QUEUED,RUNNING,CANCELLING,COMPLETED,COMPLETED_WITH_FAILURES,FAILED,CANCELLED" doc:"State of the job."`
	Database   BlastSearchedDatabase `json:"database" doc:"What is searched."`
	Parameters BlastParameters       `json:"parameters" doc:"How."`
	Counts     BlastCounts           `json:"counts" doc:"Queries by outcome, so far."`
	CreatedAt  time.Time             `json:"createdAt" doc:"When it was submitted."`
	StartedAt  *time.Time            `json:"startedAt" doc:"When its first task started."`
	FinishedAt *time.Time            `json:"finishedAt" doc:"When it ended."`
	Artifacts  []BlastArtifact       `json:"artifacts,omitempty" doc:"The files of the whole search, once it has ended. Only where a search is read alone."`
	UILinks    BlastLinks            `json:"uiLinks" doc:"Where to look at it."`
}

// BlastSearchList is a page of searches.
type BlastSearchList struct {
	Searches   []BlastSearch `json:"searches" doc:"Searches, newest first."`
	NextCursor *string       `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// BlastQuery is one query of a search, with its best hit.
type BlastQuery struct {
	Index            int        `json:"index" minimum:"0" doc:"Place of the query in the file, from 0."`
	QueryID          *string    `json:"queryId" doc:"Its id: the first word behind > in the file; null while nobody has told it."`
	Title            *string    `json:"title" doc:"The rest of that line."`
	Length           *int64     `json:"length" doc:"Residues, or bases."`
	Status           string     `json:"status" enum:"PENDING,SEARCHING,COMPLETED,FAILED" doc:"State of the query."`
	FailureStep      *string    `json:"failureStep" example:"parse" doc:"Where it failed: parse or search."`
	Error            *string    `json:"error" doc:"What was wrong, and the next step."`
	Hits             int        `json:"hits" minimum:"0" doc:"Database sequences that were found."`
	BestEvalue       *float64   `json:"bestEvalue" doc:"Expectation value of the best hit; null without hits."`
	BestBitScore     *float64   `json:"bestBitScore" doc:"Bit score of the best hit."`
	BestSubjectID    *string    `json:"bestSubjectId" doc:"Id of the best hit."`
	BestSubjectTitle *string    `json:"bestSubjectTitle" doc:"Title of the best hit."`
	UILinks          BlastLinks `json:"uiLinks" doc:"Where to look at it."`
}

// BlastQueryList is a page of queries.
type BlastQueryList struct {
	Queries    []BlastQuery `json:"queries" doc:"Queries, in the order of sort."`
	NextCursor *string      `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
}

// BlastHSP is a local alignment of a query with a database sequence. Positions count from 1 and include both ends.
type BlastHSP struct {
	Rank             int     `json:"rank" minimum:"1" doc:"Place among the hit's alignments, best first."`
	BitScore         float64 `json:"bitScore" doc:"Score in bits, which can be compared between searches."`
	RawScore         int     `json:"rawScore" doc:"Score of the substitution matrix and the gaps."`
	Evalue           float64 `json:"evalue" doc:"How many alignments this good are expected by chance."`
	Identities       int     `json:"identities" doc:"Pairs of the same letter."`
	IdentityPercent  float64 `json:"identityPercent" doc:"Identities of the alignment's columns, in percent."`
	Positives        int     `json:"positives" doc:"Pairs with a positive score; of nucleotides the identities."`
	Gaps             int     `json:"gaps" doc:"Gap characters."`
	AlignmentLength  int     `json:"alignmentLength" minimum:"1" doc:"Columns of the alignment."`
	QueryFrom        int64   `json:"queryFrom" doc:"First position in the query."`
	QueryTo          int64   `json:"queryTo" doc:"Last position in the query."`
	SubjectFrom      int64   `json:"subjectFrom" doc:"First position in the database sequence; on the minus strand greater than subjectTo."`
	SubjectTo        int64   `json:"subjectTo" doc:"Last position in the database sequence."`
	QueryStrand      *string `json:"queryStrand" doc:"plus or minus; null for proteins."`
	SubjectStrand    *string `json:"subjectStrand" doc:"plus or minus; null for proteins."`
	QueryAlignment   string  `json:"queryAlignment" doc:"The query's line of the alignment, - for a gap; empty where the hit's alignmentsOmitted."`
	SubjectAlignment string  `json:"subjectAlignment" doc:"The database sequence's line; likewise."`
	Midline          string  `json:"midline" doc:"The line between: the letter or | of an identity, + of a positive pair, else a blank; likewise."`
}

// BlastHit is a database sequence that a query has found.
type BlastHit struct {
	QueryIndex           int        `json:"queryIndex" minimum:"0" doc:"Place of the query in the file, from 0."`
	QueryID              string     `json:"queryId" doc:"Id of the query."`
	Rank                 int        `json:"rank" minimum:"1" doc:"Place among the query's hits, best first."`
	SubjectID            string     `json:"subjectId" doc:"Id of the database sequence."`
	SubjectTitle         string     `json:"subjectTitle" doc:"Its title."`
	SubjectLength        int64      `json:"subjectLength" doc:"Its residues, or bases."`
	QueryCoveragePercent float64    `json:"queryCoveragePercent" doc:"How much of the query the listed alignments cover together, in percent."`
	AlignmentsOmitted    bool       `json:"alignmentsOmitted" doc:"Whether the three lines of each alignment are left out, because the hit has more than 4 MiB as it is stored; hits.jsonl of the job's outputs has them."`
	HSPs                 []BlastHSP `json:"hsps" doc:"Alignments, best first; with filters those that fit alone."`
}

// BlastHitList is a page of hits.
type BlastHitList struct {
	Hits       []BlastHit `json:"hits" doc:"Hits, in the order of the queries and best first. A page ends early behind very long hits. With filters it may have fewer than limit, even none, before the last."`
	NextCursor *string    `json:"nextCursor" doc:"Cursor of the next page; null on the last."`
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
