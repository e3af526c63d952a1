package billing

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSoftwareIsFoundByAnySpelling(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	for name, want := range map[string]string{
		"houdini": "houdini", "HOUDINI": "houdini", " hou dini ": "houdini", "V-Ray": "v-ray", "vray": "v-ray", "V_RAY": "v-ray",
		"houdini2": "", "": "", "blender": "",
	} {
		if got, price, ok := book.SoftwareNamed(name); got != want || ok != (want != "") || ok && price.LicenseName == "" {
			t.Errorf("%q: got %q %+v %v, want %q", name, got, price, ok, want)
		}
	}
	for pair, want := range map[[2]string]string{
		{"SideFX", "Houdini Engine"}: "sidefx/houdiniengine", {"side_fx", "HOUDINI-engine"}: "sidefx/houdiniengine",
		{" - ", "x"}: "", {"x", "_"}: "",
	} {
		if got := LicenseKey(pair[0], pair[1]); got != want {
			t.Errorf("%q: got key %q, want %q", pair, got, want)
		}
	}
}

func TestSoftwareThatTheBookRefuses(t *testing.T) {
	t.Parallel()
	const maya = "maya: { licenseName: Autodesk Maya, vendor: Autodesk, product: Maya, pencePerCoreHour: 9 }"
	for _, c := range []struct{ name, line, want string }{
		{"no price", "maya: { licenseName: Autodesk Maya, vendor: Autodesk, product: Maya }",
			"software.maya.pencePerCoreHour is missing"},
		{"no licence", "maya: { licenseName: \"\", vendor: Autodesk, product: Maya, pencePerCoreHour: 9 }", "software.maya"},
		{"no vendor", "maya: { licenseName: Maya, vendor: \"\", product: Maya, pencePerCoreHour: 9 }", "software.maya"},
		{"a slash", "maya: { licenseName: Maya, vendor: Auto/desk, product: Maya, pencePerCoreHour: 9 }", "slash"},
		{"the same name", maya + "\n  MA-YA: { licenseName: Autodesk Maya, vendor: Autodesk, product: Maya, pencePerCoreHour: 9 }",
			"MA-YA and maya"},
		{"no name", "_: { licenseName: Maya, vendor: Autodesk, product: Maya, pencePerCoreHour: 9 }", "empty"},
		{"unknown member", "maya: { licenseName: Maya, vendor: Autodesk, product: Maya, pencePerCoreHour: 9, seats: 1 }", "seats"},
	} {
		text := strings.Replace(string(embeddedPrices), maya, c.line, 1)
		if text == string(embeddedPrices) {
			t.Fatal("prices.yaml does not hold maya")
		}
		if _, err := ParseBook([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	none := string(embeddedPrices)
	head, rest, _ := strings.Cut(none, "software:\n")
	_, tail, _ := strings.Cut(rest, "\n\n")
	if book, err := ParseBook([]byte(head + "software: {}\n\n" + tail)); err != nil || len(book.Software) != 0 {
		t.Errorf("a book without licensed software: %v", err)
	}
}

func TestSoftwareFee(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	paid := &SoftwarePrice{LicenseName: "Some Program", PencePerCoreHour: FromPence(36)}
	request := QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: 3600}
	plain, err := book.Quote(request)
	if err != nil {
		t.Fatal(err)
	}
	request.Software = paid
	got, err := book.Quote(request)
	if err != nil {
		t.Fatal(err)
	}
	if !got.HasLicenseFee || !slices.Equal(got.LicenseNames, []string{"Some Program"}) || got.Breakdown.Software != FromPence(36) ||
		got.EstimatedPence != plain.EstimatedPence+36 || got.HoldPence != plain.HoldPence+36*book.HoldFactor {
		t.Errorf("with a fee of 36p: %+v, without %+v", got, plain)
	}
	used, err := book.Meter(Usage{Engine: vina, Hardware: "cpu", CPUMicros: 3600e6, SoftwarePencePerCoreHour: FromPence(36)})
	if err != nil || used != got.Breakdown.Compute+FromPence(36) {
		t.Errorf("metered %d, %v", used, err)
	}
	request.Software = &SoftwarePrice{LicenseName: "Free Program"}
	if got, err := book.Quote(request); err != nil || got.HasLicenseFee || len(got.LicenseNames) != 0 ||
		got.EstimatedPence != plain.EstimatedPence {
		t.Errorf("with a free licence: %+v, %v", got, err)
	}
}

// TestRangeFollowsTheSpread: what is measured moves the range alone, and the range never leaves the hold.
func TestRangeFollowsTheSpread(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	request := QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: 100 * 3600, OutputBytes: 50e9}
	plain, err := book.Quote(request)
	if err != nil {
		t.Fatal(err)
	}
	if plain.LikelyPence != plain.EstimatedPence || plain.HighPence != plain.HoldPence {
		t.Errorf("without a spread: %+v", plain)
	}
	request.Spread = &Spread{Low: 0.5, Likely: 1, High: 1.25}
	got, err := book.Quote(request)
	if err != nil {
		t.Fatal(err)
	}
	// 2400p of compute scale; 2p to start, 100p of storage and 400p of transfer do not.
	if got.LowPence != 1200+502 || got.LikelyPence != 2400+502 || got.HighPence != 3000+502 ||
		got.EstimatedPence != plain.EstimatedPence || got.HoldPence != plain.HoldPence {
		t.Errorf("with %+v: %+v", *request.Spread, got)
	}
	request.Spread = &Spread{Low: 3, Likely: 50, High: 1e300}
	if got, err = book.Quote(request); err != nil || got.HighPence > got.HoldPence || got.LowPence > got.LikelyPence ||
		got.HighPence < got.LikelyPence {
		t.Errorf("with %+v: %+v, %v", *request.Spread, got, err)
	}
}

// TestNoJobCostsMoreThanItsHold: whatever was expected, used and charged for software, and whatever earlier jobs have used.
func TestNoJobCostsMoreThanItsHold(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	rapid.Check(t, func(t *rapid.T) {
		fee := Micropence(rapid.Int64Range(0, int64(FromPence(MaxPricePence))).Draw(t, "fee"))
		request := QuoteRequest{Engine: vina, Hardware: "cpu", ExpectedCPUSeconds: rapid.Float64Range(0, 1e5).Draw(t, "expected"),
			OutputBytes: rapid.SampledFrom([]int64{0, 0, 5e9}).Draw(t, "bytes"),
			Software:    &SoftwarePrice{LicenseName: "x", PencePerCoreHour: fee}}
		if rapid.Bool().Draw(t, "measured") {
			low := rapid.Float64Range(1e-6, 100).Draw(t, "low")
			likely := low * rapid.Float64Range(1, 10).Draw(t, "likely")
			request.Spread = &Spread{Low: low, Likely: likely, High: likely * rapid.Float64Range(1, 10).Draw(t, "high")}
		}
		quote, err := book.Quote(request)
		if err != nil {
			t.Fatal(err)
		}
		if !(0 < quote.LowPence && quote.LowPence <= quote.LikelyPence && quote.LikelyPence <= quote.HighPence &&
			quote.HighPence <= quote.HoldPence) {
			t.Fatalf("low %d, likely %d, high %d, hold %d are out of order", quote.LowPence, quote.LikelyPence, quote.HighPence,
				quote.HoldPence)
		}
		used := Micropence(0)
		for range rapid.IntRange(0, 5).Draw(t, "attempts") {
			price, err := book.Meter(Usage{Engine: vina, Hardware: "cpu", CPUMicros: rapid.Int64Range(0, 3e11).Draw(t, "cpu"),
				SoftwarePencePerCoreHour: fee})
			if err != nil {
				t.Fatal(err)
			}
			used += price
		}
		charge, err := book.Capture(Accrual{Engine: vina, Used: used, HoldPence: quote.HoldPence})
		if err != nil || charge > quote.HoldPence || charge < 0 {
			t.Fatalf("charge of %d from a hold of %d, %v", charge, quote.HoldPence, err)
		}
		// Who uses as much as the measured median is charged what was called likely, to a penny of rounding.
		if s := request.Spread; s != nil && s.Likely <= float64(book.HoldFactor) && request.OutputBytes == 0 {
			used, err := book.Meter(Usage{Engine: vina, Hardware: "cpu",
				CPUMicros: int64(math.Round(request.ExpectedCPUSeconds * s.Likely * 1e6)), SoftwarePencePerCoreHour: fee})
			if err != nil {
				t.Fatal(err)
			}
			charge, err := book.Capture(Accrual{Engine: vina, Used: used, HoldPence: quote.HoldPence})
			if err != nil || used > 0 && max(charge-quote.LikelyPence, quote.LikelyPence-charge) > 1+quote.LikelyPence/1e6 {
				t.Fatalf("likely %d, charged %d, %v", quote.LikelyPence, charge, err)
			}
		}
	})
}
