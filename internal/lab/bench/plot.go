package bench

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The plots are written as SVG by hand: two kinds of them, with axes of a few ticks. The libraries for it bring fonts and image
// formats of nine megabytes into the program.

// Sizes are in pixels. The space around the field of a plot holds its title, its axes' names and the numbers on them.
const (
	plotWidth                                     = 840
	plotTop, plotRight, plotBottom, plotLeft      = 48, 24, 56, 104
	rowHeight, curvesHeight                       = 30, 320
	leastRatio, mostRatio                         = 0.001, 100_000 // beyond, a ratio is not drawn
	metColor, missedColor, voidColor, markedColor = "#1b7f4d", "#c0392b", "#8a8a8a", "#222222"
)

// curveColors are of the lines of a plot, in their order; they can be told apart without seeing red or green (Okabe and Ito 2008).
var curveColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// goalNumber finds the ratio in a goal like "≥ 0.98 (…)".
var goalNumber = regexp.MustCompile(`^[≥>] ([0-9]+(?:\.[0-9]+)?)`)

// goalOf is the ratio that a result is to reach; ok is false when its goal names none.
func goalOf(goal string) (ratio float64, ok bool) {
	found := goalNumber.FindStringSubmatch(goal)
	if found == nil {
		return 0, false
	}
	ratio, err := strconv.ParseFloat(found[1], 64)
	return ratio, err == nil && ratio > 0
}

// ratioRow is one benchmark of the plot of ratios: peer ÷ molfabric, on a logarithmic axis.
type ratioRow struct {
	id                      string
	median, lowest, highest float64
	goal                    float64 // 0 for none
	color                   string
}

// ratioRows are the results that can be drawn, in the order of the report.
func ratioRows(results []Result) []ratioRow {
	var rows []ratioRow
	for _, r := range results {
		c := r.Comparison
		if !(c.Lowest >= leastRatio && c.Highest <= mostRatio && c.Lowest <= c.Median && c.Median <= c.Highest) {
			continue
		}
		row := ratioRow{id: r.ID, median: c.Median, lowest: c.Lowest, highest: c.Highest, color: missedColor}
		row.goal, _ = goalOf(r.Goal)
		switch {
		case c.Void:
			row.color = voidColor
		case r.Met:
			row.color = metColor
		}
		rows = append(rows, row)
	}
	return rows
}

// drawing is an SVG that is being written.
type drawing struct {
	bytes.Buffer
	width, height float64
}

func newDrawing(height float64, title string) *drawing {
	p := &drawing{width: plotWidth, height: height}
	fmt.Fprintf(p,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" font-family="Helvetica, Arial, sans-serif" font-size="13">`+"\n",
		p.width, p.height, p.width, p.height)
	fmt.Fprintf(p, `<rect width="%g" height="%g" fill="white"/>`+"\n", p.width, p.height)
	p.text(p.width/2, 24, "middle", markedColor, title)
	return p
}

// text writes a text that begins, ends or has its middle (start, end, middle) at x.
func (p *drawing) text(x, y float64, anchor, color, text string) {
	fmt.Fprintf(p, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">`, x, y, anchor, color)
	_ = xml.EscapeText(p, []byte(text)) // a buffer takes everything
	p.WriteString("</text>\n")
}

func (p *drawing) line(x1, y1, x2, y2 float64, color string, width float64) {
	fmt.Fprintf(p, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%g"/>`+"\n", x1, y1, x2, y2, color,
		width)
}

func (p *drawing) dot(x, y, radius float64, color string) {
	fmt.Fprintf(p, `<circle cx="%.1f" cy="%.1f" r="%g" fill="%s"/>`+"\n", x, y, radius, color)
}

// save writes the drawing to a file.
func (p *drawing) save(path string) error {
	p.WriteString("</svg>\n")
	return os.WriteFile(path, p.Bytes(), 0o644)
}

// axis places values from least to most between two pixels, where least is below most. A logarithmic one has values above 0.
type axis struct {
	least, most float64
	from, to    float64
	log         bool
}

func (a axis) at(value float64) float64 {
	share := (value - a.least) / (a.most - a.least)
	if a.log {
		share = math.Log(value/a.least) / math.Log(a.most/a.least)
	}
	return a.from + share*(a.to-a.from)
}

// ticks are round values on the axis: powers of ten, of a short logarithmic one also 2 and 5 times one; else up to ten multiples of
// 1, 2 or 5 times one.
func (a axis) ticks() []float64 {
	var ticks []float64
	if a.log {
		factors := []float64{1}
		if a.most/a.least <= 100 {
			factors = []float64{1, 2, 5}
		}
		for power := math.Floor(math.Log10(a.least)); power <= math.Log10(a.most)+1e-9; power++ {
			for _, factor := range factors {
				if tick := factor * math.Pow(10, power); tick >= a.least*(1-1e-9) && tick <= a.most*(1+1e-9) {
					ticks = append(ticks, tick)
				}
			}
		}
		return ticks
	}
	step := math.Pow(10, math.Floor(math.Log10(a.most-a.least)))
	for _, finer := range []float64{2, 2.5, 2} { // 1 → 0.5 → 0.2 → 0.1
		if (a.most-a.least)/step < 4 {
			step /= finer
		}
	}
	for n := math.Ceil(a.least / step); n*step <= a.most*(1+1e-9); n++ {
		ticks = append(ticks, n*step)
	}
	return ticks
}

// decades widens a range to whole powers of ten, one at least.
func decades(least, most float64) (low, high float64) {
	low, high = math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	if low == high {
		high++
	}
	return math.Pow(10, low), math.Pow(10, high)
}

// horizontal draws the axis below the field, with a line of the grid at each tick.
func (p *drawing) horizontal(a axis, label string) {
	bottom := p.height - plotBottom
	for _, tick := range a.ticks() {
		p.line(a.at(tick), plotTop, a.at(tick), bottom, "#dddddd", 1)
		p.text(a.at(tick), bottom+18, "middle", markedColor, strconv.FormatFloat(tick, 'g', 6, 64))
	}
	p.text((a.from+a.to)/2, p.height-14, "middle", markedColor, label)
}

// vertical draws the axis beside the field.
func (p *drawing) vertical(a axis, label string) {
	for _, tick := range a.ticks() {
		p.line(plotLeft, a.at(tick), p.width-plotRight, a.at(tick), "#dddddd", 1)
		p.text(plotLeft-8, a.at(tick)+4, "end", markedColor, strconv.FormatFloat(tick, 'g', 6, 64))
	}
	p.text(plotLeft, plotTop-8, "end", markedColor, label)
}

// plotRatios draws the medians of all results with their ranges and goals.
func plotRatios(path string, report Report) error {
	rows := ratioRows(report.Results)
	if len(rows) == 0 {
		return nil
	}
	least, most := 1.0, 1.0
	for _, row := range rows {
		least, most = min(least, row.lowest), max(most, row.highest)
		if row.goal > 0 {
			least, most = min(least, row.goal), max(most, row.goal)
		}
	}
	p := newDrawing(plotTop+plotBottom+float64(rowHeight*len(rows)), "molfabric against its peers: median and range of the "+
		"paired ratios, peer ÷ molfabric")
	x := axis{from: plotLeft, to: p.width - plotRight, log: true}
	x.least, x.most = decades(least, most)
	p.horizontal(x, "above 1, molfabric needs less · green: goal met, red: missed, grey: void · bar: goal")
	p.line(x.at(1), plotTop, x.at(1), p.height-plotBottom, "#999999", 1)
	for i, row := range rows {
		y := plotTop + (float64(i)+0.5)*rowHeight
		p.text(plotLeft-10, y+4, "end", markedColor, row.id)
		p.line(x.at(row.lowest), y, x.at(row.highest), y, row.color, 3)
		p.dot(x.at(row.median), y, 5, row.color)
		if row.goal > 0 {
			p.line(x.at(row.goal), y-rowHeight/3, x.at(row.goal), y+rowHeight/3, markedColor, 2)
		}
	}
	return p.save(path)
}

// point is one of a curve.
type point = struct{ X, Y float64 }

// curve is one line of a plot.
type curve struct {
	name   string
	points []point
}

// plotCurves draws lines through their points, from 0 upwards. On a logarithmic axis every x must be above 0.
func plotCurves(path, title, xLabel, yLabel string, logX bool, curves ...curve) error {
	x, y := axis{least: math.Inf(1), most: math.Inf(-1), from: plotLeft, to: plotWidth - plotRight, log: logX},
		axis{from: plotTop + curvesHeight, to: plotTop}
	for _, c := range curves {
		for _, at := range c.points {
			x.least, x.most, y.most = min(x.least, at.X), max(x.most, at.X), max(y.most, at.Y)
		}
	}
	if !(x.least < x.most && y.most > 0) {
		return nil // nothing to draw
	}
	p := newDrawing(plotTop+curvesHeight+plotBottom, title)
	p.horizontal(x, xLabel)
	p.vertical(y, yLabel)
	for i, c := range curves {
		color := curveColors[i%len(curveColors)]
		for j, at := range c.points {
			if j > 0 {
				p.line(x.at(c.points[j-1].X), y.at(c.points[j-1].Y), x.at(at.X), y.at(at.Y), color, 2)
			}
			p.dot(x.at(at.X), y.at(at.Y), 3, color)
		}
		p.text(plotLeft+12, y.from-12-18*float64(len(curves)-1-i), "start", color, c.name)
	}
	return p.save(path)
}

// efficiencyAt begins the names of B12's figures; the rest is the number of workers.
const efficiencyAt = "efficiencyAt"

// scaling reads the efficiency of fleets from B12's figures, by their size.
func scaling(figures map[string]float64) []point {
	points := []point{{1, 1}} // one worker is the measure
	for name, value := range figures {
		digits, found := strings.CutPrefix(name, efficiencyAt)
		if workers, err := strconv.Atoi(digits); found && err == nil && workers > 1 {
			points = append(points, point{float64(workers), value})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return int(a.X - b.X) })
	return points
}

// draw writes the plots of a report beside it.
func (r Report) draw(path string) error {
	folder := filepath.Dir(path)
	if err := plotRatios(filepath.Join(folder, "ratios.svg"), r); err != nil {
		return err
	}
	for _, result := range r.Results {
		if result.ID == "B12" {
			return plotCurves(filepath.Join(folder, "scaling.svg"), "Efficiency of N workers with N times the work of one: the "+
				"time of one ÷ the time of N", "workers (1 is linear)", "efficiency", true,
				curve{"measured", scaling(result.Figures)})
		}
	}
	return nil
}
