package scene

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/molfabric/molfabric/internal/molviewspec"
)

//go:embed colors.txt
var colorTable string

// colorValues are the colours that have names, as 0xrrggbb.
var colorValues = sync.OnceValue(func() map[string]int64 {
	values := map[string]int64{}
	for line := range strings.Lines(colorTable) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " #")
		values[name], _ = strconv.ParseInt(value, 16, 32) // a test reads the table
	}
	return values
})

// checkColor refuses what is no colour.
func checkColor(text string) error {
	if text != "" && !molviewspec.IsColor(text) {
		return refusal(notFound, fmt.Sprintf("colour %q", text), "a colour by its name in CSS, or as #rrggbb")
	}
	return nil
}

// colorValue is a colour as red, green and blue from 0 to 255.
func colorValue(text string) [3]float64 {
	value, known := colorValues()[text]
	if !known {
		value, _ = strconv.ParseInt(strings.TrimPrefix(text, "#"), 16, 32) // checkColor has seen it
	}
	return [3]float64{float64(value >> 16 & 255), float64(value >> 8 & 255), float64(value & 255)}
}

// palettes are those that run through a range of values.
var palettes = setOf(`Reds Oranges Greens Blues Purples Greys OrRd BuGn PuBuGn GnBu PuBu BuPu RdPu PuRd YlOrRd YlOrBr YlGn YlGnBu Magma
	Inferno Plasma Viridis Cividis Turbo Warm Cool CubehelixDefault Rainbow Sinebow RdBu RdGy PiYG BrBG PRGn PuOr RdYlGn RdYlBu Spectral`)
