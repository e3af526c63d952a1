package credits_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/credits"
)

// TestCheckoutsLeadBackToAPage reads what a browser sees after a checkout.
func TestCheckoutsLeadBackToAPage(t *testing.T) {
	t.Parallel()
	s := open(t, credits.Payments{})
	for query, want := range map[string]string{
		"?topup=success": "The credit is booked", "?topup=cancelled": "was cancelled", "": "reference is at /docs",
		"?topup=<b>": "reference is at /docs",
	} {
		response, err := http.Get(s.Base + "/dashboard" + query)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK ||
			!strings.Contains(string(text), want) {
			t.Errorf("%s: %d %s (%v), want %q", query, response.StatusCode, text, err, want)
		}
	}
}
