package billing

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/internal/fault"
)

// without is the embedded price book without the class gpu.
func without(t testing.TB) *Book {
	t.Helper()
	var lines []string
	for line := range strings.Lines(string(embeddedPrices)) {
		if !strings.HasPrefix(line, "  gpu: ") {
			lines = append(lines, line)
		}
	}
	book, err := ParseBook([]byte(strings.Join(lines, "")))
	if err != nil {
		t.Fatalf("a book that sells no devices: %v", err)
	}
	return book
}

func TestADeviceHourIsPricedBesideItsCores(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	got, err := book.Quote(QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: 1800,
		OnGPU: &GPUWork{ExpectedCPUSeconds: 3600, ExpectedGPUSeconds: 7200}})
	if err != nil {
		t.Fatal(err)
	}
	// Half a core-hour, a core-hour and two device-hours, and the start fee.
	if got.EstimatedPence != 12+24+240+2 || got.HoldPence != 2*got.EstimatedPence || got.Breakdown.Compute != FromPence(276) {
		t.Errorf("got %+v, want 278 pence and twice that held", got)
	}
	if got.Rates.GPUPerDeviceHour == nil || *got.Rates.GPUPerDeviceHour != FromPence(120) {
		t.Errorf("rate of a device: %v, want 120 pence", got.Rates.GPUPerDeviceHour)
	}
	for micros, want := range map[int64]Micropence{0: 0, 14: 0, 15: 1, 3_600_000_000: FromPence(120), 1_000_001: 33_333} {
		if used, err := book.Meter(Usage{Engine: vina, Hardware: "gpu", GPUMicros: micros}); err != nil || used != want {
			t.Errorf("%d µs of a device: got %d micropence, %v, want %d", micros, used, err, want)
		}
	}
}

// TestUseOfDevicesAsExpectedCostsTheEstimate is for jobs with tasks of both classes.
func TestUseOfDevicesAsExpectedCostsTheEstimate(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string) (seconds float64, micros int64) {
			seconds = float64(rapid.Int64Range(0, 1e11).Draw(t, what)) / 1e6
			return seconds, int64(math.Ceil(seconds * 1e6))
		}
		var work GPUWork
		request := QuoteRequest{Engine: vina, Hardware: "cpu", OnGPU: &work}
		own, onGPU := Usage{Engine: vina, Hardware: "cpu"}, Usage{Engine: vina, Hardware: "gpu"}
		request.ExpectedCPUSeconds, own.CPUMicros = draw("processors alone")
		work.ExpectedCPUSeconds, onGPU.CPUMicros = draw("processors beside devices")
		work.ExpectedGPUSeconds, onGPU.GPUMicros = draw("devices")
		quote, err := book.Quote(request)
		if err != nil {
			t.Fatal(err)
		}
		used := Micropence(0)
		for _, usage := range []Usage{own, onGPU} {
			price, err := book.Meter(usage)
			if err != nil {
				t.Fatal(err)
			}
			used += price
		}
		charge, err := book.Capture(Accrual{Engine: vina, Used: used, HoldPence: quote.HoldPence})
		if err != nil || used > 0 && charge != quote.EstimatedPence {
			t.Fatalf("estimated %d pence, charged %d, %v", quote.EstimatedPence, charge, err)
		}
	})
}

func TestDevicesThatAreNotSold(t *testing.T) {
	t.Parallel()
	book := without(t)
	if _, err := book.Quote(QuoteRequest{Engine: vina, Hardware: "cpu", OnGPU: &GPUWork{ExpectedGPUSeconds: 1}}); fault.CodeOf(
		err) != fault.UnsupportedSimulator {
		t.Errorf("quote: got %v, want UNSUPPORTED_SIMULATOR", err)
	}
	if _, err := book.Meter(Usage{Engine: vina, Hardware: "gpu", GPUMicros: 1}); fault.CodeOf(err) != fault.UnsupportedSimulator {
		t.Errorf("meter: got %v, want UNSUPPORTED_SIMULATOR", err)
	}
	for _, usage := range []Usage{{Engine: vina, Hardware: "cpu", GPUMicros: 1}, {Engine: vina, Hardware: "cpu", GPUMicros: -1}} {
		if _, err := testBook(t).Meter(usage); err == nil {
			t.Errorf("%+v is priced: a worker without devices cannot have used any", usage)
		}
	}
	for _, seconds := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := testBook(t).Quote(QuoteRequest{Engine: vina, Hardware: "cpu",
			OnGPU: &GPUWork{ExpectedGPUSeconds: seconds}}); err == nil {
			t.Errorf("%g device seconds are quoted", seconds)
		}
	}
}

func TestPriceBookNamesThePriceOfADevice(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"left out":          {", pencePerDeviceHour: 120 }", " }"},
		"left empty":        {"pencePerDeviceHour: 120", "pencePerDeviceHour:"},
		"of the class cpu":  {"cpu: { pencePerCoreHour: 24 }", "cpu: { pencePerCoreHour: 24, pencePerDeviceHour: 1 }"},
		"cores left out":    {"gpu: { pencePerCoreHour: 24, ", "gpu: { "},
		"of another class":  {"gpu: {", "tpu: {"},
		"below a micropeny": {"pencePerDeviceHour: 120", "pencePerDeviceHour: 0.0000001"},
	} {
		text := strings.Replace(string(embeddedPrices), change[0], change[1], 1)
		if text == string(embeddedPrices) {
			t.Fatalf("%s: prices.yaml does not hold %q", name, change[0])
		}
		if book, err := ParseBook([]byte(text)); err == nil {
			t.Errorf("%s: accepted as %+v", name, book.Hardware)
		}
	}
	free, err := ParseBook([]byte(strings.Replace(string(embeddedPrices), "pencePerDeviceHour: 120", "pencePerDeviceHour: 0", 1)))
	if err != nil || free.Hardware["gpu"].PencePerDeviceHour == nil {
		t.Errorf("devices for nothing: %v", err)
	}
}

// TestRangeOfBothClasses: each class has a spread of its own, and what is not measured may be anything up to the hold.
func TestRangeOfBothClasses(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	half, full := &Spread{Low: 0.5, Likely: 0.5, High: 0.5}, &Spread{Low: 1, Likely: 1, High: 1.5}
	for name, tt := range map[string]struct {
		own, onGPU        *Spread
		low, likely, high int64
	}{
		"neither known": {nil, nil, 73, 146, 292},
		"both known":    {half, full, 134, 134, 194},
		"devices known": {nil, half, 74, 86, 110},
		"cores known":   {half, nil, 74, 134, 254},
	} {
		// A core-hour without devices, a device-hour without cores, 2 pence to start.
		got, err := book.Quote(QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: 3600, Spread: tt.own,
			OnGPU: &GPUWork{ExpectedGPUSeconds: 3600, Spread: tt.onGPU}})
		if err != nil || got.LowPence != tt.low || got.LikelyPence != tt.likely || got.HighPence != tt.high {
			t.Errorf("%s: got %d, %d, %d, %v; want %d, %d, %d", name, got.LowPence, got.LikelyPence, got.HighPence, err, tt.low,
				tt.likely, tt.high)
		}
	}
}
