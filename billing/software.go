package billing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SoftwarePrice is what licensed software costs that a job names beside its engine.
type SoftwarePrice struct {
	LicenseName      string     `yaml:"licenseName"` // for people
	Vendor           string     `yaml:"vendor"`
	Product          string     `yaml:"product"`
	PencePerCoreHour Micropence `yaml:"pencePerCoreHour"`
}

// LicenseKey is what a licence server of the software is found by.
func (p SoftwarePrice) LicenseKey() string { return LicenseKey(p.Vendor, p.Product) }

// LicenseKey folds a vendor and a product to the key by which licence servers and software are matched; "" when either has
// nothing but case, spaces, "_" and "-" to it. Neither holds a slash.
func LicenseKey(vendor, product string) string {
	v, p := fold(vendor), fold(product)
	if v == "" || p == "" {
		return ""
	}
	return v + "/" + p
}

// SoftwareNamed finds the software that a job means by name, and its name in the book. Case, spaces, "_" and "-" do not count.
func (b *Book) SoftwareNamed(name string) (known string, price SoftwarePrice, ok bool) {
	folded := fold(name)
	for known, price := range b.Software {
		if fold(known) == folded {
			return known, price, true
		}
	}
	return "", SoftwarePrice{}, false
}

func (b *Book) validateSoftware() error {
	names := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(b.Software)) {
		price := b.Software[name]
		other, taken := names[fold(name)]
		switch {
		case fold(name) == "":
			return fmt.Errorf("software: the name %q is empty", name)
		case taken:
			return fmt.Errorf("software: %s and %s are the same name", other, name)
		case price.LicenseName == "":
			return fmt.Errorf("software.%s: a licenseName is needed", name)
		case price.LicenseKey() == "" || strings.Contains(price.Vendor+price.Product, "/"):
			return fmt.Errorf("software.%s: a vendor and a product are needed, without a slash", name)
		}
		names[fold(name)] = name
	}
	return nil
}

// fold makes names that people take for the same the same, as simulators' names are (doc/contract.md §1).
func fold(name string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(name))
}
