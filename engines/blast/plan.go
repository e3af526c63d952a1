package blast

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/molfabric/molfabric/engines"
)

const (
	programSplit  = "split.py"
	programSearch = "search.py"
	programMerge  = "merge.py"

	shardSplit = "queries"
	shardMerge = "results"

	inputQueries = "queries.fasta"
	inputPart    = "part.fasta"
	databaseIn   = "db"

	queriesFile = "queries.jsonl"
	reportFile  = "report.tsv"
	foundFile   = "found.json"
)

// tasks are BLAST+'s own defaults of -task: blastn means megablast there, whose words have 28 bases.
var tasks = map[string]string{IDProtein: "blastp", IDNucleotide: "megablast"}

// columns is the format that BLAST+ prints: its own twelve columns, which are the report, and after them what a hit needs beside
// them. Format 7 also says where a query begins and how many lines it has. The title comes last, because it may hold anything.
const columns = "7 std score nident positive gaps qlen slen sstrand qseq sseq stitle"

// splitParams are the parameters of the shard that cuts the queries. Letters are residues, or bases.
type splitParams struct {
	Program         string `json:"program"`
	Search          string `json:"search"`
	Parts           int    `json:"parts"`
	MaxPartQueries  int    `json:"maxPartQueries"`
	MaxQueries      int    `json:"maxQueries"`
	MaxQueryLetters int    `json:"maxQueryLetters"`
	MaxFileBytes    int64  `json:"maxFileBytes"`
}

type searchParams struct {
	Program         string   `json:"program"`
	Search          string   `json:"search"`
	Part            int      `json:"part"` // from 1
	Argv            []string `json:"argv"`
	MaxOutputBytes  int64    `json:"maxOutputBytes"`
	MaxSummaryBytes int      `json:"maxSummaryBytes"`
}

type mergeParams struct {
	Program        string             `json:"program"`
	Search         string             `json:"search"`
	Database       databaseParams     `json:"database"`
	Parameters     parameterParams    `json:"parameters"`
	Argv           []string           `json:"argv"` // of the run over everything that the results are those of
	Citations      []engines.Citation `json:"citations"`
	MaxMergedBytes int64              `json:"maxMergedBytes"`
}

type databaseParams struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Type      string `json:"type"`
	Date      string `json:"date"`
	Checksum  string `json:"checksumSha256"`
	Sequences int64  `json:"sequences"`
	Residues  int64  `json:"residues"`
}

type parameterParams struct {
	Task           string  `json:"task"`
	Strand         *string `json:"strand"` // nil for proteins
	Evalue         float64 `json:"evalue"`
	MaxHits        int     `json:"maxHits"`
	Threads        int     `json:"threads"`
	TimeoutSeconds float64 `json:"timeoutSeconds"` // of one task
	MaxOutputBytes int64   `json:"maxOutputBytes"` // of one task
	Tasks          int     `json:"tasks"`
}

// Plan cuts a request into the shard that splits the queries, the searches, and the shard that joins them.
func (b Blast) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := b.resolve(r)
	if err != nil {
		return nil, err
	}
	count := b.searches(q)
	bytes := queryBytes(q.queries)
	work := b.searchCPUSeconds(bytes/int64(count), q.database.Residues)
	needs := searchNeeds(q, work)
	split, err := b.planSplit(q, count)
	if err != nil {
		return nil, err
	}
	shards := append(make([]engines.Shard, 0, count+2), split)
	for part := 1; part <= count; part++ {
		search, err := b.planSearch(q, part, needs, roundCPUSeconds(work))
		if err != nil {
			return nil, err
		}
		shards = append(shards, search)
	}
	merge, err := b.planMerge(q, count, needs)
	if err != nil {
		return nil, err
	}
	return append(shards, merge), nil
}

func (b Blast) planSplit(q request, count int) (engines.Shard, error) {
	longest := maxProteinLength
	if b.program == IDNucleotide {
		longest = maxBases
	}
	params, err := paramsOf(shardSplit, splitParams{
		Program: programSplit, Search: b.program, Parts: count, MaxPartQueries: maxShardQueries, MaxQueries: maxQueries,
		MaxQueryLetters: longest, MaxFileBytes: maxQueryFileBytes,
	})
	return engines.Shard{
		Stage: stageSplit, StageIndex: 0, Name: shardSplit, Params: params, Essential: true, Preparation: true, Items: 1,
		Needs: splitNeeds(), Inputs: []engines.Input{{Name: inputQueries, Object: &q.queries}},
		ExpectedCPUSeconds: roundCPUSeconds(startCPUSeconds + splitCPUSecondsPerByte*float64(queryBytes(q.queries))),
	}, err
}

// planSearch plans the search of one part. It is not essential: when it fails, the queries of the other parts still have results.
func (b Blast) planSearch(q request, part int, needs engines.Resources, cpuSeconds float64) (engines.Shard, error) {
	name := searchName(part)
	params, err := paramsOf(name, searchParams{
		Program: programSearch, Search: b.program, Part: part, MaxOutputBytes: q.maxOutputBytes,
		MaxSummaryBytes: engines.MaxSummaryBytes, Argv: b.argv(q, "in/"+inputPart, "in/"+databaseIn+"/"+q.database.Name, columns),
	})
	shard := engines.Shard{
		Stage: stageSearch, StageIndex: 1, Name: name, Params: params, Items: 1, Needs: needs, ExpectedCPUSeconds: cpuSeconds,
		Inputs: []engines.Input{
			{Name: inputPart, From: &engines.From{Stage: stageSplit, Shard: shardSplit, Output: partName(part), Optional: true}},
			{Name: queriesFile, From: &engines.From{Stage: stageSplit, Shard: shardSplit, Output: queriesFile}},
		},
	}
	files := make([]string, 0, len(q.database.Files))
	for file := range q.database.Files {
		files = append(files, file)
	}
	slices.Sort(files)
	for _, file := range files {
		object := q.database.Files[file]
		shard.Inputs = append(shard.Inputs, engines.Input{Name: databaseIn + "/" + file, Object: &object})
	}
	return shard, err
}

func (b Blast) planMerge(q request, count int, needs engines.Resources) (engines.Shard, error) {
	database := q.database
	parameters := parameterParams{
		Task: tasks[b.program], Evalue: q.evalue, MaxHits: q.maxHits, Threads: q.threads, TimeoutSeconds: needs.TimeLimit.Seconds(),
		MaxOutputBytes: q.maxOutputBytes, Tasks: count,
	}
	if b.program == IDNucleotide {
		both := "both"
		parameters.Strand = &both
	}
	params, err := paramsOf(shardMerge, mergeParams{
		Program: programMerge, Search: b.program, Parameters: parameters, Argv: b.argv(q, inputQueries, database.Name, "6"),
		Citations: b.citations(), MaxMergedBytes: maxMergedBytes,
		Database: databaseParams{
			Name: database.Name, Version: database.Version, Type: database.Type, Date: database.ReleasedOn,
			Checksum: database.Checksum, Sequences: database.Sequences, Residues: database.Residues,
		},
	})
	shard := engines.Shard{
		Stage: stageMerge, StageIndex: 2, Name: shardMerge, Params: params, Essential: true, Items: 1, Needs: mergeNeeds(),
		Inputs: []engines.Input{{Name: queriesFile, From: &engines.From{Stage: stageSplit, Shard: shardSplit,
			Output: queriesFile}}},
		// Queries find a tenth of what they may, as a rule.
		ExpectedCPUSeconds: roundCPUSeconds(startCPUSeconds + mergeCPUSecondsPerByte*b.usualQueries(q)*float64(
			q.maxHits)*hitBytes/10),
	}
	for _, output := range []string{foundFile, HitsFile, reportFile} {
		shard.Inputs = append(shard.Inputs, engines.Input{Name: "searches/" + output,
			From: &engines.From{Stage: stageSearch, Output: output}})
	}
	return shard, err
}

// argv is a command line of BLAST+ that searches queries and prints the format.
func (b Blast) argv(q request, queries, database, format string) []string {
	argv := []string{
		b.program, "-task", tasks[b.program], "-query", queries, "-db", database, "-outfmt", format, "-evalue",
		strconv.FormatFloat(q.evalue, 'g', -1, 64), "-max_target_seqs", strconv.Itoa(q.maxHits), "-num_threads",
		strconv.Itoa(q.threads),
	}
	if b.program == IDNucleotide {
		return append(argv, "-strand", "both")
	}
	return argv
}

func searchName(part int) string { return fmt.Sprintf("search-%04d", part) }

func partName(part int) string { return fmt.Sprintf("parts/%04d.fasta", part) }

func paramsOf(shard string, params any) (json.RawMessage, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("blast: writing the parameters of shard %s: %w", shard, err)
	}
	return text, nil
}
