package sequences

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

const (
	// indexVersion is the version of database files that is built, the second one of BLAST+.
	indexVersion = 5
	// maxIndexHead bounds the texts at the beginning of an index, which are a title, a file name and a date.
	maxIndexHead = 4 << 10
	// indexAlign is to what the texts are filled up, with zero bytes behind the date.
	indexAlign = 8
	// stampForm is how BLAST+ writes its date; it comes with a double space.
	stampForm = "Jan 2, 2006  3:04 PM"
)

// indexTotals are the counts that an index of a volume keeps.
type indexTotals struct{ sequences, residues int64 }

// restamp sets the date in a volume's index (.pin, .nin) and returns its counts. makeblastdb writes the minute in which it ran;
// with the day of the release instead, the same FASTA gives the same bytes, and the same checksum, at any time and place.
//
// The layout is that of NCBI's C++ toolkit (CWriteDB_IndexFile): version, type, volume, title, name of the id index and date, with
// every number big-endian and every text behind its length; then the number of sequences, that of residues in the other byte
// order, the longest sequence, and tables.
func restamp(path string, releasedOn time.Time) (totals indexTotals, err error) {
	old, err := os.Open(path)
	if err != nil {
		return totals, err
	}
	defer func() { _ = old.Close() }() // only read
	head, err := io.ReadAll(io.LimitReader(old, maxIndexHead))
	if err != nil {
		return totals, err
	}
	reader := indexReader{rest: head}
	version, _, _ := reader.number(), reader.number(), reader.number()
	reader.skipText() // title
	reader.skipText() // name of the id index
	undated := len(head) - len(reader.rest)
	reader.skipText() // date
	dated := len(head) - len(reader.rest)
	totals.sequences = int64(reader.number())
	if low := reader.take(8); low != nil {
		totals.residues = int64(binary.LittleEndian.Uint64(low))
	}
	if reader.short || version != indexVersion {
		return totals, fmt.Errorf("the index is none of version %d, as makeblastdb writes since 2.10", indexVersion)
	}
	fresh := bytes.Clone(head[:undated])
	stamp := []byte(releasedOn.Format(stampForm))
	for (undated+4+len(stamp))%indexAlign != 0 {
		stamp = append(stamp, 0)
	}
	fresh = append(binary.BigEndian.AppendUint32(fresh, uint32(len(stamp))), stamp...)
	return totals, rewrite(path, io.MultiReader(bytes.NewReader(fresh), bytes.NewReader(head[dated:]), old))
}

// indexReader reads numbers and skips texts; beyond the end all are zero and short is set.
type indexReader struct {
	rest  []byte
	short bool
}

func (r *indexReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.short, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *indexReader) number() uint32 {
	if word := r.take(4); word != nil {
		return binary.BigEndian.Uint32(word)
	}
	return 0
}

func (r *indexReader) skipText() { r.take(int(r.number())) }

// aliasDate is the comment at the head of an alias file (.pal, .nal), which joins the volumes of a large database.
var aliasDate = regexp.MustCompile(`(?m)^# Alias file created: .*$`)

// restampAlias sets the date in an alias file.
func restampAlias(path string, releasedOn time.Time) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = aliasDate.ReplaceAll(text, []byte("# Alias file created: "+releasedOn.Format(stampForm)))
	return rewrite(path, bytes.NewReader(text))
}

// rewrite replaces a file by what comes, which may still be read from the old one.
func rewrite(path string, content io.Reader) error {
	fresh, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = io.Copy(fresh, content)
	err = errors.Join(err, fresh.Close())
	if err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
