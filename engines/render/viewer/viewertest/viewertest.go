// Package viewertest makes structures that tests of rendering draw.
package viewertest

import (
	"fmt"
	"math"
	"strings"
)

// Helix is an ideal alpha helix of so many alanines as PDB, 1.5 Å long for each of them and 5 Å wide, along the z axis.
func Helix(residues int) string {
	var text strings.Builder
	serial := 0
	for i := range residues {
		for _, atom := range []struct {
			name                     string
			radius, degrees, forward float64 // Å around and along the axis, of the residue's place
		}{{"N", 1.55, -28, -0.9}, {"CA", 2.3, 0, 0}, {"C", 1.65, 26.5, 1.1}, {"O", 2.0, 32, 2.3}, {"CB", 3.3, -18, -0.4}} {
			serial++
			turn := (100*float64(i) + atom.degrees) * math.Pi / 180
			fmt.Fprintf(&text, "ATOM  %5d  %-3s ALA A%4d    %8.3f%8.3f%8.3f  1.00  0.00           %c\n",
				serial, atom.name, i+1, atom.radius*math.Cos(turn), atom.radius*math.Sin(turn), 1.5*float64(i)+atom.forward,
				atom.name[0])
		}
	}
	return text.String() + "END\n"
}
