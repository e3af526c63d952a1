package billing

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/internal/fault"
)

const vina = "autodock-vina"

func testBook(t testing.TB) *Book {
	t.Helper()
	book, err := LoadBook("")
	if err != nil {
		t.Fatalf("the embedded price book: %v", err)
	}
	return book
}

func TestQuote(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	tests := []struct {
		name                string
		cpuSeconds          float64
		outputBytes         int64
		low, estimate, hold int64
	}{
		{"nothing but the start fee", 0, 0, 1, 2, 4},
		{"one core-hour", 3600, 0, 13, 26, 52},
		{"imatinib into 1IEP, 80 CPU-s", 80, 200_000, 1, 3, 6},
		{"a half penny is rounded up", 75, 0, 1, 3, 5}, // 2.5p; a hold of 5.0p
		{"a hold is rounded up", 75.001, 0, 1, 3, 6},   // a hold of 5.00001p
		{"a GB kept a month and read once", 0, 1e9, 6, 12, 24},
		{"a library of 10,000 ligands", 600_000, 2e9, 2011, 4022, 8044},
	}
	for _, tt := range tests {
		got, err := book.Quote(QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: tt.cpuSeconds,
			OutputBytes: tt.outputBytes})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got.LowPence != tt.low || got.EstimatedPence != tt.estimate || got.HoldPence != tt.hold {
			t.Errorf("%s: %g CPU-s, %d bytes: got %d, %d, %d pence, want %d, %d, %d", tt.name, tt.cpuSeconds, tt.outputBytes,
				got.LowPence, got.EstimatedPence, got.HoldPence, tt.low, tt.estimate, tt.hold)
		}
		if got.HasLicenseFee || got.LicenseNames == nil || len(got.LicenseNames) != 0 {
			t.Errorf("%s: Vina is free software, got fee %v %q", tt.name, got.HasLicenseFee, got.LicenseNames)
		}
	}
}

// TestAHoldHasAFloor quotes work that is expected to take next to nothing: ten minutes of a core are set aside for it nevertheless,
// at what the job's software costs too, and nothing where nothing has a price.
func TestAHoldHasAFloor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		request QuoteRequest
		change  func(*Book)
		want    int64
	}{
		{name: "a small start fee", request: QuoteRequest{Engine: "fpocket", ExpectedCPUSeconds: 0.1}, want: 4},
		{name: "a retry, whose start fee is paid", request: QuoteRequest{Engine: vina, ExpectedCPUSeconds: 0.1, StartFeePaid: true},
			want: 4},
		{name: "software that costs twelve an hour", request: QuoteRequest{Engine: vina, ExpectedCPUSeconds: 0.1,
			Software: &SoftwarePrice{PencePerCoreHour: FromPence(12)}}, want: 6},
		{name: "more than the floor", request: QuoteRequest{Engine: "fpocket", ExpectedCPUSeconds: 600}, want: 10},
		{name: "hardware that costs nothing", request: QuoteRequest{Engine: "fpocket", StartFeePaid: true},
			change: func(b *Book) { b.Hardware["cpu"], b.MinimumChargePence = HardwarePrice{}, 0 }, want: 0},
	} {
		book := testBook(t)
		if tt.change != nil {
			tt.change(book)
		}
		tt.request.Hardware = "cpu"
		if got, err := book.Quote(tt.request); err != nil || got.HoldPence != tt.want {
			t.Errorf("%s: %+v: held %d pence, %v, want %d", tt.name, tt.request, got.HoldPence, err, tt.want)
		}
	}
}

// TestTheHoldCoversWorkWithoutAFixedLength prices tasks that decide by themselves how much they do: the estimate is what is
// usual, and the hold and the top of the range cover the most.
func TestTheHoldCoversWorkWithoutAFixedLength(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	for _, tt := range []struct {
		name                 string
		expected, beyond     float64
		spread               *Spread
		estimate, high, hold int64
	}{
		{"little more than expected", 3600, 1800, nil, 26, 52, 52},
		{"four times what is expected", 3600, 10_800, nil, 26, 98, 98},
		{"a history that never came to it", 3600, 10_800, &Spread{Low: 0.9, Likely: 1, High: 1.1}, 26, 98, 98},
		{"a history above it", 3600, 900, &Spread{Low: 0.9, Likely: 1, High: 1.9}, 26, 48, 52},
	} {
		got, err := book.Quote(QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: tt.expected,
			BeyondCPUSeconds: tt.beyond, Spread: tt.spread})
		if err != nil {
			t.Fatal(err)
		}
		if got.EstimatedPence != tt.estimate || got.HighPence != tt.high || got.HoldPence != tt.hold {
			t.Errorf("%s: got %d, at most %d, held %d pence; want %d, %d, %d", tt.name, got.EstimatedPence, got.HighPence,
				got.HoldPence, tt.estimate, tt.high, tt.hold)
		}
		used, err := book.Meter(Usage{Engine: vina, Hardware: "cpu", CPUMicros: int64((tt.expected + tt.beyond) * 1e6)})
		if err != nil {
			t.Fatal(err)
		}
		charge, err := book.Capture(Accrual{Engine: vina, Used: used, HoldPence: got.HoldPence})
		if err != nil || FromPence(charge) < used {
			t.Errorf("%s: all of it costs %d, charged %d pence (%v): the hold cut it", tt.name, used, charge, err)
		}
	}
}

func TestQuoteRefuses(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	good := QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: 1}
	tests := []struct {
		name   string
		change func(*QuoteRequest)
		want   fault.Code
	}{
		{"unknown engine", func(r *QuoteRequest) { r.Engine = "smina" }, fault.UnsupportedSimulator},
		{"unknown worker class", func(r *QuoteRequest) { r.Hardware = "abacus" }, fault.UnsupportedSimulator},
		{"not a number", func(r *QuoteRequest) { r.ExpectedCPUSeconds = math.NaN() }, fault.Internal},
		{"without end", func(r *QuoteRequest) { r.ExpectedCPUSeconds = math.Inf(1) }, fault.Internal},
		{"negative time", func(r *QuoteRequest) { r.ExpectedCPUSeconds = -1 }, fault.Internal},
		{"negative time beyond", func(r *QuoteRequest) { r.BeyondCPUSeconds = -1 }, fault.Internal},
		{"negative bytes", func(r *QuoteRequest) { r.OutputBytes = -1 }, fault.Internal},
	}
	for _, tt := range tests {
		r := good
		tt.change(&r)
		if got, err := book.Quote(r); err == nil || fault.CodeOf(err) != tt.want {
			t.Errorf("%s: got %+v, %v; want an error with code %s", tt.name, got, err, tt.want)
		}
	}
}

func TestLicenseFeeIsNamed(t *testing.T) {
	t.Parallel()
	text := strings.Replace(string(embeddedPrices), "softwarePencePerCoreHour: 0 }",
		"softwarePencePerCoreHour: 36, licenseName: Dock Pro }", 1)
	book, err := ParseBook([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := book.Quote(QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: 3600})
	if err != nil {
		t.Fatal(err)
	}
	if !got.HasLicenseFee || len(got.LicenseNames) != 1 || got.LicenseNames[0] != "Dock Pro" ||
		got.Breakdown.Software != FromPence(36) {
		t.Errorf("a fee of 36p an hour: got %+v", got)
	}
}

func TestCapture(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	tests := []struct {
		name   string
		used   Micropence
		hold   int64
		system bool
		want   int64
	}{
		{"nothing ran", 0, 100, false, 0},
		{"a micropenny ran: the start fee", 1, 100, false, 2},
		{"half a penny is rounded up", 1_500_000, 100, false, 4},
		{"less than half is rounded down", 1_499_999, 100, false, 3},
		{"never above the hold", 99_000_000, 100, false, 100},
		{"far above the hold", math.MaxInt64, 100, false, 100},
		{"failed by the fabric", 50_000_000, 100, true, 0},
		{"nothing was held", 50_000_000, 0, false, 0},
	}
	for _, tt := range tests {
		got, err := book.Capture(Accrual{Engine: vina, Used: tt.used, HoldPence: tt.hold, SystemFailure: tt.system})
		if err != nil || got != tt.want {
			t.Errorf("%s: used %d micropence of a hold of %d pence: got %d, %v, want %d", tt.name, tt.used, tt.hold, got, err,
				tt.want)
		}
	}
	if got, err := book.Capture(Accrual{Engine: vina, Used: 50_000_000, HoldPence: 100, InputFailure: true}); err != nil ||
		got != 0 {
		t.Errorf("failed for its input before the main work: got %d, %v, want nothing", got, err)
	}
	free := *book
	free.Engines = map[string]EnginePrice{vina: {}}
	if got, err := free.Capture(Accrual{Engine: vina, Used: 1, HoldPence: 100}); err != nil || got != free.MinimumChargePence {
		t.Errorf("without a start fee: got %d, %v, want the minimum charge of %d", got, err, free.MinimumChargePence)
	}
}

// TestUseAsExpectedCostsTheEstimate: whoever is told the truth about a job's use quotes its charge.
func TestUseAsExpectedCostsTheEstimate(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(1, 1e12).Draw(t, "cpuMicros")
		bytes := rapid.Int64Range(0, 1e13).Draw(t, "outputBytes")
		quote, err := book.Quote(QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: float64(micros) / 1e6,
			OutputBytes: bytes})
		if err != nil {
			t.Fatal(err)
		}
		// The quote rounds an expectation in seconds up to whole microseconds: meter what it priced.
		priced := int64(math.Ceil(float64(micros) / 1e6 * 1e6))
		used, err := book.Meter(Usage{Engine: vina, Hardware: "cpu", CPUMicros: priced, OutputBytes: bytes})
		if err != nil {
			t.Fatal(err)
		}
		charge, err := book.Capture(Accrual{Engine: vina, Used: used, HoldPence: quote.HoldPence})
		if err != nil {
			t.Fatal(err)
		}
		if used > 0 && charge != quote.EstimatedPence {
			t.Fatalf("estimated %d pence, charged %d", quote.EstimatedPence, charge)
		}
		if !(0 < quote.LowPence && quote.LowPence <= quote.EstimatedPence && quote.EstimatedPence <= quote.HoldPence) {
			t.Fatalf("low %d, estimate %d, hold %d are out of order", quote.LowPence, quote.EstimatedPence, quote.HoldPence)
		}
		if sum := quote.Breakdown.Sum(); quote.HoldPence < book.HoldFactor*int64(sum/MicropencePerPenny) {
			t.Fatalf("a hold of %d pence is less than %d × %d micropence", quote.HoldPence, book.HoldFactor, sum)
		}
	})
}

func TestMeterIsMonotonicAndAdditive(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	meter := func(t *rapid.T, micros, bytes int64) Micropence {
		used, err := book.Meter(Usage{Engine: vina, Hardware: "cpu", CPUMicros: micros, OutputBytes: bytes})
		if err != nil {
			t.Fatalf("meter %d µs, %d bytes: %v", micros, bytes, err)
		}
		return used
	}
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(0, 1e15).Draw(t, "cpuMicros")
		more := rapid.Int64Range(0, 1e15).Draw(t, "moreCPUMicros")
		bytes := rapid.Int64Range(0, 1e14).Draw(t, "outputBytes")
		whole := meter(t, micros+more, bytes)
		if part := meter(t, micros, bytes); part > whole {
			t.Fatalf("%d µs cost %d, %d µs cost only %d", micros, part, micros+more, whole)
		}
		// Cutting work into two tasks changes its price by their rounding alone, half a micropenny each.
		if cut := meter(t, micros, bytes) + meter(t, more, 0); max(cut-whole, whole-cut) > 1 {
			t.Fatalf("in one task %d micropence, in two %d", whole, cut)
		}
	})
}

func TestCaptureStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	rapid.Check(t, func(t *rapid.T) {
		a := Accrual{
			Engine:    vina,
			Used:      Micropence(rapid.Int64Range(0, math.MaxInt64).Draw(t, "used")),
			HoldPence: rapid.Int64Range(0, MaxPence).Draw(t, "hold"),
		}
		charge, err := book.Capture(a)
		if err != nil {
			t.Fatal(err)
		}
		if charge < 0 || charge > a.HoldPence {
			t.Fatalf("charge of %d from a hold of %d", charge, a.HoldPence)
		}
		if a.Used > 0 && charge < min(book.MinimumChargePence, a.HoldPence) {
			t.Fatalf("charge of %d is below the minimum of %d", charge, book.MinimumChargePence)
		}
	})
}

func TestMeterRefusesWhatCannotBeTrue(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	for _, u := range []Usage{
		{Engine: vina, Hardware: "cpu", CPUMicros: -1},
		{Engine: vina, Hardware: "cpu", OutputBytes: -1},
		{Engine: vina, Hardware: "cpu", CPUMicros: math.MaxInt64, OutputBytes: math.MaxInt64},
		{Engine: "smina", Hardware: "cpu"},
	} {
		if got, err := book.Meter(u); err == nil {
			t.Errorf("meter %+v: got %d, want an error", u, got)
		}
	}
}

func TestPriceBookRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, new, want string }{
		{"unknown key", "holdFactor:", "holdFaktor:", "holdFaktor"},
		{"unknown inner key", "pencePerCoreHour: 24", "pencePerHour: 24", "pencePerHour"},
		{"key twice", "holdFactor: 2", "holdFactor: 2\nholdFactor: 3", "holdFactor"},
		{"price left out", "egressPencePerGB: 8", "", "egressPencePerGB is missing"},
		{"price left empty", "egressPencePerGB: 8", "egressPencePerGB:", "egressPencePerGB is missing"},
		{"inner price left out", "startFeePence: 2, ", "", "engines.autodock-vina.startFeePence is missing"},
		{"other currency", "currency: GBP", "currency: EUR", "GBP"},
		{"negative price", "egressPencePerGB: 8", "egressPencePerGB: -8", "-8"},
		{"price with an exponent", "egressPencePerGB: 8", "egressPencePerGB: 8e3", "8e3"},
		{"price below a micropenny", "egressPencePerGB: 8", "egressPencePerGB: 0.0000001", "6 decimals"},
		{"price beyond its bound", "egressPencePerGB: 8", "egressPencePerGB: 1000000.1", "1000000"},
		{"no hold", "holdFactor: 2", "holdFactor: 0", "holdFactor"},
		{"half a penny a month", "monthlyPence: 500", "monthlyPence: 0.5", "monthlyPence"},
		{"negative allowance", "monthlyPence: 500", "monthlyPence: -1", "plans.free.monthlyPence"},
		{"fee without a licence", "softwarePencePerCoreHour: 0", "softwarePencePerCoreHour: 1", "licenseName"},
	}
	for _, tt := range tests {
		text := strings.Replace(string(embeddedPrices), tt.old, tt.new, 1)
		if text == string(embeddedPrices) {
			t.Fatalf("%s: prices.yaml does not hold %q", tt.name, tt.old)
		}
		if _, err := ParseBook([]byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one that names %q", tt.name, err, tt.want)
		}
	}
}

func TestLoadBookFromPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.yaml")
	text := strings.Replace(string(embeddedPrices), "pencePerCoreHour: 24", "pencePerCoreHour: 0.035", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	book, err := LoadBook(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := book.Hardware["cpu"].PencePerCoreHour; got != 35_000 {
		t.Errorf("0.035 pence: got %d micropence, want 35000", got)
	}
	if _, err := LoadBook(path + ".absent"); err == nil {
		t.Error("an absent price book was accepted")
	}
}

func TestPoundsAndDisplay(t *testing.T) {
	t.Parallel()
	for m, want := range map[Micropence]string{
		0: "0.00", 1: "0.00000001", FromPence(500): "5.00", FromPence(-5): "-0.05", 66_680: "0.0006668",
		FromPence(MaxPence): "10000000000.00",
	} {
		if got := Pounds(m).String(); got != want {
			t.Errorf("%d micropence: got %s pounds, want %s", m, got, want)
		}
	}
	for pence, want := range map[int64]string{0: "£0.00", 500: "£5.00", 5: "£0.05", -105: "-£1.05"} {
		if got := Display(pence); got != want {
			t.Errorf("%d pence: got %s, want %s", pence, got, want)
		}
	}
}
