package cli

import (
	"testing"
	"time"
)

func TestTransferText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sent, there, total int64
		spent              time.Duration
		want               string
	}{
		{1_000_000, 0, 4_000_000, 500 * time.Millisecond, "1.0 MB of 4.0 MB"},
		{2_000_000, 1_000_000, 4_000_000, 2 * time.Second, "3.0 MB of 4.0 MB, 1.0 MB/s"},
		{-5, 1_000_000, 4_000_000, 2 * time.Second, "1.0 MB of 4.0 MB, 0 B/s"},
	} {
		if got := transferText(test.sent, test.there, test.total, test.spent); got != test.want {
			t.Errorf("%+v: got %q", test, got)
		}
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"runs/t-1.dcd": "runs/t-1.dcd", "my file.dcd": "'my file.dcd'", "it's": `'it'\''s'`, "$x": "'$x'", "": "''", "-x": "'-x'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestParseExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"90d": "2027-02-19T08:00:00Z", "12h": "2026-11-21T20:00:00Z", "2030-01-31": "2030-01-31T00:00:00Z",
		"2030-01-31T12:00:00+01:00": "2030-01-31T11:00:00Z", "2020-01-01": "", "0d": "", "-1h": "", "d": "", "soon": "",
		"99999999d": "",
	} {
		got, err := parseExpiry(text, now)
		switch {
		case want == "" && (err == nil || ExitCode(err) != ExitUsage):
			t.Errorf("%s: got %v, %v; want a usage error", text, got, err)
		case want != "" && (err != nil || got.Format(time.RFC3339) != want):
			t.Errorf("%s: got %v, %v; want %s", text, got, err, want)
		}
	}
	if got, err := parseExpiry("", now); got != nil || err != nil {
		t.Errorf("nothing: got %v, %v; want never", got, err)
	}
}
