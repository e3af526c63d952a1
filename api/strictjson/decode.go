package strictjson

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	json "github.com/go-json-experiment/json/v1" // as encoding/json, in half the time
)

// maxExactInteger is the largest magnitude below which every integer is a float64 (2^53).
const maxExactInteger = 1 << 53

// Unmarshal is json.Unmarshal for a body that Check has passed and a schema has validated. A whole number written with a
// point or an exponent (10.0, 1e3) is an integer in JSON Schema and is taken as one. An error names the member and the rule,
// never the value. Anything fits an empty interface.
func Unmarshal(raw []byte, v any) error {
	if isAny(v) {
		return jsonv2.Unmarshal(raw, v)
	}
	err := json.Unmarshal(raw, v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && strings.HasPrefix(mismatch.Value, "number") {
		err = json.Unmarshal(wholeNumbers(raw), v)
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		if strings.HasPrefix(mismatch.Value, "number") {
			return fmt.Errorf("%s: the number is out of range", mismatch.Field)
		}
		return fmt.Errorf("%s: the value has the wrong type", mismatch.Field)
	default:
		return errors.New("the body does not fit the operation's schema")
	}
}

func isAny(v any) bool {
	t := reflect.TypeOf(v)
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Interface
}

// wholeNumbers rewrites every number literal of valid JSON that has a point or an exponent and a whole value (10.0, 1e3) as
// a plain integer.
func wholeNumbers(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for at := 0; at < len(raw); {
		switch c := raw[at]; {
		case c == '"':
			end := stringEnd(raw, at)
			out, at = append(out, raw[at:end]...), end
		case c == '-' || '0' <= c && c <= '9':
			end := numberEnd(raw, at)
			out, at = append(out, wholeNumber(raw[at:end])...), end
		default:
			out, at = append(out, c), at+1
		}
	}
	return out
}

func wholeNumber(literal []byte) []byte {
	if !strings.ContainsAny(string(literal), ".eE") {
		return literal
	}
	v, err := strconv.ParseFloat(string(literal), 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > maxExactInteger {
		return literal
	}
	return strconv.AppendInt(nil, int64(v), 10)
}

func stringEnd(raw []byte, at int) int {
	for at++; at < len(raw) && raw[at] != '"'; at++ {
		if raw[at] == '\\' {
			at++
		}
	}
	return min(at+1, len(raw))
}

func numberEnd(raw []byte, at int) int {
	for at < len(raw) && strings.IndexByte("+-.eE0123456789", raw[at]) >= 0 {
		at++
	}
	return at
}
