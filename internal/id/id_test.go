package id_test

import (
	"regexp"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/internal/id"
)

func TestNewIsPrefixAndVersion7(t *testing.T) {
	t.Parallel()
	want := regexp.MustCompile(`^job_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`)
	if got := id.New("job_"); !want.MatchString(got) {
		t.Errorf("New(%q) = %q, want a match of %v", "job_", got, want)
	}
}

func TestNewAscends(t *testing.T) {
	t.Parallel()
	last := ""
	for range 10_000 {
		next := id.New("task_")
		if next <= last {
			t.Fatalf("New gave %q after %q, want ascending ids", next, last)
		}
		last = next
	}
}

func TestNewIsUniqueAcrossGoroutines(t *testing.T) {
	t.Parallel()
	const makers, each = 8, 1000
	var (
		seen  sync.Map
		group sync.WaitGroup
	)
	for range makers {
		group.Go(func() {
			for range each {
				one := id.New("")
				if _, taken := seen.LoadOrStore(one, true); taken {
					t.Errorf("New gave %q twice", one)
				}
			}
		})
	}
	group.Wait()
}
