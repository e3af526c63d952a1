package billing

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

func TestTiers(t *testing.T) {
	t.Parallel()
	book := testBook(t)
	for id, want := range map[string]Tier{
		"topup-10": {1000, 0}, "topup-50": {5000, 250}, "topup-200": {20000, 2000}, "topup-500": {50000, 7500},
	} {
		if got, err := book.Tier(id); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", id, got, err, want)
		}
	}
	for _, id := range []string{"", "topup-11", "TOPUP-10", "topup-10 "} {
		if _, err := book.Tier(id); !fault.Is(err, fault.UnknownTier) {
			t.Errorf("%q: got %v, want %s", id, err, fault.UnknownTier)
		}
	}
}

func TestPriceBookRefusesTiers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, old, new, want string }{
		{"a tier left out", "  topup-50: { pricePence: 5000, bonusPence: 250 }\n", "", "tiers.topup-50 is missing"},
		{"a tier of its own", "  topup-50:", "  topup-60: { pricePence: 6000, bonusPence: 0 }\n  topup-50:",
			"tiers.topup-60 is none of"},
		{"no bonus stated", "pricePence: 5000, bonusPence: 250", "pricePence: 5000", "tiers.topup-50.bonusPence is missing"},
		{"below the least payment", "pricePence: 1000,", "pricePence: 29,", "tiers.topup-10.pricePence"},
		{"beyond the largest payment", "pricePence: 50000,", "pricePence: 100000000,", "tiers.topup-500.pricePence"},
		{"a negative bonus", "bonusPence: 250", "bonusPence: -1", "tiers.topup-50.bonusPence"},
		{"a bonus beyond the price", "bonusPence: 250", "bonusPence: 5001", "tiers.topup-50.bonusPence"},
		{"half a penny", "pricePence: 1000,", "pricePence: 1000.5,", "pricePence"},
	} {
		text := strings.Replace(string(embeddedPrices), tt.old, tt.new, 1)
		if text == string(embeddedPrices) {
			t.Fatalf("%s: prices.yaml does not hold %q", tt.name, tt.old)
		}
		if _, err := ParseBook([]byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one that names %q", tt.name, err, tt.want)
		}
	}
}

func TestRefundTakesItsPartOfTheBonus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ price, bonus, refunded, want int64 }{
		{5000, 250, 0, 0},
		{5000, 250, 1, 2}, // a penny's bonus is rounded up
		{5000, 250, 20, 21},
		{5000, 250, 2500, 2625},
		{5000, 250, 5000, 5250},
		{1000, 0, 400, 400},
		{maxTierPence, maxTierPence, maxTierPence, 2 * maxTierPence},
	} {
		p := Payment{PricePence: tt.price, BonusPence: tt.bonus}
		if got := p.reclaimable(tt.refunded); got != tt.want {
			t.Errorf("%d of %d refunded, bonus %d: got %d, want %d", tt.refunded, tt.price, tt.bonus, got, tt.want)
		}
	}
}
