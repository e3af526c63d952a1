// Package billing holds what things cost and who has paid: the price book, quotes, metering and the rule that turns metered
// use into a charge (all pure), and the double-entry ledger with its holds and monthly allowances in Postgres. It knows no
// HTTP, no Redis and no job: a job is an id that a hold and a charge belong to.
package billing

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Micropence is an amount of money in millionths of a penny. Metering counts in it, because a task of a few seconds costs a
// fraction of a penny; balances and charges are whole pence in an int64.
type Micropence int64

// MicropencePerPenny is one penny.
const MicropencePerPenny Micropence = 1_000_000

// Bounds on money, so that no sum of amounts can leave an int64.
const (
	// MaxPence bounds every balance, hold and charge: ten billion pounds, which is 1e18 in micropence.
	MaxPence int64 = 1_000_000_000_000
	// MaxTaskPence bounds what one attempt of one task may cost, one million pounds: 20,000 tasks with all their retries
	// still add up within an int64 of micropence.
	MaxTaskPence int64 = 100_000_000
	// MaxPricePence bounds one price of the book: ten thousand pounds a core-hour or GB.
	MaxPricePence int64 = 1_000_000
)

// priceDecimals is how many digits after the point a price may have: a micropenny is the smallest amount there is.
const priceDecimals = 6

var errOverflow = errors.New("the amount is beyond the limits of billing")

// RoundPence is the amount in whole pence, half a penny rounded up. m is not negative.
func (m Micropence) RoundPence() int64 {
	pence, rest := m/MicropencePerPenny, m%MicropencePerPenny
	if rest >= MicropencePerPenny/2 {
		pence++
	}
	return int64(pence)
}

// CeilPence is the amount in whole pence, any part of a penny rounded up. m is not negative.
func (m Micropence) CeilPence() int64 {
	pence := m / MicropencePerPenny
	if m%MicropencePerPenny > 0 {
		pence++
	}
	return int64(pence)
}

// Pence is the amount for the eyes of people. Nothing is computed with it: sums are taken in Micropence.
func (m Micropence) Pence() float64 { return float64(m) / float64(MicropencePerPenny) }

// UnmarshalYAML reads a price in pence as a decimal number, such as 24 or 0.035, exactly as it is written: between 0 and
// MaxPricePence, with at most six decimals, without sign or exponent.
func (m *Micropence) UnmarshalYAML(text []byte) error {
	number, _, _ := strings.Cut(string(text), "#") // the text brings the comment that follows it
	number = strings.TrimSpace(number)
	whole, fraction, _ := strings.Cut(number, ".")
	if len(fraction) > priceDecimals {
		return fmt.Errorf("price %s: at most %d decimals of a penny", number, priceDecimals)
	}
	// The fraction is filled up to micropence; bit size 63 keeps the result in an int64.
	value, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", priceDecimals-len(fraction)), 10, 63)
	if err != nil || whole == "" || value > uint64(MaxPricePence)*uint64(MicropencePerPenny) {
		return fmt.Errorf("price %s: a decimal number of pence between 0 and %d", number, MaxPricePence)
	}
	*m = Micropence(value)
	return nil
}

// MarshalText writes a price in pence.
func (m Micropence) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprintf("%d.%06d", m/MicropencePerPenny, m%MicropencePerPenny)), nil
}

// FromPence is a whole number of pence as micropence; pence lies within ±MaxPence.
func FromPence(pence int64) Micropence { return Micropence(pence) * MicropencePerPenny }

// Pounds is the exact amount in pounds as a decimal number: two places, and more only where the amount has them ("5.00",
// "0.0006668"). It is a JSON number.
func Pounds(m Micropence) json.Number {
	const micropencePerPound = 100 * MicropencePerPenny
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	decimals := fmt.Sprintf("%08d", m%micropencePerPound)
	for len(decimals) > 2 && decimals[len(decimals)-1] == '0' {
		decimals = decimals[:len(decimals)-1]
	}
	return json.Number(fmt.Sprintf("%s%d.%s", sign, m/micropencePerPound, decimals))
}

// Display is an amount for people: "£5.00", "-£0.05".
func Display(pence int64) string {
	pounds := Pounds(FromPence(pence)).String()
	if rest, negative := strings.CutPrefix(pounds, "-"); negative {
		return "-£" + rest
	}
	return "£" + pounds
}

// priced is amount × price / unit, half a micropenny rounded up, computed in 128 bits. amount is in the unit's own parts (CPU
// microseconds for a core-hour, bytes for a GB). Results beyond MaxPence are an error.
func priced(amount int64, price Micropence, unit uint64) (Micropence, error) {
	if amount < 0 || price < 0 {
		return 0, fmt.Errorf("amount %d at price %d: neither may be negative", amount, price)
	}
	high, low := bits.Mul64(uint64(amount), uint64(price))
	low, carry := bits.Add64(low, unit/2, 0)
	high += carry
	if high >= unit {
		return 0, errOverflow
	}
	result, _ := bits.Div64(high, low, unit)
	if result > uint64(MaxPence)*uint64(MicropencePerPenny) {
		return 0, errOverflow
	}
	return Micropence(result), nil
}
