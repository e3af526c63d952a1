package blast

import (
	"math"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// Cost models, measured with BLAST+ 2.12.0 on one core of a shared 4-core server with 1 to 200 queries of up to 90,000 residues
// against 26,000 to 12.7 million residues (blastp), and 1,000 to 10,000 queries of 1,000 bases against 24 to 200 million (blastn).
const (
	startCPUSeconds           = 0.15   // Python, the program, the database's index
	residueCPUSeconds         = 1.5e-5 // a residue of a protein query, whatever is searched
	residuePairCPUSeconds     = 2.8e-11
	baseCPUSeconds            = 1.3e-7 // a base of a nucleotide query
	basePairCPUSeconds        = 2.0e-15
	scanCPUSecondsPerBase     = 2.0e-9 // of a nucleotide database, read once however short the queries are
	splitCPUSecondsPerByte    = 2.0e-7
	mergeCPUSecondsPerByte    = 1.0e-8
	usualQueryFileBytes       = 256 << 10 // of a file whose size nobody has stated
	usualBytesPerProtein      = 400       // with its header
	usualBytesPerTranscript   = 1500
	hitBytes                  = 1200 // of a hit's line and of its line in the table
	residuesPerQueryFileBytes = 0.82 // the rest are headers and line breaks
)

// How many tasks search. Short tasks wait for their start as long as they run, long ones keep a fleet waiting for the last.
const (
	shortestSearchCPUSeconds = 8.0   // 50 times the start
	usualSearchCPUSeconds    = 300.0 // of a large job
	fleetSearches            = 64    // enough for a fleet until they take usualSearchCPUSeconds
	evenSearches             = 8     // more than these come in multiples of them: fleets have 2, 4, 8, 16 … slots
	mostSearches             = 1000  // that nobody has asked for
	bytesPerSearch           = 80_000
	mostSearchesForQueries   = maxQueries / maxShardQueries
)

// Caps of the shards. Time limits leave a factor of twenty over the cost model for slower and shared machines.
const (
	mebibyte          = 1 << 20
	gibibyte          = 1 << 30
	slowdown          = 20
	leastTime         = 15 * time.Minute
	maxLogBytes       = 4 * mebibyte
	documentBytes     = 8 * mebibyte // what a search writes beside its report
	threadBytes       = 256 * mebibyte
	mostDatabaseBytes = 16 * gibibyte // a larger one is read through the page cache
	maxMergedBytes    = 2 * gibibyte  // of hits.jsonl; a larger one is left in its parts
	maxTableBytes     = 4 * gibibyte  // of hits.tsv, which has a tenth of that
	// three bytes for each of the queries' file, whose names may be no text, and 2.5 KB for the rest of each query
	maxResultsBytes     = 448 * mebibyte
	splitScratchBytes   = 4 * maxQueryFileBytes
	processesPerProgram = 16
)

// searchCPUSeconds is what all searches of a job take together; bytes are those of the file of queries.
func (b Blast) searchCPUSeconds(bytes, databaseResidues int64) float64 {
	letters, residues := float64(bytes)*residuesPerQueryFileBytes, float64(databaseResidues)
	if b.program == IDNucleotide {
		return startCPUSeconds + letters*(baseCPUSeconds+basePairCPUSeconds*residues) + scanCPUSecondsPerBase*residues
	}
	return startCPUSeconds + letters*(residueCPUSeconds+residuePairCPUSeconds*residues)
}

// searches is how many tasks search: as many as the caller wants; else enough for a fleet, for the bound on a task's queries, and
// for their reports, should every query find as much as it may.
func (b Blast) searches(q request) int {
	if q.taskCount > 0 {
		return q.taskCount
	}
	bytes := queryBytes(q.queries)
	work := b.searchCPUSeconds(bytes, q.database.Residues)
	forTime := math.Max(math.Min(work/shortestSearchCPUSeconds, fleetSearches), work/usualSearchCPUSeconds)
	forQueries := math.Min(float64(bytes)/bytesPerSearch, mostSearchesForQueries)
	hits := math.Min(float64(q.maxHits), float64(q.database.Sequences)) * b.usualQueries(q)
	forReports := hits * hitBytes / mostOutputBytes
	count := int(math.Ceil(math.Min(max(forTime, forQueries, forReports, 1), mostSearches)))
	if count <= evenSearches {
		return 1 << int(math.Ceil(math.Log2(float64(count))))
	}
	return (count + evenSearches - 1) / evenSearches * evenSearches
}

// usualQueries is how many queries a file of its size holds as a rule.
func (b Blast) usualQueries(q request) float64 {
	if b.program == IDNucleotide {
		return float64(queryBytes(q.queries)) / usualBytesPerTranscript
	}
	return float64(queryBytes(q.queries)) / usualBytesPerProtein
}

func queryBytes(queries engines.Object) int64 {
	if queries.ByteSize > 0 {
		return queries.ByteSize
	}
	return usualQueryFileBytes
}

// roundCPUSeconds keeps plans free of digits that mean nothing.
func roundCPUSeconds(seconds float64) float64 { return math.Max(math.Round(seconds*10)/10, 0.1) }

func splitNeeds() engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: gibibyte, FileBytes: splitScratchBytes, Processes: processesPerProgram, TimeLimit: leastTime,
		MaxLogBytes: mebibyte, ScratchBytes: splitScratchBytes,
	}
}

// searchNeeds allows for the program, the database that it maps into its memory, and the results of the queries that it searches
// at once.
func searchNeeds(q request, expectedCPUSeconds float64) engines.Resources {
	var databaseBytes int64
	for _, file := range q.database.Files {
		databaseBytes += file.ByteSize
	}
	limit := q.timeout
	if limit == 0 {
		work := math.Min(slowdown*expectedCPUSeconds, mostTimeout.Seconds()) // before the conversion, which could overflow
		limit = min(leastTime+time.Duration(work)*time.Second, mostTimeout)
	}
	return engines.Resources{
		CPUs: q.threads, MemoryBytes: gibibyte + min(databaseBytes, mostDatabaseBytes) + int64(q.threads)*threadBytes,
		FileBytes: q.maxOutputBytes + documentBytes, Processes: processesPerProgram + 2*q.threads, TimeLimit: limit,
		MaxLogBytes: maxLogBytes, ScratchBytes: q.maxOutputBytes + 2*documentBytes,
	}
}

func mergeNeeds() engines.Resources {
	return engines.Resources{
		CPUs: 1, MemoryBytes: 2 * gibibyte, FileBytes: maxTableBytes, Processes: processesPerProgram, TimeLimit: 4 * leastTime,
		MaxLogBytes: mebibyte, ScratchBytes: maxMergedBytes + maxTableBytes + maxResultsBytes,
	}
}
