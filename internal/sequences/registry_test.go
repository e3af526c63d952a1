package sequences

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// bed is a registry on stores of its own.
type bed struct {
	*Registry
	t       *testing.T
	objects *object.Store
}

func open(t *testing.T) *bed {
	t.Helper()
	needBlast(t)
	objects, _ := objecttest.New(t)
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	return &bed{New(Deps{DB: pgtest.New(t), Objects: objects, Log: slog.New(slog.DiscardHandler), Now: now}), t, objects}
}

// needBlast skips the test, or fails it, without NCBI's programs.
func needBlast(t *testing.T) {
	t.Helper()
	_, err := builderVersion(t.Context())
	serverstest.Check(t, err)
}

// globins is a source of the proteins in testdata.
func globins() Source {
	return Source{Path: "testdata/proteins.fasta", Name: "globins", Version: "1.0", ReleasedOn: "2026-01-28"}
}

func (b *bed) add(source Source, want Outcome) Database {
	b.t.Helper()
	d, outcome, err := b.Add(b.t.Context(), source, nil)
	if err != nil || outcome != want {
		b.t.Fatalf("adding %s %s: got %s, %v, want %s", source.Name, source.Version, outcome, err, want)
	}
	return d
}

// fetched writes a database's files into a folder, as a worker would.
func (b *bed) fetched(d Database) string {
	b.t.Helper()
	dir := b.t.TempDir()
	for _, f := range d.Files {
		if _, err := b.objects.GetFile(b.t.Context(), d.Key(f.Name), filepath.Join(dir, f.Name), f.SHA256, f.ByteSize); err != nil {
			b.t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return string(output)
}

func TestAddedDatabasesAreSearched(t *testing.T) {
	t.Parallel()
	b := open(t)
	d := b.add(globins(), Added)
	if d.Type != Protein || d.Sequences != 6 || d.Residues != 657 || d.Title != "globins 1.0" || d.ReleasedOn != "2026-01-28" ||
		d.Bytes == 0 || !strings.HasPrefix(d.Program, "makeblastdb 2.") {
		t.Errorf("got %+v", d)
	}
	dir := b.fetched(d)
	if sum := strings.Fields(run(t, dir, "sh", "-c", "LC_ALL=C; export LC_ALL; sha256sum * | sha256sum"))[0]; sum != d.Checksum {
		t.Errorf("checksum %s, want %s as sha256sum gives it", d.Checksum, sum)
	}
	// Every id comes back as the FASTA has it, whatever BLAST+ thinks of it.
	var want []string
	fasta, err := os.ReadFile("testdata/proteins.fasta")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(fasta)) {
		if header, ok := strings.CutPrefix(line, ">"); ok {
			want = append(want, strings.Fields(header)[0])
		}
	}
	query, err := filepath.Abs("testdata/proteins.fasta")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(run(t, dir, "blastp", "-db", "globins", "-query", query, "-outfmt", "6 saccver"))
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("hits are called %q, want %q", got, want)
	}
	if info := run(t, dir, "blastdbcmd", "-db", "globins", "-info"); !strings.Contains(info, "Database: globins 1.0") ||
		!strings.Contains(info, "Date: Jan 28, 2026  12:00 AM") {
		t.Errorf("blastdbcmd says %s", info)
	}

	nucleotides := b.add(Source{Path: "testdata/nucleotides.fasta", Name: "contigs", Version: "1", Title: "Two contigs"}, Added)
	if nucleotides.ReleasedOn != "2026-03-01" || nucleotides.Type != Nucleotide || nucleotides.Sequences != 2 ||
		nucleotides.Residues != 240 || nucleotides.Title != "Two contigs" {
		t.Errorf("got %+v", nucleotides)
	}
	for typ, want := range map[string][]string{"": {"contigs 1", "globins 1.0"}, Protein: {"globins 1.0"},
		Nucleotide: {"contigs 1"}} {
		list, err := b.List(t.Context(), typ)
		if names := namesAndVersions(list); err != nil || !slices.Equal(names, want) {
			t.Errorf("list of %q: got %v, %v, want %v", typ, names, err, want)
		}
	}
	found, err := b.Find(t.Context(), Selection{Type: Protein})
	if err != nil || found.Checksum != d.Checksum || len(found.Files) != len(d.Files) || !found.CreatedAt.Equal(d.CreatedAt) {
		t.Errorf("found %+v, %v, want %+v", found, err, d)
	}
}

func namesAndVersions(list []Database) []string {
	var names []string
	for _, d := range list {
		names = append(names, d.String())
	}
	return names
}

// TestTheSameGivesTheSame: a checksum depends on the FASTA and its description, not on when and where it was built.
func TestTheSameGivesTheSame(t *testing.T) {
	t.Parallel()
	needBlast(t)
	first, err := Build(t.Context(), globins(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	second, err := Build(t.Context(), globins(), dir, nil)
	if err != nil || second.Checksum != first.Checksum {
		t.Errorf("a second build: got %s, %v, want %s", second.Checksum, err, first.Checksum)
	}
	index := filepath.Join(dir, "globins.pin")
	want, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"2026-01-02", "2025-12-31", "2026-01-28"} { // of several lengths when written out
		date, err := time.Parse(dateForm, day)
		if err != nil {
			t.Fatal(err)
		}
		if totals, err := restamp(index, date); err != nil || totals != (indexTotals{6, 657}) {
			t.Errorf("%s: got %+v, %v", day, totals, err)
		}
		if info := run(t, dir, "blastdbcmd", "-db", "globins", "-info"); !strings.Contains(info, date.Format(stampForm)) {
			t.Errorf("%s: blastdbcmd says %s", day, info)
		}
	}
	if got, err := os.ReadFile(index); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the index depends on the dates that it had before, %v", err)
	}
	for cut := range min(len(want), 80) {
		if err := os.WriteFile(index, want[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := restamp(index, time.Now()); err == nil {
			t.Errorf("an index of %d bytes was taken", cut)
		}
	}
}

func TestANameAndVersionNeverChange(t *testing.T) {
	t.Parallel()
	b := open(t)
	first := b.add(globins(), Added)
	if again := b.add(globins(), Known); again.Checksum != first.Checksum {
		t.Errorf("got %+v, want %+v", again, first)
	}
	text, err := os.ReadFile(globins().Path)
	if err != nil {
		t.Fatal(err)
	}
	packed := globins()
	packed.Path = written(t, zipped(t, string(text)))
	packed.ReleasedOn = ""
	b.add(packed, Known)
	refused := func(name, want string, change func(*Source)) {
		t.Helper()
		source := globins()
		change(&source)
		if got, outcome, err := b.Add(t.Context(), source, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v %s, %v, want an error with %q", name, got, outcome, err, want)
		}
	}
	refused("content", "globins 1.0 is there with another content",
		func(s *Source) { s.Path = written(t, string(text)+">more\nMEFIL\n") })
	refused("title", "another title", func(s *Source) { s.Title = "Globins" })
	refused("date", "another date", func(s *Source) { s.ReleasedOn = "2026-01-29" })
	refused("name's form", "name: \"-globins\"", func(s *Source) { s.Name = "-globins" })
	refused("version's form", "version: \"1/0\"", func(s *Source) { s.Version = "1/0" })
	refused("no day", "date: \"2026-02-30\"", func(s *Source) { s.ReleasedOn = "2026-02-30" })
	refused("type's name", "allowed are prot and nucl", func(s *Source) { s.Type = "protein" })
	refused("title's letters", "title: ", func(s *Source) { s.Title = "Globins\n" })
	refused("proteins as nucleotides", "no database of type nucl", func(s *Source) { s.Type = Nucleotide })
	refused("no file", "no such file", func(s *Source) { s.Path = "testdata/none.fasta" })

	second := globins()
	second.Version, second.ReleasedOn = "2.0", "2026-02-15"
	b.add(second, Added)
	if d, err := b.Find(t.Context(), Selection{Type: Protein, Name: "globins"}); err != nil || d.Version != "2.0" {
		t.Errorf("found %s, %v, want the newest", d, err)
	}
	if d, err := b.Retire(t.Context(), "globins", "2.0"); err != nil || d.RetiredAt == nil {
		t.Errorf("retired %+v, %v", d, err)
	}
	if d, err := b.Find(t.Context(), Selection{Type: Protein, Name: "globins"}); err != nil || d.Version != "1.0" {
		t.Errorf("found %s, %v, want the one that is left", d, err)
	}
	if all, err := b.All(t.Context()); err != nil || !slices.Equal(namesAndVersions(all), []string{"globins 2.0", "globins 1.0"}) {
		t.Errorf("all are %v, %v", all, err)
	}
	b.fetched(b.add(second, Returned))
	b.add(second, Known)
	var unknown *UnknownError
	if _, err := b.Retire(t.Context(), "globins", "3.0"); !errors.As(err, &unknown) ||
		!strings.Contains(err.Error(), "globins 2.0") {
		t.Errorf("retiring what is not there: %v", err)
	}
}

func TestManyAddTheSameAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	var group sync.WaitGroup
	outcomes := make([]Outcome, 4)
	for i := range outcomes {
		group.Go(func() {
			var err error
			if _, outcomes[i], err = b.Add(t.Context(), globins(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	slices.Sort(outcomes)
	if want := []Outcome{Added, Known, Known, Known}; !slices.Equal(outcomes, want) {
		t.Errorf("got %v, want %v", outcomes, want)
	}
	// Without the lock, the key of the table decides.
	d, _, err := b.store.one(t.Context(), "globins", "1.0")
	if err != nil {
		t.Fatal(err)
	}
	d.Checksum = strings.Repeat("0", 64)
	if inserted, err := b.store.insert(t.Context(), d); err != nil || inserted {
		t.Errorf("another content was inserted: %v, %v", inserted, err)
	}
}

func TestDamageIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	b := open(t)
	d := b.add(globins(), Added)
	verify := func(step string, want ...string) {
		t.Helper()
		damages, err := b.Verify(t.Context(), d, func(int64, int64) {})
		var got []string
		for _, one := range damages {
			got = append(got, one.File+": "+one.Problem)
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: got %q, %v, want %q", step, got, err, want)
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%s: got %q, want %q", step, got[i], want[i])
			}
		}
	}
	verify("at first")
	file := func(ending string) File {
		return d.Files[slices.IndexFunc(d.Files, func(f File) bool { return f.Name == "globins."+ending })]
	}
	overwrite := func(ending string, content []byte) {
		t.Helper()
		if _, err := b.objects.Put(t.Context(), d.Key("globins."+ending), bytes.NewReader(content), fileType, ""); err != nil {
			t.Fatal(err)
		}
	}
	overwrite("psq", bytes.Repeat([]byte{1}, int(file("psq").ByteSize)))
	overwrite("pin", []byte("short"))
	if err := b.objects.Delete(t.Context(), d.Key("globins.phr")); err != nil {
		t.Fatal(err)
	}
	verify("damaged", "globins.phr: is gone", "globins.pin: has 5 bytes", "globins.psq: has SHA-256")
	b.add(globins(), Repaired)
	verify("repaired")
	d.Checksum = strings.Repeat("0", 64)
	damages, err := b.Verify(t.Context(), d, func(int64, int64) {})
	if err != nil || len(damages) != len(d.Files)+1 || !strings.Contains(damages[0].Problem, "give the checksum") {
		t.Errorf("another checksum: got %+v, %v", damages, err)
	}
}

func TestLargeOnesHaveVolumes(t *testing.T) {
	t.Parallel()
	b := open(t)
	var fasta strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&fasta, ">protein_%d\n%s%s\n", i, strings.Repeat(peptide, 40), strings.Repeat("A", i%20))
	}
	source := globins()
	source.Path, source.volumeBytes = written(t, fasta.String()), 1_000_000
	var mu sync.Mutex
	var steps []string
	d, _, err := b.Add(t.Context(), source, func(step string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if done == total && !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	})
	if err != nil || d.Sequences != 2000 || !slices.Equal(steps, []string{StepRead, StepBuild, StepStore}) {
		t.Fatalf("got %s after %v, %v", d, steps, err)
	}
	dir := b.fetched(d)
	alias, err := os.ReadFile(filepath.Join(dir, "globins.pal"))
	if err != nil || !strings.Contains(string(alias), "# Alias file created: Jan 28, 2026  12:00 AM\n") ||
		!strings.Contains(string(alias), "globins.02") {
		t.Errorf("the alias file is %q, %v", alias, err)
	}
	if info := run(t, dir, "blastdbcmd", "-db", "globins", "-info"); !strings.Contains(info, "2,000 sequences") ||
		!strings.Contains(info, "Date: Jan 28, 2026") {
		t.Errorf("blastdbcmd says %s", info)
	}
	if damages, err := b.Verify(t.Context(), d, func(int64, int64) {}); err != nil || len(damages) > 0 {
		t.Errorf("got %v, %v", damages, err)
	}
}

func TestWithoutMakeblastdb(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), globins(), t.TempDir(), nil)
	var missing *servers.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "apt-get install ncbi-blast+") {
		t.Errorf("got %v", err)
	}
}

func TestTheProgramsOwnRefusals(t *testing.T) {
	t.Parallel()
	needBlast(t)
	for printed, want := range map[string]string{
		"": "it gave no reason",
		"\n\nBuilding a new DB, current time: x\nNew DB name:   y\nSequence type: Protein\nBLAST Database creation error: Error: " +
			"Duplicate seq_ids are found: \nLCL|A\n\n": "Duplicate seq_ids are found:; LCL|A",
	} {
		kept := &tail{}
		_, _ = kept.Write([]byte(printed))
		if got := kept.reason(); got != want {
			t.Errorf("%q: got %q, want %q", printed, got, want)
		}
	}
	kept := &tail{}
	_, _ = kept.Write(bytes.Repeat([]byte("x"), 3*maxOutputBytes))
	if kept.Len() != maxOutputBytes || len(kept.reason()) != maxReasonBytes {
		t.Errorf("%d bytes are kept and %d shown", kept.Len(), len(kept.reason()))
	}
	source := globins()
	held, err := inspect(t.Context(), source.Path, "", func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	changed := held
	changed.SHA256 = strings.Repeat("0", 64)
	if _, err := build(t.Context(), source, changed, "p", t.TempDir(), nil); err == nil ||
		!strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("another file: %v", err)
	}
	fewer := held
	fewer.Residues++
	if _, err := build(t.Context(), source, fewer, "p", t.TempDir(), nil); err == nil ||
		!strings.Contains(err.Error(), "holds 6 sequences of 657 letters, and the FASTA has 6 of 658") {
		t.Errorf("a lost residue: %v", err)
	}
}

// TestManyProteins builds a compressed file of as many proteins as a proteome of an animal has.
func TestManyProteins(t *testing.T) {
	t.Parallel()
	needBlast(t)
	const proteins, length = 30_000, 360
	source := globins()
	source.Path = filepath.Join(t.TempDir(), "many.faa.gz")
	file, err := os.Create(source.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, random, letters := gzip.NewWriter(file), rand.New(rand.NewPCG(1, 0)), [length]byte{}
	for i := range proteins {
		for j := range letters {
			letters[j] = "ACDEFGHIKLMNPQRSTVWY"[random.IntN(20)]
		}
		if _, err := fmt.Fprintf(packed, ">protein%d\n%s\n", i, letters[:]); err != nil {
			t.Fatal(err)
		}
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	built, err := Build(t.Context(), source, t.TempDir(), nil)
	if err != nil || built.Type != Protein || built.Sequences != proteins || built.Residues != proteins*length {
		t.Errorf("got %s with %d sequences of %d residues, %v", built.Database, built.Sequences, built.Residues, err)
	}
}

func TestACancelledAdditionLeavesNoRow(t *testing.T) {
	t.Parallel()
	b := open(t)
	for _, step := range []string{StepRead, StepBuild, StepStore} {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := b.Add(ctx, globins(), func(now string, _, _ int64) {
			if now == step {
				cancel()
			}
		})
		if step == StepStore && err == nil { // the last file was stored when it was told of
			b.add(globins(), Known)
			return
		}
		if all, listErr := b.All(t.Context()); !errors.Is(err, context.Canceled) || listErr != nil || len(all) > 0 {
			t.Errorf("cancelled while %s: got %v, and %v, %v", step, err, all, listErr)
		}
	}
	b.add(globins(), Added)
}
