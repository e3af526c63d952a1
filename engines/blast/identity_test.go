package blast

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// TestShardedSearchIsOneSearch searches the 500 proteins in 1, 3 and 7 parts: hits, scores, expectation values and the table's
// bytes are those of one bare run over all of them.
func TestShardedSearchIsOneSearch(t *testing.T) {
	t.Parallel()
	queries := proteins(t, 1, 500)
	found, files := database(t, proteins(t, 2, 30), TypeProtein, "proteins")
	want := runBare(t, NewProtein(), queries, folderOf(files), "proteins")
	for _, tasks := range []int{1, 3, 7} {
		t.Run(fmt.Sprintf("%d tasks", tasks), func(t *testing.T) {
			t.Parallel()
			r, objects := searchOf(`{}`, tasks, queries, found, files)
			outcome := enginestest.Drive(t, NewProtein(), r, objects)
			wantIdentical(t, outcome, want)
			wantEvenParts(t, outcome, tasks)
			if counts := resultsOf(t, outcome).Counts; counts.Total != 500 || counts.Completed != 500 {
				t.Errorf("the results count %+v, want 500 queries", counts)
			}
			if log := outcome.Logs[searchName(1)]; tasks == 1 && strings.Count(log, " of 500 queries") < 2 {
				t.Errorf("the search does not tell how many queries are done:\n%s", log)
			}
		})
	}
}

// wantEvenParts wants parts that differ by less than their longest query.
func wantEvenParts(t *testing.T, outcome *enginestest.Outcome, tasks int) {
	t.Helper()
	summary, err := readSplit(outcome.Results[shardSplit].Summary, tasks)
	if err != nil {
		t.Fatal(err)
	}
	const longest = 3000 // residues, of the 500 proteins
	for _, part := range summary.Parts {
		if off := part.Residues - summary.Residues/int64(tasks); len(summary.Parts) != tasks || off > longest || off < -longest {
			t.Errorf("part %s of %d has %d of %d residues", part.Name, len(summary.Parts), part.Residues, summary.Residues)
		}
	}
}

// TestLimitsAreThoseOfABareRun: the bounds on hits and expectation values mean what BLAST+ means by them, whatever the threads.
func TestLimitsAreThoseOfABareRun(t *testing.T) {
	t.Parallel()
	queries := proteins(t, 1, 120)
	found, files := database(t, proteins(t, 2, 600), TypeProtein, "proteins")
	want := runBare(t, NewProtein(), queries, folderOf(files), "proteins", "-evalue", "0.001", "-max_target_seqs", "5")
	r, objects := searchOf(`{"blastEvalue":0.001,"blastMaxHits":5,"blastThreads":2}`, 4, queries, found, files)
	wantIdentical(t, enginestest.Drive(t, NewProtein(), r, objects), want)
}

// TestGenomes searches two long stretches of DNA in another for the repeats that they share, on both strands.
func TestGenomes(t *testing.T) {
	t.Parallel()
	queries := genomes(t, 1, 12, 16)
	found, files := database(t, genomes(t, 2, 14), TypeNucleotide, "genome")
	want := runBare(t, NewNucleotide(), queries, folderOf(files), "genome")
	for _, tasks := range []int{1, 2, 3} {
		r, objects := searchOf(`{}`, tasks, queries, found, files)
		outcome := enginestest.Drive(t, NewNucleotide(), r, objects)
		wantIdentical(t, outcome, want)
		all := strings.Count(hitRows(t, outcome), "\n")
		minus := strings.Count(string(read(t, outcome.Dirs[shardMerge].Out(HitsFile))), `"subjectStrand":"minus"`)
		if all != 22 || minus == 0 || minus == all {
			t.Errorf("%d alignments, %d of them on the other strand; want 22 on both", all, minus)
		}
	}
}

// TestForeignHeadersAreThoseOfABareRun: names are what BLAST+ makes of them, also where it makes up its own.
func TestForeignHeadersAreThoseOfABareRun(t *testing.T) {
	t.Parallel()
	letters := readFasta(t, "testdata/proteins.faa")[0].letters
	var fasta strings.Builder
	for _, header := range []string{
		"", " spaced  title", "lcl|local t", "#hash", "twice a", "twice b", "gi|7525080|ref|NP_051037.1| ribosomal",
		"tab\tand more", strings.Repeat("long", 62) + "id t", "ünïcode tïtle", "two\x01names here", "pdb|1ABC|A x",
		"sp|P12345|X_Y z", ">double", "12345", "Query_3 mine", `"quoted" "part":1,`, "back\\slash",
	} {
		fmt.Fprintf(&fasta, ">%s\r\n;a comment\n%s\n! another\n%s-\n", header, strings.ToLower(letters[:60]), letters[60:])
	}
	fasta.WriteString(">odd letters\n" + strings.NewReplacer("L", "U", "P", "O", "A", "J").Replace(letters) + "*\n")
	queries := writeFile(t, fasta.String())
	found, files := database(t, "testdata/proteins.faa", TypeProtein, "chloroplast")
	r, objects := searchOf(`{"blastEvalue":1e-10}`, 4, queries, found, files)
	wantIdentical(t, enginestest.Drive(t, NewProtein(), r, objects), runBare(t, NewProtein(), queries, folderOf(files),
		"chloroplast", "-evalue", "1e-10"))
}

type xmlReport struct {
	Iterations []struct {
		Hits []struct {
			HSPs []struct {
				Query   string `xml:"Hsp_qseq"`
				Subject string `xml:"Hsp_hseq"`
				Midline string `xml:"Hsp_midline"`
			} `xml:"Hit_hsps>Hsp"`
		} `xml:"Iteration_hits>Hit"`
	} `xml:"BlastOutput_iterations>Iteration"`
}

// TestMidlinesAreThoseOfBLAST compares the line between two sequences, which the tabular format lacks, with that of BLAST+'s XML.
func TestMidlinesAreThoseOfBLAST(t *testing.T) {
	t.Parallel()
	// Every pair of letters, between stretches that are sure to be aligned.
	const letters, anchor = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*", "WCHWMYWKFDWE"
	var query, subject strings.Builder
	for _, a := range letters {
		for _, b := range letters {
			query.WriteString(anchor + string(a))
			subject.WriteString(anchor + string(b))
		}
	}
	pairs := writeFile(t, ">pairs\n"+subject.String()+"\n")
	for _, c := range []struct{ name, program, sequences, queries, kind string }{
		{"pairs of letters", IDProtein, pairs, writeFile(t, ">pairs\n"+query.String()+"\n"), TypeProtein},
		{"proteins", IDProtein, "testdata/proteins.faa", "testdata/queries.faa", TypeProtein},
		{"nucleotides", IDNucleotide, "testdata/chimp.fna", "testdata/human.fna", TypeNucleotide},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, files := database(t, c.sequences, c.kind, "database")
			r, objects := searchOf(`{"blastMaxOutputBytes":67108864}`, 1, c.queries, found, files)
			outcome := enginestest.Drive(t, Blast{program: c.program}, r, objects)
			var report xmlReport
			if err := xml.Unmarshal(bare(t, c.program, c.queries, folderOf(files), "database", "-outfmt", "5"),
				&report); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, iteration := range report.Iterations {
				for _, hit := range iteration.Hits {
					for _, h := range hit.HSPs {
						want[h.Query+"/"+h.Subject] = h.Midline
					}
				}
			}
			compared := 0
			for _, line := range strings.Split(strings.TrimSpace(string(read(t, outcome.Dirs[shardMerge].Out(HitsFile)))), "\n") {
				var hit Hit
				if err := json.Unmarshal([]byte(line), &hit); err != nil {
					t.Fatal(err)
				}
				for _, h := range hit.HSPs {
					compared++
					if w := want[h.QueryAlignment+"/"+h.SubjectAlignment]; w != h.Midline {
						t.Errorf("%s", pairsThatDiffer(h, w))
					}
				}
			}
			if compared == 0 || compared < len(want) {
				t.Errorf("compared %d alignments of %d", compared, len(want))
			}
		})
	}
}

func pairsThatDiffer(h HSP, want string) string {
	if len(want) != len(h.Midline) {
		return fmt.Sprintf("BLAST+ has no such alignment, or one with %d columns of %d", len(want), len(h.Midline))
	}
	var pairs strings.Builder
	for i := range want {
		if want[i] != h.Midline[i] {
			fmt.Fprintf(&pairs, "%c over %c: got %q, want %q; ", h.QueryAlignment[i], h.SubjectAlignment[i], h.Midline[i], want[i])
		}
	}
	return pairs.String()
}
