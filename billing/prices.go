package billing

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/molfabric/molfabric/internal/fault"
)

// gpuClass is the worker class with devices. A book without it sells none.
const gpuClass = "gpu"

// maxBookBytes bounds a price book: a few hundred engines and plans with their comments.
const maxBookBytes = 1 << 20

//go:embed prices.yaml
var embeddedPrices []byte

// Book is the price book. prices.yaml explains every number. It is not changed after it was read, and may be used
// concurrently.
type Book struct {
	Currency               string                   `yaml:"currency"` // ISO 4217
	Plans                  map[string]Plan          `yaml:"plans"`
	Tiers                  map[string]Tier          `yaml:"tiers"`    // what can be bought, by contract.TierIDs
	Hardware               map[string]HardwarePrice `yaml:"hardware"` // by worker class: cpu, and gpu where there are devices
	Engines                map[string]EnginePrice   `yaml:"engines"`  // by canonical simulator id
	Software               map[string]SoftwarePrice `yaml:"software"` // by a name that jobs use; see SoftwareNamed
	StoragePencePerGBMonth Micropence               `yaml:"storagePencePerGBMonth"`
	StorageRetentionMonths int64                    `yaml:"storageRetentionMonths"`
	EgressPencePerGB       Micropence               `yaml:"egressPencePerGB"`
	HoldFactor             int64                    `yaml:"holdFactor"`
	MinimumChargePence     int64                    `yaml:"minimumChargePence"`
}

// Plan is what an account's plan gives.
type Plan struct {
	MonthlyPence  int64 `yaml:"monthlyPence"`
	QueuePriority int   `yaml:"queuePriority"` // higher is served first
}

// HardwarePrice is the price of a worker class. PencePerDeviceHour is nil for a class without devices.
type HardwarePrice struct {
	PencePerCoreHour   Micropence  `yaml:"pencePerCoreHour"`
	PencePerDeviceHour *Micropence `yaml:"pencePerDeviceHour,omitempty"`
}

// EnginePrice is what an engine costs beside its hardware.
type EnginePrice struct {
	StartFeePence            Micropence `yaml:"startFeePence"` // once a job
	SoftwarePencePerCoreHour Micropence `yaml:"softwarePencePerCoreHour"`
	LicenseName              string     `yaml:"licenseName,omitempty"` // set where there is a software fee
}

// LoadBook reads the price book at path, or the embedded one when path is empty.
func LoadBook(path string) (*Book, error) {
	text := embeddedPrices
	if path != "" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("open price book: %w", err)
		}
		defer file.Close()
		if text, err = io.ReadAll(io.LimitReader(file, maxBookBytes+1)); err != nil {
			return nil, fmt.Errorf("read price book: %w", err)
		}
	}
	book, err := ParseBook(text)
	if err != nil && path != "" {
		return nil, fmt.Errorf("price book %s: %w", path, err)
	}
	return book, err
}

// ParseBook reads a price book. Unknown, doubled and missing keys and values out of range are errors that name the key.
func ParseBook(text []byte) (*Book, error) {
	if len(text) > maxBookBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxBookBytes)
	}
	var book Book
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&book); err != nil {
		return nil, err
	}
	if err := requireEveryKey(text, book); err != nil {
		return nil, err
	}
	if err := book.validate(); err != nil {
		return nil, err
	}
	return &book, nil
}

// requireEveryKey compares the text with the book that was decoded from it, written out again. What the text left out, or
// left empty, is there with a zero; a fraction where a whole number belongs is there without its decimals.
func requireEveryKey(text []byte, book Book) error {
	whole, err := yaml.Marshal(book)
	if err != nil {
		return fmt.Errorf("write the book out again: %w", err)
	}
	var stated, read map[string]any
	if err := errors.Join(yaml.Unmarshal(text, &stated), yaml.Unmarshal(whole, &read)); err != nil {
		return err
	}
	return compareKeys("", stated, read)
}

func compareKeys(path string, stated, read map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(read)) {
		switch value := stated[key].(type) {
		case nil:
			return fmt.Errorf("%s is missing: write 0 to charge nothing", path+key)
		case float64:
			if _, isPrice := read[key].(string); !isPrice { // prices alone are written out as text
				return fmt.Errorf("%s is %v: a whole number", path+key, value)
			}
		case map[string]any:
			below, _ := read[key].(map[string]any)
			if err := compareKeys(path+key+".", value, below); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Book) validate() error {
	switch {
	case b.Currency != "GBP":
		return fmt.Errorf("currency is %q: balances are defined in pence, so only GBP is possible", b.Currency)
	case len(b.Plans) == 0 || len(b.Hardware) == 0 || len(b.Engines) == 0:
		return errors.New("plans, hardware and engines must each have at least one member")
	case b.HoldFactor < 1 || b.HoldFactor > 100:
		return fmt.Errorf("holdFactor is %d: a whole number between 1 and 100", b.HoldFactor)
	case b.MinimumChargePence < 0 || b.MinimumChargePence > MaxPricePence:
		return fmt.Errorf("minimumChargePence is %d: between 0 and %d", b.MinimumChargePence, MaxPricePence)
	case b.StorageRetentionMonths < 0 || b.StorageRetentionMonths > 1200:
		return fmt.Errorf("storageRetentionMonths is %d: between 0 and 1200", b.StorageRetentionMonths)
	}
	if err := b.validateTiers(); err != nil {
		return err
	}
	for name, plan := range b.Plans {
		if plan.MonthlyPence < 0 || plan.MonthlyPence > MaxTaskPence {
			return fmt.Errorf("plans.%s.monthlyPence is %d: between 0 and %d", name, plan.MonthlyPence, MaxTaskPence)
		}
	}
	for class, price := range b.Hardware {
		if (class == gpuClass) != (price.PencePerDeviceHour != nil) {
			return fmt.Errorf("hardware.%s: the class %s, and no other, has a pencePerDeviceHour; write 0 to charge nothing", class,
				gpuClass)
		}
	}
	if err := b.validateSoftware(); err != nil {
		return err
	}
	for id, engine := range b.Engines {
		if (engine.SoftwarePencePerCoreHour > 0) != (engine.LicenseName != "") {
			return fmt.Errorf("engines.%s: a softwarePencePerCoreHour above 0 and a licenseName go together", id)
		}
	}
	return nil
}

// Plan is what the named plan gives. A name that the book lacks is a fault of the deployment, not of the caller.
func (b *Book) Plan(name string) (Plan, error) {
	plan, ok := b.Plans[name]
	if !ok {
		return Plan{}, fmt.Errorf("the price book has no plan %q", name)
	}
	return plan, nil
}

// prices finds what an engine on a worker class costs. Errors: fault.UnsupportedSimulator when the book lacks either.
func (b *Book) prices(engineID, hardware string) (EnginePrice, HardwarePrice, error) {
	engine, ok := b.Engines[engineID]
	if !ok {
		return EnginePrice{}, HardwarePrice{}, fault.New(fault.UnsupportedSimulator,
			"simulator: %q has no price in this deployment", engineID)
	}
	class, ok := b.Hardware[hardware]
	if !ok {
		return EnginePrice{}, HardwarePrice{}, fault.New(fault.UnsupportedSimulator,
			"simulator: %q needs %q workers, which have no price in this deployment", engineID, hardware)
	}
	return engine, class, nil
}
