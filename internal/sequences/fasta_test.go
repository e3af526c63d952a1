package sequences

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written writes a text to a file of the test's own.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "some.fasta")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, err := writer.Write([]byte(text))
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

const (
	peptide = "MVLSPADKTNVKAAWGKVGAHAGEYGAEAL"
	bases   = "ATGGTGCATCTGACTCCTGAGGAGAAGTCTG"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, asked, text   string
		typ                 string
		sequences, residues int64
	}{
		{"proteins", "", ">a x\n" + peptide + "\n>b\nMK\n", Protein, 2, 32},
		{"nucleotides", "", ">a\n" + bases + "\n>b\nACGT\n", Nucleotide, 2, 35},
		{"wrapped, with line ends of all kinds", "", ">a\r\n" + peptide[:10] + "\r\n" + peptide[10:] + "\r>b\rMK\r\n\r\n", Protein,
			2, 32},
		{"in small letters, with codes, gaps and stops", "", ">a\n" + strings.ToLower(bases) + "nnnn--nnnn\n", Nucleotide, 1, 41},
		{"stops and gaps of proteins", "", ">a\nMEFIL-*\n", Protein, 1, 7},
		{"comments, and spaces in lines", "", "; old\n>a\n;more\nME FI\tLQ\n", Protein, 1, 6},
		{"short and ambiguous, told to be proteins", Protein, ">a\nGATTACA\n", Protein, 1, 7},
		{"short and ambiguous, told to be nucleotides", Nucleotide, ">a\nGATTACA\n", Nucleotide, 1, 7},
		{"nucleotide letters alone, told to be proteins", Protein, ">a\n" + bases + "\n>b\nMEFIL\n", Protein, 2, 36},
		{"a short one of nucleotide letters among proteins", "", ">a\n" + peptide + "\n>b\nGATTACA\n", Protein, 2, 37},
		{"no line end at last, a space before the id", "", "> a\nMEFIL", Protein, 1, 5},
		{"a description of any bytes", "", ">a \xce\xb1-amylase \x01 b\xff\nMEFIL\n", Protein, 1, 5},
	} {
		for _, text := range []string{c.text, zipped(t, c.text)} {
			want := contents{c.typ, c.sequences, c.residues, digestOf(c.text)}
			if got, err := inspect(t.Context(), written(t, text), c.asked, func(int64, int64) {}); err != nil || got != want {
				t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, want)
			}
		}
	}
}

func TestInspectRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, asked, text, want string }{
		{"nothing", "", "", "holds no sequence"},
		{"empty lines", "", "\n\n", "holds no sequence"},
		{"no header", "", "MEFIL\n", `line 1: begins with 'M'`},
		{"a byte order mark", "", "\xef\xbb\xbf>a\nMEFIL\n", "line 1: begins with byte 0xef"},
		{"a header without id", "", ">a\nMEFIL\n>\nMEFIL\n", "line 3: the header has no id"},
		{"a header of spaces", "", ">  \nMEFIL\n", "line 1: the header has no id"},
		{"an empty sequence", "", ">a\nMEFIL\n>b\n\n>c\nM\n", `line 3: the sequence "b" has no letters`},
		{"an empty sequence at last", "", ">a\nMEFIL\n>b\n", `line 3: the sequence "b" has no letters`},
		{"digits", "", ">a\nMEFIL\nME1\n", `line 3: '1' in the sequence "a"`},
		{"another alphabet", "", ">a\nMEFIL\xc3\xa9\n", `line 2: byte 0xc3 in the sequence "a"`},
		{"an id of other bytes", "", ">tRNA-\xc3\xa9 x\nMEFIL\n", `line 1: the id "tRNA-" goes on with byte 0xc3`},
		{"a long id", "", ">" + strings.Repeat("x", maxIDBytes+1) + "\nMEFIL\n", "more than 250 characters"},
		{"both kinds", "", ">a\nMEFIL\n>b\n" + bases + "\n",
			`mixes proteins and nucleotides: "a" (line 2) has the letter 'E', which stands for no base, and "b" (line 3)`},
		{"too little to tell", "", ">a\nGATTACA\n>b\nACDGH\n", "give --type prot or --type nucl"},
		{"proteins told to be nucleotides", Nucleotide, ">a\nACGT\n>b\nACGE\n", `line 4: 'E' in the sequence "b"`},
		{"doubles", "", ">a 1\nMEFIL\n>b\nMK\n>a 2\nMEFIL\n>A\nMK\n", `"a" (lines 1 and 5)`},
		{"half a gzip file", "", zipped(t, ">a\nMEFIL\n")[:20], "unexpected EOF"},
	} {
		got, err := inspect(t.Context(), written(t, c.text), c.asked, func(int64, int64) {})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v, want an error with %q", c.name, got, err, c.want)
		}
	}
	if _, err := inspect(t.Context(), t.TempDir(), "", func(int64, int64) {}); err == nil {
		t.Error("a folder was read")
	}
}

// FuzzScanner holds that every text is refused or counted, the same in one piece and byte by byte.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{">a\n" + peptide + "\n", ">a b\r\n" + bases, ";c\n>a\n\n>b\nM", "x", ">"} {
		f.Add([]byte(text), "")
	}
	f.Fuzz(func(t *testing.T, text []byte, asked string) {
		if asked != Protein && asked != Nucleotide {
			asked = ""
		}
		whole, single := newScanner(), newScanner()
		wholeErr := whole.feed(text)
		var singleErr error
		for i := range text {
			if singleErr = single.feed(text[i : i+1]); singleErr != nil {
				break
			}
		}
		if (wholeErr == nil) != (singleErr == nil) {
			t.Fatalf("whole: %v, byte by byte: %v", wholeErr, singleErr)
		}
		if wholeErr != nil {
			return
		}
		a, aErr := whole.end(asked)
		b, bErr := single.end(asked)
		if a != b || (aErr == nil) != (bErr == nil) {
			t.Errorf("whole: %+v %v, byte by byte: %+v %v", a, aErr, b, bErr)
		}
		if aErr == nil && (a.Sequences < 1 || a.Residues < a.Sequences || a.Type == "") {
			t.Errorf("accepted as %+v", a)
		}
	})
}
