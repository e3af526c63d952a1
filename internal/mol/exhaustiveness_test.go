package mol

import (
	"encoding/json"
	"testing"
)

func TestExhaustivenessIsANumberOrAuto(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Exhaustiveness{"1": 1, " 128 ": 128, `"auto"`: AutoExhaustiveness} {
		var got Exhaustiveness
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
		again, err := json.Marshal(got)
		if err != nil || json.Unmarshal(again, &got) != nil || got != want {
			t.Errorf("%s: written as %s, %v", text, again, err)
		}
	}
	for _, text := range []string{"0", "129", "-1", "1.5", `"8"`, `"AUTO"`, `""`, "null", "[]", "{}", "true"} {
		got := Exhaustiveness(8)
		if err := got.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s: got %v, want an error", text, got)
		}
	}
}
