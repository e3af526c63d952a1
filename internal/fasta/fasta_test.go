package fasta_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/fasta"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []fasta.Record
	}{
		{"one", ">a protein\nMKV\nLLA\n", []fasta.Record{{Name: "a", Letters: "MKVLLA"}}},
		{"many", ">a\r\nMK V\r\n\r\n>b x\nAA:GG", []fasta.Record{{Name: "a", Letters: "MKV"}, {Name: "b", Letters: "AA:GG"}}},
		{"no header", "MKV\nLL\n", []fasta.Record{{Name: "record 1", Letters: "MKVLL"}}},
		{"no name", ">\nMKV\n> \nLL", []fasta.Record{{Name: "record 1", Letters: "MKV"}, {Name: "record 2", Letters: "LL"}}},
		{"empty record", ">a\n>b\nMK", []fasta.Record{{Name: "a"}, {Name: "b", Letters: "MK"}}},
	} {
		if got, err := fasta.Read([]byte(c.text)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"nothing": " \n", "compressed": "\x1f\x8b\x08", "binary": ">a\nM\x00K",
		"too many": strings.Repeat(">a\nM\n", fasta.MaxRecords+2)} {
		var unreadable *fasta.UnreadableError
		if got, err := fasta.Read([]byte(text)); !errors.As(err, &unreadable) {
			t.Errorf("%s: got %d records, %v, want it refused", name, len(got), err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(">a\nMKV\n>b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		records, err := fasta.Read(text)
		for _, r := range records {
			if err != nil || r.Name == "" || len(r.Name) > fasta.MaxNameBytes || strings.ContainsAny(r.Letters, " \t\n") {
				t.Errorf("got %+v, %v", r, err)
			}
		}
	})
}
