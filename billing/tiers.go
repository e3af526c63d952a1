package billing

import (
	"fmt"
	"slices"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// Bounds of a tier's price, which are those of one payment in pounds at the payment provider.
const (
	minTierPence int64 = 30
	maxTierPence int64 = 99_999_999
)

// Tier is an amount that can be bought: what is paid for it, and what is given on top.
type Tier struct {
	PricePence int64 `yaml:"pricePence"`
	BonusPence int64 `yaml:"bonusPence"`
}

// CheckTier makes sure that there is a tier with this id. Errors: fault.UnknownTier.
func CheckTier(id string) error {
	if !slices.Contains(contract.TierIDs, id) {
		return fault.New(fault.UnknownTier, "tierId: must be one of %s", joined(contract.TierIDs))
	}
	return nil
}

// Tier is what a tier costs and brings. Errors: fault.UnknownTier.
func (b *Book) Tier(id string) (Tier, error) { return b.Tiers[id], CheckTier(id) }

func (b *Book) validateTiers() error {
	for id := range b.Tiers {
		if !slices.Contains(contract.TierIDs, id) {
			return fmt.Errorf("tiers.%s is none of %s", id, joined(contract.TierIDs))
		}
	}
	for _, id := range contract.TierIDs {
		tier, ok := b.Tiers[id]
		switch {
		case !ok:
			return fmt.Errorf("tiers.%s is missing", id)
		case tier.PricePence < minTierPence || tier.PricePence > maxTierPence:
			return fmt.Errorf("tiers.%s.pricePence is %d: between %d and %d", id, tier.PricePence, minTierPence, maxTierPence)
		case tier.BonusPence < 0 || tier.BonusPence > tier.PricePence:
			return fmt.Errorf("tiers.%s.bonusPence is %d: between 0 and the price, %d", id, tier.BonusPence, tier.PricePence)
		}
	}
	return nil
}
