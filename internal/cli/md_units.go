package cli

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// dimension is what a quantity on the command line measures: its units and their size in the first of them.
type dimension struct {
	units   []unit
	example string
	bare    bool // a number alone is in the first unit, as there is no other
}

type unit struct {
	name string
	size float64
}

var (
	timeUnits        = dimension{units: []unit{{"fs", 1}, {"ps", 1e3}, {"ns", 1e6}, {"us", 1e9}}, example: "10ns"}
	temperatureUnits = dimension{units: []unit{{"K", 1}}, example: "300K", bare: true}
	pressureUnits    = dimension{units: []unit{{"bar", 1}}, example: "1bar", bare: true}
)

// quantityForm is a number and its unit, perhaps with a space between them.
var quantityForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?) ?([A-Za-zµμ]*)$`)

// parseQuantity reads a flag's value, such as 10ns, into the dimension's first unit. The error is a usage error that says what is
// allowed.
func parseQuantity(flag, text string, d dimension) (float64, error) {
	match := quantityForm.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return 0, usage("%s %q: write a number and a unit (%s), such as %s", flag, text, d.allowed(), d.example)
	}
	name := strings.NewReplacer("µ", "u", "μ", "u").Replace(match[2])
	if name == "" && d.bare {
		name = d.units[0].name
	}
	i := slices.IndexFunc(d.units, func(u unit) bool { return u.name == name })
	switch {
	case name == "":
		return 0, usage("%s %s: has no unit; must be in %s, such as %s", flag, text, d.allowed(), d.example)
	case i < 0:
		return 0, usage("%s %s: %q is no unit that is known here; must be in %s, such as %s", flag, text, match[2], d.allowed(),
			d.example)
	}
	number, err := strconv.ParseFloat(match[1], 64)
	if value := number * d.units[i].size; err == nil && !math.IsInf(value, 0) {
		return value, nil
	}
	return 0, usage("%s %s: is too large", flag, text)
}

func (d dimension) allowed() string {
	var names []string
	for _, u := range d.units {
		names = append(names, u.name)
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// timeText writes a time in fs with the unit that suits it: 10 ns, 2.5 ps.
func timeText(fs float64) string {
	chosen := timeUnits.units[0]
	for _, u := range timeUnits.units {
		if fs >= u.size {
			chosen = u
		}
	}
	return strconv.FormatFloat(fs/chosen.size, 'g', 6, 64) + " " + chosen.name
}

// stepsOf is the nearest number of steps of timestepFs to a time, both in fs.
func stepsOf(fs, timestepFs float64) int64 { return int64(math.Round(fs / timestepFs)) }
