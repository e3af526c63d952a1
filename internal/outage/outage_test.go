package outage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/outage"
)

func TestIs(t *testing.T) {
	t.Parallel()
	_, refused := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	for _, away := range []error{
		refused, fmt.Errorf("read: %w", io.ErrUnexpectedEOF), fmt.Errorf("put: %w", object.ErrUnavailable),
		&pq.Error{Code: "57P03"}, // it starts
	} {
		if !outage.Is(away) {
			t.Errorf("%v is taken for a refusal", away)
		}
	}
	for _, refusal := range []error{
		nil, errors.New("no"), object.ErrNotFound,
		&pq.Error{Code: "28P01"}, // a wrong password
		&pq.Error{Code: "3D000"}, // no such database
	} {
		if outage.Is(refusal) {
			t.Errorf("%v is taken for an outage", refusal)
		}
	}
}

func TestOutlast(t *testing.T) {
	t.Parallel()
	refusal := errors.New("no")
	for name, c := range map[string]struct {
		answers     []error
		want        error
		tries, told int
	}{
		"it is there":       {answers: []error{nil}, tries: 1},
		"it comes back":     {answers: []error{io.EOF, io.EOF, nil}, tries: 3, told: 2},
		"it refuses":        {answers: []error{refusal}, want: refusal, tries: 1},
		"it is back and no": {answers: []error{io.EOF, refusal}, want: refusal, tries: 2, told: 1},
	} {
		tries, told := 0, 0
		err := outage.Outlast(t.Context(), time.Minute, func(error) { told++ }, func() error { tries++; return c.answers[tries-1] })
		if !errors.Is(err, c.want) || tries != c.tries || told != c.told {
			t.Errorf("%s: %v after %d tries, of which %d were told", name, err, tries, told)
		}
	}
}

func TestOutlastEnds(t *testing.T) {
	t.Parallel()
	if err := outage.Outlast(t.Context(), 0, func(error) {}, func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("without patience: %v, want the outage", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := outage.Outlast(ctx, time.Hour, func(error) { cancel() }, func() error { return io.EOF })
	if !errors.Is(err, io.EOF) {
		t.Errorf("when its context ends: %v, want the outage", err)
	}
}
