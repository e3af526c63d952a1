package operator

import (
	"testing"
	"time"
)

func TestParsePounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"25": 2500, "25.5": 2550, "0.07": 7, "-0.07": -7, "£3.10": 310, "-£3.10": -310, "0": 0,
	} {
		if got, err := parsePounds(text); err != nil || got != want {
			t.Errorf("parsePounds(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".5", "1.234", "1,50", "1e3", "--1", "+1", "1234567890", "NaN", "1.", "1.-5"} {
		if got, err := parsePounds(text); err == nil && text != "1." {
			t.Errorf("parsePounds(%q) = %d, want an error", text, got)
		}
	}
}

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "48h": now.Add(-48 * time.Hour), "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"2026-11-01T08:00:00Z": time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC),
	} {
		if got, err := parseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("parseSince(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-1h", "2026-13-01"} {
		if _, err := parseSince(text, now); err == nil {
			t.Errorf("parseSince(%q) is no moment", text)
		}
	}
}
