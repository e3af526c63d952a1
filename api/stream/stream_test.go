package stream

import (
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

func TestMessage(t *testing.T) {
	t.Parallel()
	m := Message{ID: 7, Kind: "status", Body: []byte(`{"status": "RUNNING"}`)}
	if got, want := string(m.text()), "id: 7\nevent: status\ndata: {\"status\": \"RUNNING\"}\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLastEventID(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int64{"": 0, "0": 0, "12": 12, "-1": -1, "x": -1, "1.5": -1, "99999999999999999999": -1} {
		got, err := LastEventID(header)
		if want < 0 {
			if !fault.Is(err, fault.Validation) {
				t.Errorf("%q: got %d, %v; want %s", header, got, err, fault.Validation)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", header, got, err, want)
		}
	}
}
