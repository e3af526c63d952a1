package billing

import (
	"fmt"
	"math"
	"slices"

	"github.com/molfabric/molfabric/internal/fault"
)

// Units in which use is metered, as parts of the unit that has a price.
const (
	cpuMicrosPerCoreHour   = 3600 * 1_000_000
	gpuMicrosPerDeviceHour = 3600 * 1_000_000
	bytesPerGB             = 1_000_000_000
)

// leastHeldCPUSeconds is what a hold covers at least, of one core: ten minutes, which cost a few pence. Less would make whatever is
// expected to take next to nothing run for next to nothing, however long it takes: nobody is charged more than his hold.
const leastHeldCPUSeconds = 600

// maxQuoteSeconds bounds the expected processor and device time of a job, some 30,000 core-years: its microseconds fit in an int64.
const maxQuoteSeconds = 1e12

// Usage is what one attempt of one task used, as its worker metered it.
type Usage struct {
	Engine      string // canonical simulator id
	Hardware    string // worker class
	CPUMicros   int64  // processor time of the whole process tree, user and system, in µs
	GPUMicros   int64  // time for which it kept devices, times its share of them, in µs × devices
	OutputBytes int64  // bytes of the outputs that were stored
	// SoftwarePencePerCoreHour is the fee of the job's licensed software, as it was settled at submit; 0 when there is none.
	SoftwarePencePerCoreHour Micropence
}

// QuoteRequest is what a job is expected to use, over all of its tasks.
type QuoteRequest struct {
	Engine             string
	Hardware           string // worker class of the engine
	ExpectedCPUSeconds float64
	// BeyondCPUSeconds is what the engine's own tasks may use beside that, where they decide by themselves how much they do. The
	// hold and the top of the range cover it.
	BeyondCPUSeconds float64
	OnGPU            *GPUWork // what its tasks on the class "gpu" are expected to use beside that; nil without any
	Others           []Work   // what its tasks of other engines are expected to use beside that
	OutputBytes      int64
	StartFeePaid     bool // an earlier run of the job has been charged
	Nothing          bool // all that the job asks for is there: it is expected to cost nothing
	// Software is the licensed software that the job names and pays for; nil when it names none or brings its own licence.
	Software *SoftwarePrice
	// Spread tells what jobs of the engine have used of what was expected of them; nil when that is not known yet.
	Spread *Spread
}

// Work is what the tasks of a job that one engine runs on one worker class are expected to use.
type Work struct {
	Engine             string
	Hardware           string
	ExpectedCPUSeconds float64
	ExpectedGPUSeconds float64 // seconds × devices
}

// GPUWork is what the tasks of a job that compute on devices are expected to use. Its Spread is that of their device time.
type GPUWork struct {
	ExpectedCPUSeconds float64
	ExpectedGPUSeconds float64 // seconds × devices
	Spread             *Spread
}

// Spread is how much processor or device time tasks have used, as a multiple of what their engine had expected: what one in ten
// stays below, the median, and what nine in ten stay below. 0 < Low ≤ Likely ≤ High.
type Spread struct{ Low, Likely, High float64 }

// Quote is the price of a job before it has run.
type Quote struct {
	Currency string // ISO 4217
	// EstimatedPence is what the job costs if it uses exactly what is expected.
	EstimatedPence int64
	// LowPence, LikelyPence and HighPence are what the job costs if it uses as much as the measured spread says, none above
	// HoldPence. Without a spread they are the estimate divided by the hold factor, the estimate, and the hold.
	LowPence, LikelyPence, HighPence int64
	// HoldPence is set aside at submit: the price times the hold factor, and at least that of leastHeldCPUSeconds. The job is never
	// charged more. What was measured does not move it: the same request always needs the same credit.
	HoldPence     int64
	Breakdown     Breakdown
	Rates         Rates
	HasLicenseFee bool
	LicenseNames  []string // licences that the software fee pays for; empty, never nil
}

// Breakdown is what an estimate consists of. The parts are exact; only their sum is rounded to pence.
type Breakdown struct {
	Compute, Software, Storage, Egress, StartFee Micropence
}

// Sum is the exact price.
func (b Breakdown) Sum() Micropence {
	return b.Compute + b.Software + b.Storage + b.Egress + b.StartFee
}

// Rates are the prices that vary with what a job uses.
type Rates struct {
	HardwarePerCoreHour Micropence
	GPUPerDeviceHour    *Micropence // nil for a job without tasks on devices
	EgressPerGB         Micropence
}

// Accrual is what a run of a job has used when it ends.
type Accrual struct {
	Engine    string
	Used      Micropence // sum of Meter over the attempts that are billed; the start fee is not in it
	HoldPence int64
	// StartFeePaid says that an earlier run of the job has been charged: the start fee is due once a job.
	StartFeePaid bool
	// SystemFailure says that the job failed through a fault of the fabric. It is free.
	SystemFailure bool
	// InputFailure says that the run failed for its user's input before any of the job's main work. It is free, too.
	InputFailure bool
}

// Quote prices a job. Errors: fault.UnsupportedSimulator when the book has no price for the engine or a worker class; a plain
// error when an expectation is negative, not a number or beyond the limits of billing.
func (b *Book) Quote(r QuoteRequest) (Quote, error) {
	engine, class, err := b.prices(r.Engine, r.Hardware)
	if err != nil {
		return Quote{}, err
	}
	licenses, fee := []string{}, Micropence(0)
	if engine.SoftwarePencePerCoreHour > 0 {
		licenses = append(licenses, engine.LicenseName)
	}
	if r.Software != nil && r.Software.PencePerCoreHour > 0 {
		licenses, fee = append(licenses, r.Software.LicenseName), r.Software.PencePerCoreHour
	}
	parts, err := b.expected(engine, class, fee, r.ExpectedCPUSeconds, 0, r.OutputBytes)
	if err != nil {
		return Quote{}, err
	}
	for _, work := range r.Others {
		other, name, err := b.expectedOf(work, fee)
		if err != nil {
			return Quote{}, err
		}
		if parts = parts.plus(other); name != "" && !slices.Contains(licenses, name) {
			licenses = append(licenses, name)
		}
	}
	beyond, err := b.expected(engine, class, fee, r.BeyondCPUSeconds, 0, 0)
	if err != nil {
		return Quote{}, err
	}
	least, err := b.expected(engine, class, fee, leastHeldCPUSeconds, 0, 0)
	if err != nil {
		return Quote{}, err
	}
	if !r.StartFeePaid && !r.Nothing {
		parts.StartFee = engine.StartFeePence
	}
	rates, onGPU := Rates{HardwarePerCoreHour: class.PencePerCoreHour, EgressPerGB: b.EgressPencePerGB}, Breakdown{}
	if r.OnGPU != nil {
		if _, class, err = b.prices(r.Engine, gpuClass); err != nil {
			return Quote{}, err
		}
		if onGPU, err = b.expected(engine, class, fee, r.OnGPU.ExpectedCPUSeconds, r.OnGPU.ExpectedGPUSeconds, 0); err != nil {
			return Quote{}, err
		}
		rates.GPUPerDeviceHour = class.PencePerDeviceHour
	}
	sum := parts.plus(onGPU).Sum()
	most := sum + beyond.Sum()
	if sum > FromPence(MaxPence)/Micropence(b.HoldFactor) || most > FromPence(MaxPence) {
		return Quote{}, fmt.Errorf("quote: %w", errOverflow)
	}
	quote := Quote{
		Currency:       b.Currency,
		EstimatedPence: max(sum.RoundPence(), b.MinimumChargePence),
		HoldPence: max((sum * Micropence(b.HoldFactor)).CeilPence(), most.CeilPence(), least.Sum().CeilPence(),
			b.MinimumChargePence),
		Breakdown:     parts.plus(onGPU),
		Rates:         rates,
		HasLicenseFee: len(licenses) > 0,
		LicenseNames:  licenses,
	}
	quote.setRange(b, r, parts, onGPU)
	if r.Nothing {
		quote.EstimatedPence, quote.LowPence, quote.LikelyPence = 0, 0, 0
	}
	if r.BeyondCPUSeconds > 0 {
		quote.HighPence = max(quote.HighPence, most.RoundPence())
	}
	return quote, nil
}

// expectedOf prices work of another engine; license is the one that its fee pays for, or "".
func (b *Book) expectedOf(work Work, fee Micropence) (parts Breakdown, license string, err error) {
	engine, class, err := b.prices(work.Engine, work.Hardware)
	if err != nil {
		return Breakdown{}, "", err
	}
	if engine.SoftwarePencePerCoreHour > 0 {
		license = engine.LicenseName
	}
	parts, err = b.expected(engine, class, fee, work.ExpectedCPUSeconds, work.ExpectedGPUSeconds, 0)
	return parts, license, err
}

// expected prices what is expected of the tasks of one worker class, without the start fee.
func (b *Book) expected(
	engine EnginePrice, class HardwarePrice, fee Micropence, cpuSeconds, gpuSeconds float64, outputBytes int64,
) (Breakdown, error) {
	for _, seconds := range []float64{cpuSeconds, gpuSeconds} {
		if seconds > maxQuoteSeconds && !math.IsInf(seconds, 1) {
			return Breakdown{}, fault.New(fault.Validation, "the job is expected to take %.2g core-hours, more than can be "+
				"quoted; ask for less of it, as several jobs", seconds/3600)
		}
		if !(seconds >= 0 && seconds <= maxQuoteSeconds) { // also refuses NaN
			return Breakdown{}, fmt.Errorf("quote: expected time of %g s: between 0 and %g", seconds, float64(maxQuoteSeconds))
		}
	}
	parts, err := b.breakdown(engine, class, fee, consumption{
		cpuMicros: int64(math.Ceil(cpuSeconds * 1e6)), gpuMicros: int64(math.Ceil(gpuSeconds * 1e6)), outputBytes: outputBytes})
	if err != nil {
		return Breakdown{}, fmt.Errorf("quote: %w", err)
	}
	return parts, nil
}

// setRange fills in what the job may turn out to cost. parts are those of the engine's own class and onGPU those on devices: each
// has a spread of its own, and the job is as cheap or dear as both at once. Of one that is not known nothing but the hold factor
// is.
func (q *Quote) setRange(b *Book, r QuoteRequest, parts, onGPU Breakdown) {
	spread, spreadOnGPU := r.Spread, (*Spread)(nil)
	if r.OnGPU != nil {
		spreadOnGPU = r.OnGPU.Spread
	}
	if spread == nil && spreadOnGPU == nil {
		q.LowPence = max((q.Breakdown.Sum() / Micropence(b.HoldFactor)).RoundPence(), b.MinimumChargePence)
		q.LikelyPence, q.HighPence = q.EstimatedPence, q.HoldPence
		return
	}
	own, devices := spread.orUnknown(b.HoldFactor), spreadOnGPU.orUnknown(b.HoldFactor)
	at := func(ratio, ratioOnGPU float64) int64 {
		sum := parts.scaled(min(ratio, float64(b.HoldFactor))) + onGPU.scaled(min(ratioOnGPU, float64(b.HoldFactor)))
		return min(max(sum.RoundPence(), b.MinimumChargePence), q.HoldPence)
	}
	q.LowPence, q.LikelyPence, q.HighPence = at(own.Low, devices.Low), at(own.Likely, devices.Likely), at(own.High, devices.High)
}

// orUnknown is the spread, or the one to reckon with as long as nothing has been measured.
func (s *Spread) orUnknown(holdFactor int64) Spread {
	if s == nil {
		return Spread{Low: 1 / float64(holdFactor), Likely: 1, High: float64(holdFactor)}
	}
	return *s
}

// plus adds the parts of another breakdown.
func (b Breakdown) plus(c Breakdown) Breakdown {
	return Breakdown{Compute: b.Compute + c.Compute, Software: b.Software + c.Software, Storage: b.Storage + c.Storage,
		Egress: b.Egress + c.Egress, StartFee: b.StartFee + c.StartFee}
}

// scaled is the price when ratio times the processor and device time is used. Stored bytes and the start fee do not grow with it.
func (b Breakdown) scaled(ratio float64) Micropence {
	return Micropence(math.Round(float64(b.Compute+b.Software)*ratio)) + b.Storage + b.Egress + b.StartFee
}

// Meter prices what one attempt used, at most MaxTaskPence. It does not contain the start fee, which Capture adds once a job.
// Errors: fault.UnsupportedSimulator as for Quote; a plain error when the usage is negative or cannot be true.
func (b *Book) Meter(u Usage) (Micropence, error) {
	engine, class, err := b.prices(u.Engine, u.Hardware)
	if err != nil {
		return 0, err
	}
	parts, err := b.breakdown(engine, class, u.SoftwarePencePerCoreHour,
		consumption{cpuMicros: u.CPUMicros, gpuMicros: u.GPUMicros, outputBytes: u.OutputBytes})
	if err != nil {
		return 0, fmt.Errorf("meter: %w", err)
	}
	if parts.Sum() > FromPence(MaxTaskPence) {
		return 0, fmt.Errorf("meter: %d µs of processor time, %d µs of devices, %d bytes stored: %w", u.CPUMicros, u.GPUMicros,
			u.OutputBytes, errOverflow)
	}
	return parts.Sum(), nil
}

// Capture is the charge of a run of a job that has ended, in pence. The run is rounded once, half a penny up, start fee included.
// A run that used anything costs at least the minimum charge; none costs more than its hold; one that used nothing, that the fabric
// itself failed, or that failed for its input before the job's main work, costs nothing.
func (b *Book) Capture(a Accrual) (int64, error) {
	if a.Used < 0 || a.HoldPence < 0 || a.HoldPence > MaxPence {
		return 0, fmt.Errorf("capture of %d micropence from a hold of %d pence: out of range", a.Used, a.HoldPence)
	}
	engine, ok := b.Engines[a.Engine]
	if !ok {
		return 0, fmt.Errorf("capture: the price book has no engine %q", a.Engine)
	}
	if a.SystemFailure || a.InputFailure || a.Used == 0 {
		return 0, nil
	}
	if a.Used >= FromPence(a.HoldPence) { // before the sum below, which it keeps small
		return a.HoldPence, nil
	}
	due := a.Used
	if !a.StartFeePaid {
		due += engine.StartFeePence
	}
	charge := max(due.RoundPence(), b.MinimumChargePence)
	return min(charge, a.HoldPence), nil
}

// consumption is what is priced, in the parts in which it is metered.
type consumption struct{ cpuMicros, gpuMicros, outputBytes int64 }

// breakdown prices processor time, device time and stored bytes, each rounded to a micropenny; the start fee is left at zero. fee
// is that of further software, beside the engine's own.
func (b *Book) breakdown(engine EnginePrice, class HardwarePrice, fee Micropence, used consumption) (Breakdown, error) {
	var parts Breakdown
	var devices Micropence
	perDevice := Micropence(0)
	if class.PencePerDeviceHour != nil {
		perDevice = *class.PencePerDeviceHour
	} else if used.gpuMicros != 0 {
		return Breakdown{}, fmt.Errorf("%d µs of devices on a worker class that has none", used.gpuMicros)
	}
	for _, part := range []struct {
		price  Micropence
		amount int64
		unit   uint64
		sum    *Micropence
	}{
		{class.PencePerCoreHour, used.cpuMicros, cpuMicrosPerCoreHour, &parts.Compute},
		{perDevice, used.gpuMicros, gpuMicrosPerDeviceHour, &devices},
		{engine.SoftwarePencePerCoreHour + fee, used.cpuMicros, cpuMicrosPerCoreHour, &parts.Software},
		{b.StoragePencePerGBMonth * Micropence(b.StorageRetentionMonths), used.outputBytes, bytesPerGB, &parts.Storage},
		{b.EgressPencePerGB, used.outputBytes, bytesPerGB, &parts.Egress},
	} {
		sum, err := priced(part.amount, part.price, part.unit)
		if err != nil {
			return Breakdown{}, err
		}
		*part.sum = sum
	}
	parts.Compute += devices
	return parts, nil
}
