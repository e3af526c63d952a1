package frames

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxTextBytes bounds a range expression: some ten thousand single frames.
const MaxTextBytes = 64 << 10

// maxDigits bounds a number, leading zeros included, so that it fits into an int64 whatever it is.
const maxDigits = 18

// Parse reads a range expression of Open Job Description: elements joined by ",", each "a", "a-b" or "a-b:step", with both ends
// inclusive. Numbers may be negative, blanks and tabs may stand around everything, a descending range needs a negative step, and
// elements may come in any order but must not overlap. The ranges are merged (Merge). An error says where and what is allowed.
func Parse(text string) ([]Range, error) {
	if len(text) > MaxTextBytes {
		return nil, fmt.Errorf("has more than %d characters", MaxTextBytes)
	}
	p := parser{text: text}
	var ranges []Range
	for {
		r, err := p.element()
		if err != nil {
			return nil, fmt.Errorf("at character %d: %w", p.at+1, err)
		}
		ranges = append(ranges, r)
		if p.space(); p.at == len(text) {
			return Merge(ranges)
		}
		if !p.take(',') {
			return nil, fmt.Errorf("at character %d: expected a comma between ranges such as 1-100:10", p.at+1)
		}
	}
}

// Format writes ranges as an expression that Parse reads as the same.
func Format(ranges []Range) string {
	parts := make([]string, len(ranges))
	for i, r := range ranges {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}

// String writes the range as an element of an expression.
func (r Range) String() string {
	switch {
	case r.First == r.Last:
		return strconv.FormatInt(r.First, 10)
	case r.First+r.Step == r.Last && r.Step > 1:
		return fmt.Sprintf("%d,%d", r.First, r.Last)
	case r.Step == 1:
		return fmt.Sprintf("%d-%d", r.First, r.Last)
	}
	return fmt.Sprintf("%d-%d:%d", r.First, r.Last, r.Step)
}

type parser struct {
	text string
	at   int
}

func (p *parser) element() (Range, error) {
	first, err := p.number()
	if err != nil {
		return Range{}, err
	}
	if !p.take('-') {
		return Span(first, first, 1)
	}
	last, err := p.number()
	if err != nil {
		return Range{}, err
	}
	step := int64(1)
	if p.take(':') {
		if step, err = p.number(); err != nil {
			return Range{}, err
		}
	}
	return Span(first, last, step)
}

func (p *parser) number() (int64, error) {
	p.space()
	start, end := p.at, p.at
	if end < len(p.text) && p.text[end] == '-' {
		end++
	}
	digits := end
	for end < len(p.text) && '0' <= p.text[end] && p.text[end] <= '9' {
		end++
	}
	if end == digits {
		return 0, errors.New("expected a whole number")
	}
	if end-digits > maxDigits {
		return 0, fmt.Errorf("a number has at most %d digits", maxDigits)
	}
	number, err := strconv.ParseInt(p.text[start:end], 10, 64)
	if err != nil {
		return 0, errors.New("expected a whole number")
	}
	p.at = end
	return number, nil
}

// take steps over c when it comes next.
func (p *parser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}
