package list_test

import (
	"testing"

	"github.com/molfabric/molfabric/api/list"
)

const tsv = "text/tab-separated-values"

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"": list.JSON, "*/*": list.JSON, "text/*": list.CSV, "text/csv": list.CSV, "text/tab-separated-values": tsv,
		"text/csv;q=0.5, text/tab-separated-values": tsv, "application/json, text/csv": list.JSON, "image/png": list.JSON,
		";;;": list.JSON, "text/csv;q=0": list.JSON,
	} {
		if got := list.Negotiate(accept, list.CSV, tsv); got != want {
			t.Errorf("%q: got %s, want %s", accept, got, want)
		}
	}
}
