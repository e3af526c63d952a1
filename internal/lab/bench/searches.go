package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/client"
)

const (
	searchQueries  = 400
	searchDatabase = "bench"
	searchTable    = "hits.tsv"
	// maxProteinBytes bounds the proteins that are searched, uncompressed.
	maxProteinBytes = 256 << 20
	// maxTableBytes bounds the table of hits that is compared.
	maxTableBytes = 256 << 20
)

// searching is the workload B9: queries against a database of proteins that holds them.
type searching struct {
	system  *system
	slots   int
	home    string // of the system
	program string // this program
	folder  string // of the bare program's files
	queries client.Uploaded
	source  string // what the proteins are

	bareTable []byte    // what the bare program printed last
	whole     []float64 // seconds of each job from its submission to its end
	hits      int
}

// newSearching takes the proteins of a FASTA, or makes some where path is "", and builds the database twice: in the registry of the
// system, and for the bare program.
func newSearching(ctx context.Context, s *system, o Options, home, folder string) (*searching, error) {
	w := &searching{system: s, slots: o.Slots, home: home, program: o.Program, folder: folder}
	fasta, err := w.proteins(o.Proteins)
	if err != nil {
		return nil, err
	}
	records := strings.SplitAfterN(string(fasta), "\n>", searchQueries+1)
	if len(records) <= searchQueries {
		return nil, fmt.Errorf("the proteins (--proteins) are %d; give more than the %d that are searched for", len(records),
			searchQueries)
	}
	queries := []byte(strings.TrimSuffix(strings.Join(records[:searchQueries], ""), ">"))
	if err := errors.Join(os.WriteFile(w.file("proteins.faa"), fasta, 0o600),
		os.WriteFile(w.file("queries.faa"), queries, 0o600)); err != nil {
		return nil, err
	}
	if err := w.run(ctx, "makeblastdb", "-in", w.file("proteins.faa"), "-dbtype", "prot", "-out", w.file("bare")); err != nil {
		return nil, err
	}
	if err := w.run(ctx, w.program, "blastdb", "add", w.file("proteins.faa"), "--name", searchDatabase, "--version", "1", "--home",
		w.home); err != nil {
		return nil, err
	}
	w.queries, err = s.api.UploadFile(ctx, w.file("queries.faa"))
	return w, err
}

func (w *searching) file(name string) string { return filepath.Join(w.folder, name) }

func (w *searching) run(ctx context.Context, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Env = append(os.Environ(), "BLAST_USAGE_REPORT=false")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", filepath.Base(name), err, said)
	}
	return nil
}

// proteins reads a FASTA, compressed with gzip or not.
func (w *searching) proteins(path string) ([]byte, error) {
	if path == "" {
		w.source = fmt.Sprintf("made proteins (%d families of %d)", madeFamilies, madeMembers)
		return madeProteins(), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the proteins (--proteins): %w", err)
	}
	defer file.Close()
	w.source = "proteins of " + filepath.Base(path)
	var content io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if content, err = gzip.NewReader(file); err != nil {
			return nil, fmt.Errorf("the proteins (--proteins): %w", err)
		}
	}
	fasta, err := io.ReadAll(io.LimitReader(content, maxProteinBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the proteins (--proteins): %w", err)
	case len(fasta) > maxProteinBytes || !bytes.HasPrefix(fasta, []byte(">")):
		return nil, fmt.Errorf("the proteins (--proteins) %s: no FASTA of at most %d bytes", path, maxProteinBytes)
	}
	return fasta, nil
}

// Proteins that are made where no real ones are given: families whose members differ from an ancestor in a part of their residues.
const (
	madeFamilies = 2000
	madeMembers  = 10
	madeSeed     = 42
	leastLetters = 80
	moreLetters  = 560 // a made protein has up to so many more
)

// residueLetters has each amino acid about as often as the proteins of UniProtKB/Swiss-Prot have it, of 100 (its release
// statistics).
const residueLetters = "AAAAAAAACCDDDDDEEEEEEEFFFFGGGGGGGHHIIIIIIKKKKKKLLLLLLLLLLMMNNNNPPPPPQQQQRRRRRRSSSSSSSTTTTTVVVVVVVWYYY"

// madeProteins writes the families member by member, so that the first queries are of different families.
func madeProteins() []byte {
	random := rand.New(rand.NewPCG(madeSeed, madeSeed)) //nolint:gosec // every run is to make the same proteins
	letter := func() byte { return residueLetters[random.IntN(len(residueLetters))] }
	ancestors := make([][]byte, madeFamilies)
	for i := range ancestors {
		ancestors[i] = make([]byte, leastLetters+random.IntN(moreLetters))
		for j := range ancestors[i] {
			ancestors[i][j] = letter()
		}
	}
	var fasta bytes.Buffer
	for member := range madeMembers {
		for family, ancestor := range ancestors {
			changed := bytes.Clone(ancestor)
			for range len(changed) * member / madeMembers {
				changed[random.IntN(len(changed))] = letter()
			}
			fmt.Fprintf(&fasta, ">m%d_%d made protein, family %d\n%s\n", family, member, family, changed)
		}
	}
	return fasta.Bytes()
}

// searchBare searches all queries with the bare program, with as many threads as the fabric has slots, and returns the seconds it
// took.
func (w *searching) searchBare(ctx context.Context) (float64, error) {
	began := time.Now()
	err := w.run(ctx, "blastp", "-query", w.file("queries.faa"), "-db", w.file("bare"), "-outfmt", "6", "-num_threads",
		fmt.Sprint(w.slots), "-out", w.file("bare.tsv"))
	took := time.Since(began).Seconds()
	if err != nil {
		return 0, err
	}
	w.bareTable, err = os.ReadFile(w.file("bare.tsv"))
	w.hits = bytes.Count(w.bareTable, []byte("\n"))
	return took, err
}

// searchFabric searches them as a job, checks that its table is the bare program's, and returns the seconds from the start of the
// first search to the end of the last.
func (w *searching) searchFabric(ctx context.Context) (float64, error) {
	began := time.Now()
	receipt, err := w.system.api.Submit(ctx, map[string]any{
		"jobType": "simulation", "simulator": blast.IDProtein, "sceneFile": w.queries.StorageKey,
		"simulationParams": map[string]any{"blastDatabaseName": searchDatabase},
	}, "")
	if err != nil {
		return 0, err
	}
	if err := w.system.await(ctx, receipt.Body.JobID); err != nil {
		return 0, err
	}
	w.whole = append(w.whole, time.Since(began).Seconds())
	if err := w.compareTables(ctx, receipt.Body.JobID); err != nil {
		return 0, err
	}
	return stageSpan(ctx, w.system.db, receipt.Body.JobID, "search")
}

// compareTables wants a job's hits, with their scores and expectation values, to be the bare program's to the byte.
func (w *searching) compareTables(ctx context.Context, jobID string) error {
	if w.bareTable == nil {
		return nil // the bare program has not run yet
	}
	outputs, err := w.system.api.AllOutputs(ctx, jobID)
	if err != nil {
		return err
	}
	for _, output := range outputs.Body.Outputs {
		if output.Name != searchTable {
			continue
		}
		table, err := w.system.api.FetchOutput(ctx, jobID, output, maxTableBytes)
		if err != nil {
			return err
		}
		if _, rows, _ := bytes.Cut(table, []byte("\n")); !bytes.Equal(rows, w.bareTable) {
			return fmt.Errorf("job %s: %s has %d bytes of hits that are not the %d of the bare program", jobID, searchTable,
				len(rows), len(w.bareTable))
		}
		return nil
	}
	return fmt.Errorf("job %s has no %s", jobID, searchTable)
}

// search measures B9.
func (w *searching) search(ctx context.Context, pairs int, told func(string)) (Result, error) {
	result := Result{
		ID: "B9", Name: "BLAST shards", Peer: fmt.Sprintf("one `blastp -num_threads %d` over all queries", w.slots),
		Workload: fmt.Sprintf("%d queries against %s, default parameters, %d cores; of the fabric, from the start of the first "+
			"search to the end of the last, the database in the worker's cache",
			searchQueries, w.source, w.slots),
		Goal: "≥ 0.95, the same hits", MeasuredAt: time.Now().UTC(),
	}
	for _, warmUp := range []Arm{w.searchBare, w.searchFabric} {
		if _, err := warmUp(ctx); err != nil {
			return result, err
		}
	}
	w.whole = nil
	var err error
	if result.Comparison, err = compare(ctx, "s of the search", pairs, w.searchFabric, w.searchBare, told); err != nil {
		return result, err
	}
	result.Met = result.Comparison.Median >= 0.95
	var ratios []float64
	for i, peer := range result.Comparison.Peer {
		ratios = append(ratios, peer/w.whole[i])
	}
	result.Figures = map[string]float64{"wholeJobRatio": median(ratios), "wholeJobSeconds": median(w.whole),
		"hits": float64(w.hits)}
	result.Notes = []string{"every job's table of hits, with scores and expectation values, is the bare program's to the byte",
		"the fabric's searches also write every alignment, and the whole job cuts the queries and joins the results, which the " +
			"bare program does not"}
	return result, nil
}
