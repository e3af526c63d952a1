package cli

import (
	"math"
	"strings"
	"testing"
)

func TestParseQuantity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		in   dimension
		want float64
		says string // of the refusal; "" means accepted
	}{
		{"10ns", timeUnits, 1e7, ""},
		{"10 ns", timeUnits, 1e7, ""},
		{" 2fs ", timeUnits, 2, ""},
		{"0.5ps", timeUnits, 500, ""},
		{"1.5us", timeUnits, 1.5e9, ""},
		{"1µs", timeUnits, 1e9, ""},
		{"1e3ps", timeUnits, 1e6, ""},
		{"0ps", timeUnits, 0, ""},
		{"10", timeUnits, 0, "has no unit; must be in fs, ps, ns or us, such as 10ns"},
		{"10ms", timeUnits, 0, `"ms" is no unit`},
		{"10NS", timeUnits, 0, `"NS" is no unit`},
		{"-1ns", timeUnits, 0, "write a number and a unit"},
		{"ns", timeUnits, 0, "write a number and a unit"},
		{"", timeUnits, 0, "write a number and a unit"},
		{"NaN", timeUnits, 0, "write a number and a unit"},
		{"1e999ns", timeUnits, 0, "write a number and a unit"},
		{strings.Repeat("9", 400) + "ns", timeUnits, 0, "is too large"},
		{"300K", temperatureUnits, 300, ""},
		{"300", temperatureUnits, 300, ""},
		{"27C", temperatureUnits, 0, "must be in K, such as 300K"},
		{"1.01325bar", pressureUnits, 1.01325, ""},
		{"1atm", pressureUnits, 0, "must be in bar, such as 1bar"},
	} {
		got, err := parseQuantity("--flag", c.text, c.in)
		if c.says == "" {
			if err != nil || math.Abs(got-c.want) > 1e-9*c.want {
				t.Errorf("%q: got %v, %v; want %v", c.text, got, err, c.want)
			}
			continue
		}
		if ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "--flag ") {
			t.Errorf("%q: got %v, %v; want a usage error saying %q", c.text, got, err, c.says)
		}
	}
}

func TestTimeText(t *testing.T) {
	t.Parallel()
	for fs, want := range map[float64]string{0: "0 fs", 2: "2 fs", 1e3: "1 ps", 2.5e3: "2.5 ps", 1e7: "10 ns", 5e8: "500 ns",
		1e9: "1 us"} {
		if got := timeText(fs); got != want {
			t.Errorf("%v fs: got %q, want %q", fs, got, want)
		}
	}
}

// FuzzParseQuantity wants a number that is finite and not negative, or a usage error.
func FuzzParseQuantity(f *testing.F) {
	for _, seed := range []string{"10ns", "1e3 ps", "", "µs", "99999999999999999999us"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseQuantity("--time", text, timeUnits)
		if err != nil && ExitCode(err) != ExitUsage || err == nil && !(got >= 0 && got <= math.MaxFloat64) {
			t.Fatalf("input %q: got %v, %v", text, got, err)
		}
	})
}
