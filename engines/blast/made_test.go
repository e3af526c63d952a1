package blast

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	aminoAcids = "ARNDCQEGHILKMFPSTWYV"
	bases      = "ACGT"

	repeatBases = 300 // as long as an Alu
)

// descendant is a stretch of a sequence as evolution may have left it: of its letters some are others, lost or gained.
func descendant(random *rand.Rand, ancestor, letters string, mostChanged float64) string {
	length := min(len(ancestor), 40+random.IntN(200))
	from := random.IntN(len(ancestor) - length + 1)
	changed := mostChanged * (0.2 + 0.8*random.Float64())
	var made strings.Builder
	for _, letter := range ancestor[from : from+length] {
		switch p := random.Float64(); {
		case p < changed*0.05: // lost
		case p < changed*0.1:
			made.WriteString(string(letter) + stranger(random, 1+random.IntN(6), letters))
		case p < changed:
			made.WriteString(stranger(random, 1, letters))
		default:
			made.WriteRune(letter)
		}
	}
	return made.String()
}

// stranger is a sequence that is nobody's relative.
func stranger(random *rand.Rand, length int, letters string) string {
	made := make([]byte, length)
	for i := range made {
		made[i] = letters[random.IntN(len(letters))]
	}
	return string(made)
}

// proteins writes proteins of one to four domains to a file of the test. Half of the domains descend from the real proteins in
// testdata, most of the others are nobody's relatives, and some are what BLAST+ treats in a way of its own: one letter many times,
// or the letter for any. The same seed gives the same proteins.
func proteins(t *testing.T, seed uint64, count int) string {
	t.Helper()
	random, ancestors := rand.New(rand.NewPCG(seed, 0)), readFasta(t, "testdata/proteins.faa")
	var fasta strings.Builder
	for i := range count {
		fmt.Fprintf(&fasta, ">made%d.%d a made protein\n", seed, i)
		for range 1 + random.IntN(4) {
			switch random.IntN(16) {
			case 0, 1, 2, 3, 4, 5:
				fasta.WriteString(stranger(random, 50+random.IntN(200), aminoAcids))
			case 6:
				fasta.WriteString(strings.Repeat(stranger(random, 1, aminoAcids), 30))
			case 7:
				fasta.WriteString(strings.Repeat("X", 5))
			default:
				fasta.WriteString(descendant(random, ancestors[random.IntN(len(ancestors))].letters, aminoAcids, 0.5))
			}
			fasta.WriteString("\n")
		}
		fasta.WriteString(stranger(random, 20, aminoAcids) + "\n") // what is of few kinds of letters is refused as nucleotides
	}
	return writeFile(t, fasta.String())
}

// genomes writes long stretches of DNA to a file of the test, in which relatives of the chimpanzee's DNA in testdata are
// scattered on both strands, as repeats are in genomes. The same seed gives the same stretches.
func genomes(t *testing.T, seed uint64, repeats ...int) string {
	t.Helper()
	random, ancestors := rand.New(rand.NewPCG(seed, 0)), readFasta(t, "testdata/chimp.fna")
	var fasta strings.Builder
	for i, count := range repeats {
		fmt.Fprintf(&fasta, ">chr%d.%d\n", seed, i)
		for range count {
			ancestor := ancestors[random.IntN(len(ancestors))].letters
			from := repeatBases * random.IntN(3)
			repeat := descendant(random, strings.ToUpper(ancestor[from:from+repeatBases]), bases, 0.12)
			if random.IntN(2) == 0 {
				repeat = otherStrand(repeat)
			}
			fasta.WriteString(stranger(random, 500+random.IntN(3000), bases) + "\n" + strings.ToLower(repeat) + "\n")
		}
	}
	return writeFile(t, fasta.String())
}

func otherStrand(dna string) string {
	complement := strings.NewReplacer("A", "T", "T", "A", "C", "G", "G", "C").Replace(dna)
	made := make([]byte, len(complement))
	for i := range made {
		made[len(made)-1-i] = complement[i]
	}
	return string(made)
}
