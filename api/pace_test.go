package api

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// deadlines notes what a connection is told.
type deadlines struct{ last time.Time }

func (d *deadlines) SetReadDeadline(at time.Time) error { d.last = at; return nil }

// TestTrickledBodiesAreCut: chunks have no more time than a body with a length of as many bytes.
func TestTrickledBodiesAreCut(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		stated, came int64
		want         time.Duration
	}{
		{-1, 0, readTimeout}, {-1, 1000, readTimeout}, {-1, slowestUpload, readTimeout + time.Second},
		{-1, 160 << 20, readTimeout + 2560*time.Second}, {160 << 20, 0, readTimeout + 2560*time.Second}, {10, 10, readTimeout},
	} {
		told := &deadlines{}
		body := &pacedBody{Reader: strings.NewReader("x"), conn: told, begun: begun, stated: test.stated, came: test.came}
		if n, err := body.Read(make([]byte, 8)); n != 1 || err != nil || body.came != test.came+1 {
			t.Fatalf("read %d bytes, %v", n, err)
		}
		if got := told.last.Sub(begun); got != test.want {
			t.Errorf("%d bytes stated and %d there: got %s, want %s", test.stated, test.came, got, test.want)
		}
	}
	if _, err := (&pacedBody{Reader: strings.NewReader(""), conn: &deadlines{}, begun: begun}).Read(nil); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: got %v", err)
	}
}
