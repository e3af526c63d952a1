package credits_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/credits"
)

// TestTransactionsAreFiltered uses the one entry of a new account: its month's grant.
func TestTransactionsAreFiltered(t *testing.T) {
	t.Parallel()
	s := open(t, credits.Payments{})
	browser := s.SignUp()
	past, future := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for query, want := range map[string]int{
		"": 1, "limit=1": 1, "limit=100": 1, "type=monthly_grant": 1, "type=hold": 0, "type=hold&job_id=job_x": 0,
		"from=" + past: 1, "from=" + future: 0, "to=" + past: 0, "to=" + future: 1, "from=" + past + "&to=" + future: 1,
		"from=" + past + "&to=" + past: 0, "job_id=job_x": 0, "from=" + url.QueryEscape("2020-01-01T00:00:00+14:00"): 1,
	} {
		got := browser.Send("GET", "/api/v1/credits/transactions?"+query, "")
		var list struct {
			Transactions []map[string]any
			NextCursor   *string
		}
		if err := json.Unmarshal([]byte(got.Text), &list); err != nil || got.StatusCode != 200 || len(list.Transactions) != want ||
			list.NextCursor != nil {
			t.Errorf("%q: %d %s, want %d", query, got.StatusCode, got.Text, want)
		}
	}
	for query, message := range map[string]string{
		"type=gift": "type", "type=": "type", "limit=0": "limit", "limit=101": "limit", "limit=ten": "limit",
		"from=" + future + "&to=" + past: "from: must not lie after to", "from=2026-01-01": "from", "to=now": "to",
		"from=2026-02-29T00:00:00Z": "from", "job_id=" + strings.Repeat("x", 65): "job_id", "status=pending": "status",
	} {
		wantRefusal(t, browser.Send("GET", "/api/v1/credits/transactions?"+query, ""), 400, "VALIDATION_ERROR", message)
	}
	wantRefusal(t, browser.Send("GET", "/api/v1/credits/transactions?cursor=x", ""), 400, "INVALID_CURSOR", "cursor")
}
