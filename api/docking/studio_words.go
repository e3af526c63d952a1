package docking

import (
	"cmp"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
)

// noFigure stands where there is no figure, or not yet.
const noFigure = "–"

// studioWords turn values into what people read on the studio's pages.
var studioWords = template.FuncMap{
	"words":       words,
	"plural":      plural,
	"triple":      triple,
	"programName": titleOf,
	"boxOrigin":   func(source string) string { return cmp.Or(boxOrigins[source], source) },
	"moment":      func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") },
	"isTrue":      func(value *bool) bool { return value != nil && *value },
	"fixed":       fixed,
	"energy":      twoDecimals,
	"whole":       func(value *int) string { return cmp.Or(list.Whole(value), noFigure) },
	"money":       money,
}

// words are an identifier for people: hydrogen_bond and COMPLETED_WITH_FAILURES become hydrogen bond and completed with failures.
func words(identifier string) string {
	return strings.ToLower(strings.ReplaceAll(identifier, "_", " "))
}

// fixed is a figure with the minus sign of typographers, which lines up with digits.
func fixed(decimals int, value float64) string {
	return strings.Replace(strconv.FormatFloat(value, 'f', decimals, 64), "-", "−", 1)
}

// twoDecimals is a figure that may not be known.
func twoDecimals(value *float64) string {
	if value == nil {
		return noFigure
	}
	return fixed(2, *value)
}

// money is what a run has cost, or has cost so far.
func money(c contract.DockingCost) string {
	if c.Final != nil {
		return string(*c.Final) + " " + c.Currency
	}
	return string(c.Accrued) + " " + c.Currency + " so far"
}
