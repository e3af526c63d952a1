package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// maxQueryFileBytes bounds a file of queries: what the engine takes.
	maxQueryFileBytes = 64 << 20
	// sampleBytes is how much of it is looked at to tell proteins from nucleotides.
	sampleBytes = 1 << 20
	// nucleotideShare is the share of the letters ACGTUN from which on a sequence is one of nucleotides. Of proteins they are a
	// third of the letters; the rest of a sequence of nucleotides are codes of uncertain bases.
	nucleotideShare = 0.9
	// leastLetters is how many letters must have been seen for a guess.
	leastLetters = 12
)

// queryBound is what the engine takes.
var queryBound = fileBound{maxQueryFileBytes,
	"the queries of a job may have at most " + bytesText(maxQueryFileBytes) + ": make several jobs of it"}

// queryFile is a file of queries.
type queryFile struct {
	path    string
	program string // that searches it, by its letters; "" where they do not tell
}

// readQueries makes sure that a file looks like FASTA and guesses what its sequences are. The server reads it whole.
func readQueries(path string) (queryFile, error) {
	file, err := openPlain(path, queryBound)
	if err != nil {
		return queryFile{}, err
	}
	defer file.Close()
	letters, plain, err := countLetters(bufio.NewReader(io.LimitReader(file, sampleBytes)))
	if err != nil {
		return queryFile{}, invalidInput("%s: %v", path, err)
	}
	return queryFile{path: path, program: programOf(letters, plain)}, nil
}

// countLetters counts the letters of sequences, and how many of them are ACGTUN.
func countLetters(in *bufio.Reader) (letters, plain int, err error) {
	header, begun := false, false
	for atStart := true; ; {
		part, err := in.ReadSlice('\n')
		line := bytes.TrimSpace(part)
		switch {
		case atStart && len(line) > 0 && line[0] == '>':
			header, begun = true, true
		case atStart && len(line) > 0 && bytes.IndexByte([]byte(";!#"), line[0]) >= 0:
			header = true // a comment
		case atStart && len(line) > 0 && !begun:
			return 0, 0, errors.New("is no FASTA: each sequence begins with a line '>name title'")
		case atStart:
			header = false
		}
		if !header {
			for _, letter := range bytes.ToUpper(line) {
				if letter >= 'A' && letter <= 'Z' {
					letters++
					if strings.IndexByte("ACGTUN", letter) >= 0 {
						plain++
					}
				}
			}
		}
		atStart = err == nil // a line longer than the buffer goes on
		if errors.Is(err, io.EOF) {
			return letters, plain, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, 0, err
		}
	}
}

func programOf(letters, plain int) string {
	switch {
	case letters < leastLetters:
		return ""
	case float64(plain) >= nucleotideShare*float64(letters):
		return blastn
	}
	return blastp
}

// searched are the files of a search that its user gets, in the order in which they are explained.
var searched = []delivered{
	{"hits.tsv", "all hits in BLAST's twelve columns, for spreadsheets and scripts"},
	{"hits.jsonl", "all hits with their alignments, one a line"},
	{resultsFile, "database, parameters and every query with its best hit"},
	{"provenance.json", "programs, command lines and checksums"},
}

// deliverSearch downloads a search's files, or says how to get them.
func (inv *invocation) deliverSearch(ctx context.Context, j contract.Job, folder string) error {
	return inv.hand(ctx, j, folder, delivery{
		files: searched, choose: wholeFiles,
		later: "  molfabric hits %[1]s --alignments   shows the hits\n" +
			"  molfabric outputs %[1]s -o results   downloads tables and provenance\n",
	})
}

// wholeFiles are the files of the whole search: of those that several tasks have left, the last task's, which joins the others'.
func wholeFiles(outputs []contract.Output) (files []contract.Output) {
	for _, one := range searched {
		if last, ok := lastOutput(outputs, one.name); ok {
			files = append(files, last)
		}
	}
	return files
}
