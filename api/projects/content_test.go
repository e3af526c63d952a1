package projects

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
)

// TestCanonicalExamples holds the examples of RFC 8785 and what its text says of corners.
func TestCanonicalExamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, given, want string }{
		{
			"section 3.2.2",
			"{\n  \"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],\n" +
				`  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",` + "\n" +
				"  \"literals\": [null, true, false]\n}",
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"section 3.2.3, sorted by UTF-16 code units",
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
				`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
				`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		},
		{"empty", " { } ", `{}`},
		{"nothing is escaped without need", `{"\u003c\u2028/":"\u007f\u2029>&'"}`, "{\"<\u2028/\":\"\u007f\u2029>&'\"}"},
		{"control characters", `{"x":"\b\t\n\f\r\u0001\u001F"}`, `{"x":"\b\t\n\f\r\u0001\u001f"}`},
		{"arrays keep their order, objects in them do not", `{"x":[3,{"b":1,"a":[]},1]}`, `{"x":[3,{"a":[],"b":1},1]}`},
		{"a name that starts another comes after it", `{"aa":1,"a":2,"":3,"A":4}`, `{"":3,"A":4,"a":2,"aa":1}`},
		{"no Unicode normalisation", `{"` + "e\u0301" + `":1,"` + "\u00e9" + `":2}`, `{"` + "e\u0301" + `":1,"` + "\u00e9" +
			`":2}`},
		{"integers beyond 2^53 are doubles", `{"x":12345678901234567890}`, `{"x":12345678901234567000}`},
		{"too small for a double", `{"x":1e-400}`, `{"x":0}`},
	} {
		got, err := canonical([]byte(c.given))
		if err != nil || string(got.Content) != c.want {
			t.Errorf("%s: got %s (%v), want %s", c.name, got.Content, err, c.want)
		}
		if sum := sha256.Sum256([]byte(c.want)); got.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: digest %s", c.name, got.SHA256)
		}
	}
}

// TestCanonicalNumbers holds the samples of RFC 8785, appendix B, as bits of a double.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0",
		0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325", 0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		value := math.Float64frombits(bits)
		given := fmt.Sprintf(`{"x":%.17e}`, value)
		got, err := canonical([]byte(given))
		if err != nil || string(got.Content) != `{"x":`+want+`}` {
			t.Errorf("%016x, given as %s: got %s (%v), want %s", bits, given, got.Content, err, want)
		}
	}
	for _, bits := range []uint64{0x7fffffffffffffff, 0x7ff0000000000000} {
		if text, err := jcs.NumberToJSON(math.Float64frombits(bits)); err == nil {
			t.Errorf("%016x is written as %s", bits, text)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for _, given := range []string{``, `{`, `{"x":}`, `{"x":1,}`, `{"x":[1,]}`, `{"x":01}`, `{"x":NaN}`, `{"x":1e999}`, `{"x":1}{`,
		`{"x":1,"x":2}`, `{"a":1,"\u0061":2}`, `{"x":"\ud800"}`, "{\"x\":\"\xff\"}"} {
		if got, err := canonical([]byte(given)); !fault.Is(err, fault.Validation) {
			t.Errorf("%q: %s, %v", given, got.Content, err)
		}
	}
	deep := strings.Repeat(`{"x":`, 100_000) + `1` + strings.Repeat(`}`, 100_000)
	if _, err := canonical([]byte(deep)); !fault.Is(err, fault.Validation) {
		t.Errorf("100,000 levels: %v", err)
	}
	long := []byte(`{"x":"` + strings.Repeat("a", MaxContentBytes) + `"}`)
	if _, err := canonical(long); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("%d bytes: %v", len(long), err)
	}
}

// TestCanonicalKeepsTheValue: the canonical form means the same, is its own canonical form, and does not depend on how the value
// was written.
func TestCanonicalKeepsTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOfN(rapid.String(), anyValue(3), 1, 12).Draw(t, "value")
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		one, err1 := canonical(text)
		two, err2 := canonical(indented.Bytes())
		three, err3 := canonical(one.Content)
		if err1 != nil || err2 != nil || err3 != nil || one.SHA256 != two.SHA256 || !bytes.Equal(one.Content, three.Content) {
			t.Fatalf("%s: %s, %s, %s", text, one.Content, two.Content, three.Content)
		}
		var back map[string]any
		if err := json.Unmarshal(one.Content, &back); err != nil {
			t.Fatal(err)
		}
		// encoding/json sorts by bytes and escapes differently; through it both must agree.
		if again, err := json.Marshal(back); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%s became %s", text, again)
		}
	})
}

// anyValue draws a JSON value; numbers by their bits, without those that JSON does not have and without -0, which JCS drops.
func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 8, 8), func(raw []byte) float64 {
			value := math.Float64frombits(binary.BigEndian.Uint64(raw))
			if math.IsNaN(value) || math.IsInf(value, 0) || value == 0 {
				return 0
			}
			return value
		}).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	below := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) })
	return rapid.OneOf(append(scalars, rapid.SliceOfN(below, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), below, 0, 4).AsAny())...)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	one, other := tokens{ringOf(t, "a")}, tokens{ringOf(t, "b")}
	both := tokens{ringOf(t, "b", "a")}
	rapid.Check(t, func(t *rapid.T) {
		share := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "share"))
		token := one.make(share)
		if got, ok := one.read(token); !ok || got != share {
			t.Fatalf("%s is not read", token)
		}
		if _, ok := other.read(token); ok {
			t.Fatal("a token of one secret is taken with another")
		}
		if got, ok := both.read(token); !ok || got != share || both.make(share) != other.make(share) {
			t.Fatal("a ring does not read what its earlier secret made, or does not make under its sealing one")
		}
		at := rapid.IntRange(0, len(token)-1).Draw(t, "at")
		changed := token[:at] + string(rapid.SampledFrom([]byte("ABCxyz019-_=.")).Draw(t, "character")) + token[at+1:]
		if _, ok := one.read(changed); ok && changed != token {
			t.Fatalf("%s is taken for %s", changed, token)
		}
	})
}

// ringOf is a ring of secrets that are each one letter repeated.
func ringOf(t *testing.T, sealing string, others ...string) secret.Ring {
	t.Helper()
	var more [][]byte
	for _, one := range others {
		more = append(more, bytes.Repeat([]byte(one), secret.MinBytes))
	}
	ring, err := secret.NewRing(bytes.Repeat([]byte(sealing), secret.MinBytes), more...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}
