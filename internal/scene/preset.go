package scene

import (
	"fmt"
	"slices"
	"strings"
)

// preset carries out the list of operations that stands under a name.
func (a *applier) preset(args Preset) error {
	on, off := true, false
	sel := func(usual string) string {
		if args.Sel != "" {
			return args.Sel
		}
		return usual
	}
	switch args.Name {
	case "publication":
		return a.doAll([]Args{Background{Color: defaultBackground}, Effects{Outline: &on, Occlusion: &on, Shadow: &off, Fog: &off}})
	case "goodsell":
		return a.goodsell(sel("all"))
	case "binding_site":
		return a.bindingSite(sel("ligand"))
	case "interface":
		return a.interfaces(sel("polymer"))
	case "bfactor_putty":
		of := sel("polymer")
		return a.doAll([]Args{Show{Sel: of, As: "putty"}, Color{Sel: of, By: "bfactor", As: "putty"}})
	case "plddt":
		of := sel("polymer")
		return a.doAll([]Args{Color{Sel: of, By: "plddt"}})
	case "hydrophobic_surface":
		return a.do(Surface{Sel: sel("protein"), By: "hydrophobicity"})
	}
	return a.defaultLooks()
}

// defaultLooks draws the structures as when they were loaded; the camera stays.
func (a *applier) defaultLooks() error {
	camera := a.Camera
	if err := a.reset(Reset{What: "scene"}); err != nil {
		return err
	}
	a.Camera = camera
	return nil
}

// goodsell draws atoms as flat spheres with outlines, as D. S. Goodsell paints cells.
func (a *applier) goodsell(of string) error {
	query, sets, err := a.meant(of)
	if err != nil {
		return err
	}
	for i, set := range sets {
		if set.isEmpty() {
			continue
		}
		for l := len(a.Layers) - 1; l >= 0; l-- {
			if a.Layers[l].Structure == i {
				a.takeAway(l, set, query)
			}
		}
		a.addLayer(i, part{"spacefill", set, query}).Style = "illustrative"
	}
	on, off := true, false
	return a.doAll([]Args{Background{Color: defaultBackground}, Effects{Outline: &on, Occlusion: &on, Shadow: &off}})
}

// bindingSite shows a pocket with its labels and contacts.
func (a *applier) bindingSite(of string) error {
	query, sets, err := a.meant(of)
	if err == nil {
		query, _, err = a.one(query, sets)
	}
	if err != nil {
		return err
	}
	return a.doAll([]Args{Pocket{Of: query, Labels: true}, Interactions{Of: query}})
}

// interfaces shows the residues of each chain that are near another one.
func (a *applier) interfaces(of string) error {
	query, sets, err := a.meant(of)
	if err != nil {
		return err
	}
	var texts []string
	for i, set := range sets {
		t := a.tables[i]
		var chains []string
		for _, residue := range t.touched(set) {
			if chain := t.Residues[residue].Chain; !slices.Contains(chains, chain) {
				chains = append(chains, chain)
			}
		}
		found := newSet(len(t.Atoms))
		for _, chain := range chains {
			own := set.and(t.residues(func(r Residue) bool { return r.Chain == chain }))
			found = found.or(t.wholeResidues(own.and(t.within(defaultPocketAngstrom, set.less(own)))))
		}
		if !found.isEmpty() {
			texts = append(texts, t.spell(found))
		}
	}
	if len(texts) == 0 {
		return refusal(notFound, fmt.Sprintf("chains of %s within %g Å of each other", clip(query, 30), defaultPocketAngstrom),
			"an assembly or an entry with several chains")
	}
	found := strings.Join(texts, " or ")
	if err := a.do(Show{Sel: found, As: "stick"}); err != nil {
		return err
	}
	a.look(a.Last, defaultMarginAngstrom)
	return nil
}
