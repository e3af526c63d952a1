package export_test

import (
	"testing"

	"github.com/molfabric/molfabric/api/export"
)

const tsv = "text/tab-separated-values"

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"": export.JSON, "*/*": export.JSON, "text/*": export.CSV, "text/csv": export.CSV, "text/tab-separated-values": tsv, "text/csv;q=0.5, text/tab-separated-values": tsv,
		"application/json, text/csv": export.JSON, "image/png": export.JSON, ";;;": export.JSON, "text/csv;q=0": export.JSON,
	} {
		if got := export.Negotiate(accept, export.CSV, tsv); got != want {
			t.Errorf("%q: got %s, want %s", accept, got, want)
		}
	}
}
