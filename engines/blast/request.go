package blast

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// What a request gets that does not say. The first two are BLAST+'s own, so that a plain request finds what a plain run finds.
const (
	DefaultEvalue         = 10.0
	DefaultMaxHits        = 500
	DefaultThreads        = 1
	DefaultMaxOutputBytes = mostOutputBytes
)

// Bounds of doc/contract.md §2.2, and of what one job may bring.
const (
	leastEvalue       = 1e-300
	mostEvalue        = 1000.0
	mostHits          = 1000
	mostThreads       = 64
	mostTimeout       = 24 * time.Hour
	leastOutputBytes  = 1 << 10
	mostOutputBytes   = 64 << 20
	maxQueryFileBytes = 64 << 20 // the programs hold a file of queries in memory; a proteome has 40 MB
	maxQueries        = 100_000
	maxProteinLength  = 100_000   // titin, the longest known, has 35,000
	maxBases          = 5_000_000 // what megablast searches at once; a bacterial chromosome
	maxSearches       = engines.MaxShards - 2
)

// request is a request with its defaults filled in.
type request struct {
	queries        engines.Object
	database       engines.SequenceDatabase
	evalue         float64
	maxHits        int
	threads        int
	timeout        time.Duration // 0 when the caller left it to the engine
	maxOutputBytes int64
	taskCount      int // 0 when the caller left it to the engine
}

// resolve checks what the API's schema has checked too, because requests of earlier versions are planned again.
func (b Blast) resolve(r engines.Request) (request, error) {
	p, err := b.paramsOf(r)
	if err != nil {
		return request{}, err
	}
	q := request{
		queries: r.SceneFile, evalue: valueOr(p.Evalue, DefaultEvalue), maxHits: valueOr(p.MaxHits, DefaultMaxHits),
		threads: valueOr(p.Threads, DefaultThreads), timeout: time.Duration(valueOr(p.TimeoutSeconds, 0)) * time.Second,
		maxOutputBytes: valueOr(p.MaxOutputBytes, DefaultMaxOutputBytes), taskCount: r.TaskCount,
	}
	switch {
	case !(q.evalue >= leastEvalue && q.evalue <= mostEvalue):
		return request{}, invalid("blastEvalue", "is %g; it must be %g to %g", q.evalue, leastEvalue, mostEvalue)
	case q.maxHits < 1 || q.maxHits > mostHits:
		return request{}, invalid("blastMaxHits", "is %d; it must be 1 to %d", q.maxHits, mostHits)
	case q.threads < 1 || q.threads > mostThreads:
		return request{}, invalid("blastThreads", "is %d; it must be 1 to %d", q.threads, mostThreads)
	case p.TimeoutSeconds != nil && (*p.TimeoutSeconds < 1 || q.timeout > mostTimeout):
		return request{}, invalid("blastTimeoutSeconds", "is %d; it must be 1 to %.0f", *p.TimeoutSeconds, mostTimeout.Seconds())
	case q.maxOutputBytes < leastOutputBytes || q.maxOutputBytes > mostOutputBytes:
		return request{}, invalid("blastMaxOutputBytes", "is %d; it must be %d to %d", q.maxOutputBytes, leastOutputBytes,
			mostOutputBytes)
	case q.taskCount < 0 || q.taskCount > maxSearches:
		return request{}, invalid("taskCount", "is %d; a search may have 1 to %d tasks", q.taskCount, maxSearches)
	}
	if err := checkQueries(q.queries); err != nil {
		return request{}, err
	}
	if err := b.checkDatabase(p, r.Found.Database); err != nil {
		return request{}, err
	}
	q.database = *r.Found.Database
	return q, nil
}

// paramsOf reads and checks the parameters.
func (b Blast) paramsOf(r engines.Request) (p Params, err error) {
	if p, err = engines.ParamsOf[Params](r); err != nil {
		return p, invalid("simulationParams", "cannot be read: %v", err)
	}
	return p, p.Check(b.program)
}

// Wants is the database that the request selects: one that selects nothing gets the only one that there is.
func (b Blast) Wants(r engines.Request) (engines.Wants, error) {
	p, err := b.paramsOf(r)
	if err != nil {
		return engines.Wants{}, err
	}
	selected := func(field string, value *string) engines.Selected {
		return engines.Selected{Path: field, Value: valueOr(value, "")}
	}
	return engines.Wants{Database: &engines.WantedDatabase{
		Type:  databaseType(b.program),
		Place: selected("blastDatabasePath", p.DatabasePath), Name: selected("blastDatabaseName", p.DatabaseName),
		Version: selected("blastDatabaseVersion", p.DatabaseVersion), ReleasedOn: selected("blastDatabaseDate", p.DatabaseDate),
		Checksum: selected("blastDatabaseChecksum", p.DatabaseChecksum),
	}}, nil
}

// compressed are extensions of files that are not read. The content decides about every other file.
var compressed = map[string]bool{".gz": true, ".zip": true, ".bz2": true, ".xz": true, ".zst": true}

func checkQueries(scene engines.Object) error {
	if scene.StorageKey == "" {
		return invalid("sceneFile", "is missing; give the storage key of the queries (FASTA)")
	}
	if compressed[strings.ToLower(path.Ext(scene.StorageKey))] {
		return invalid("sceneFile", "is compressed; upload the queries as plain FASTA")
	}
	if scene.ByteSize > maxQueryFileBytes {
		return invalid("sceneFile", "has %d bytes; the queries of a job may have at most %d", scene.ByteSize, maxQueryFileBytes)
	}
	return nil
}

// checkDatabase wants a database, the one that the request describes, and of the type that the program searches.
func (b Blast) checkDatabase(p Params, found *engines.SequenceDatabase) error {
	if found == nil {
		return invalid("blastDatabaseName", "names no database of this deployment; its public list tells which there are")
	}
	if want := databaseType(b.program); found.Type != want {
		return invalid("blastDatabaseName", "%s is of type %s; %s searches a database of type %s", found.Name, found.Type,
			b.program, want)
	}
	for _, stated := range []struct {
		field string
		want  *string
		have  string
	}{
		{"blastDatabaseName", p.DatabaseName, found.Name},
		{"blastDatabaseVersion", p.DatabaseVersion, found.Version},
		{"blastDatabaseDate", p.DatabaseDate, found.ReleasedOn},
		{"blastDatabaseChecksum", p.DatabaseChecksum, found.Checksum},
	} {
		if stated.want != nil && !strings.EqualFold(*stated.want, stated.have) {
			return invalid(stated.field, "is %s; the database %s has %s", *stated.want, found.Name, stated.have)
		}
	}
	return checkFiles(found)
}

var databaseFile = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,150}$`)

// checkFiles wants files that can be staged under their names and whose digests the worker can verify: BLAST+ searches a database
// whose index was cut without a word.
func checkFiles(found *engines.SequenceDatabase) error {
	if len(found.Files) == 0 || found.Residues < 1 || found.Sequences < 1 {
		return fmt.Errorf("blast: the database %s has %d files, %d sequences and %d residues", found.Name, len(found.Files),
			found.Sequences, found.Residues)
	}
	for name, object := range found.Files {
		if !databaseFile.MatchString(name) || !strings.HasPrefix(name, found.Name+".") || object.StorageKey == "" ||
			object.SHA256 == "" {
			return fmt.Errorf("blast: the file %q of the database %s has no usable name, key or digest", name, found.Name)
		}
	}
	return nil
}

func valueOr[T any](value *T, otherwise T) T {
	if value != nil {
		return *value
	}
	return otherwise
}

func invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}
