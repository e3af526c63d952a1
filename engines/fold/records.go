package fold

import (
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/internal/fasta"
)

// maxNamedRefusals bounds the records that a refusal of the whole submission names.
const maxNamedRefusals = 5

// refusal names the first records that cannot be folded, for a request of which none can.
func refusal(judged []fasta.Judged) string {
	var words []string
	for _, one := range judged[:min(len(judged), maxNamedRefusals)] {
		words = append(words, one.Name+" "+one.Reason)
	}
	text := strings.Join(words, "; ")
	if more := len(judged) - maxNamedRefusals; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// fileOf is what a sequence's files are called, by its place in the FASTA and its name: "0003-ubiquitin".
func fileOf(index int, name string) string {
	slug := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, name)
	if slug = strings.Trim(slug[:min(len(slug), maxSlugBytes)], "-"); slug == "" {
		slug = "protein"
	}
	return fmt.Sprintf("%04d-%s", index+1, slug)
}

// maxSlugBytes keeps names of files short enough for every file system and archive.
const maxSlugBytes = 40
