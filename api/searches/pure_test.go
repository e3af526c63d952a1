package searches

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/blast"
)

// Figures are written as BLAST's tabular format writes them.
func TestFiguresOfBLAST(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0.0", 1e-181: "0.0", 2.24063e-139: "2.24e-139", 1.82961e-14: "1.83e-14", 0.00089: "8.90e-04", 0.00124795: "0.001",
		0.0506578: "0.051", 0.118424: "0.12", 4.44: "4.4", 12.6: "13", 1000: "1000",
	} {
		if got := evalueText(value); got != want {
			t.Errorf("E %g: got %s, want %s", value, got, want)
		}
	}
	for value, want := range map[float64]string{21.2: "21.2", 99.9: "99.9", 99.95: "99", 120.168: "120", 99_999: "99999",
		123_456: "1.235e+05"} {
		if got := bitScoreText(value); got != want {
			t.Errorf("%g bits: got %s, want %s", value, got, want)
		}
	}
}

func TestCoverageIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		length int64
		spans  [][2]int64
		want   float64
	}{
		{100, [][2]int64{{1, 100}}, 100}, {100, [][2]int64{{1, 50}, {26, 75}}, 75},
		{100, [][2]int64{{51, 60}, {1, 10}, {2, 5}}, 20}, {100, [][2]int64{{60, 51}}, 10}, {3, [][2]int64{{1, 1}}, 33.3},
		{0, [][2]int64{{1, 1}}, 0}, {10, [][2]int64{{1, 99}}, 100},
	} {
		var hsps []blast.HSP
		for _, s := range c.spans {
			hsps = append(hsps, blast.HSP{QueryFrom: s[0], QueryTo: s[1]})
		}
		if got := coveragePercent(hsps, c.length); got != c.want {
			t.Errorf("%v of %d: got %g, want %g", c.spans, c.length, got, c.want)
		}
	}
}

func TestGapsOpened(t *testing.T) {
	t.Parallel()
	for lines, want := range map[[2]string]int{{"ACGT", "ACGT"}: 0, {"A--T", "ACGT"}: 1, {"A--T-", "-CGTA"}: 3, {"-", "A"}: 1} {
		if got := gapsOpened(blast.HSP{QueryAlignment: lines[0], SubjectAlignment: lines[1]}); got != want {
			t.Errorf("%v: got %d, want %d", lines, got, want)
		}
	}
}

// A line longer than the reader's buffer is read whole, and one that does not end is not read on and on.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100) + "\n"
	in := bufio.NewReaderSize(strings.NewReader("short\n"+long+long+"end"), 16)
	for _, c := range []struct {
		most int64
		want string
		err  error
	}{{6, "short\n", nil}, {101, long, nil}, {100, "", errNoLine}} {
		got, err := nextLine(in, c.most)
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("at most %d: got %q, %v; want %q, %v", c.most, got, err, c.want, c.err)
		}
	}
	if _, err := nextLine(bufio.NewReader(strings.NewReader("end")), 100); !errors.Is(err, io.EOF) {
		t.Errorf("without an end: got %v", err)
	}
}
