package vina

import (
	"cmp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/mol"
)

// ReceptorIdentity is what a receptor is: the digest of its file, and the part of it. What is not chosen is null. Two with equal
// JSON are one receptor; reuse.py writes the same.
type ReceptorIdentity struct {
	InputSHA256 string   `json:"inputSha256"`
	AssemblyID  *string  `json:"assemblyId"`
	Model       *int     `json:"model"`
	Chains      []string `json:"chains"`
}

// identityOf is the identity of a request's receptor whose file has this digest.
func (p Params) identityOf(sha256 string) ReceptorIdentity {
	identity := ReceptorIdentity{InputSHA256: sha256, AssemblyID: p.ReceptorAssemblyID, Model: p.ReceptorModel}
	if p.ReceptorChains != nil {
		identity.Chains = sorted(p.ReceptorChains)
	}
	return identity
}

// UsedPreparation is a receptor's preparation as it is used: whole, and free of what makes no difference. Two with equal JSON
// make one receptor of one identity; reuse.py writes the same, and adds what only the receptor itself can tell.
type UsedPreparation struct {
	ProtonationPh          float64          `json:"protonationPh"`
	AddHydrogens           bool             `json:"addHydrogens"`
	ProtonationMethod      string           `json:"protonationMethod"`
	ForceField             string           `json:"forceField"`
	FixedProtonationStates []UsedFixedState `json:"fixedProtonationStates"`
	RemoveComponents       []string         `json:"removeComponents"`
	RetainComponents       []string         `json:"retainComponents"`
	Waters                 string           `json:"waters"`
}

// UsedFixedState is a residue's given state without the reason for it.
type UsedFixedState struct {
	Chain         string `json:"chain"`
	Residue       int    `json:"residue"`
	InsertionCode string `json:"insertionCode"`
	ResidueName   string `json:"residueName"`
	State         string `json:"state"`
}

// preparationAsUsed is the preparation of a request's receptor.
func (p Params) preparationAsUsed() UsedPreparation {
	c := p.ReceptorPreparation.Completed()
	used := UsedPreparation{
		ProtonationPh: *c.ProtonationPh, AddHydrogens: *c.AddHydrogens, ProtonationMethod: *c.ProtonationMethod,
		ForceField: *c.ForceField, FixedProtonationStates: []UsedFixedState{}, RemoveComponents: components(c.RemoveComponents),
		RetainComponents: components(c.RetainComponents), Waters: valueOr(c.Waters, mol.WatersNone),
	}
	for _, f := range c.FixedProtonationStates {
		used.FixedProtonationStates = append(used.FixedProtonationStates, fixedState(f))
	}
	slices.SortStableFunc(used.FixedProtonationStates, func(a, b UsedFixedState) int {
		return cmp.Or(cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Residue, b.Residue),
			cmp.Compare(a.InsertionCode, b.InsertionCode))
	})
	return used
}

func fixedState(f mol.FixedProtonationState) UsedFixedState {
	return UsedFixedState{
		Chain: f.Chain, Residue: f.Residue, InsertionCode: strings.TrimSpace(valueOr(f.InsertionCode, "")),
		ResidueName: f.ResidueName, State: f.State,
	}
}

// components are component names in upper case, each once, in order.
func components(names []string) []string {
	upper := make([]string, len(names))
	for i, name := range names {
		upper[i] = strings.ToUpper(name)
	}
	return sorted(upper)
}

// sorted is a list in order, each entry once.
func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
