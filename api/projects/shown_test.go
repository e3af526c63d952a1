package projects

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

// TestShownIsIndentedJSON: the page's text is what encoding/json would indent, and its beginning where that is too long.
func TestShownIsIndentedJSON(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		`{}`, `{"a":{},"b":[],"c":[{}],"d":[[],1]}`, `{"a":1,"b":[true,null,-1.5e-7],"c":{"d":"e"}}`,
		`{"a\"b":"[{,:\\","c":"\\\"}","ä":"\u0001 ]"}`, `{"":{"":{"":[[[0],[1]]]}}}`,
	} {
		var whole bytes.Buffer
		if err := json.Indent(&whole, []byte(content), "", "  "); err != nil {
			t.Fatal(err)
		}
		for limit := range whole.Len() + 2 {
			want := strings.ToValidUTF8(whole.String()[:min(limit, whole.Len())], "")
			if text, cut := shown(contract.Content(content), limit); text != want || cut != (limit < whole.Len()) {
				t.Fatalf("%s in %d bytes: %v\n%s\nwant\n%s", content, limit, cut, text, want)
			}
		}
	}
}

// TestShownStopsAtItsLimit: whoever has a link cannot make the service write out what nobody will see. Indented, this content
// has 250 MB. It runs beside no other test, because the memory of the whole process is counted.
func TestShownStopsAtItsLimit(t *testing.T) {
	const depth = 60
	deep := contract.Content(`{"a":` + strings.Repeat("[", depth) + strings.Repeat("0,", 2_000_000) + "0" +
		strings.Repeat("]", depth) + `}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, cut := shown(deep, maxShownBytes)
	runtime.ReadMemStats(&after)
	if len(text) != maxShownBytes || !cut {
		t.Errorf("%d bytes, cut: %v", len(text), cut)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*maxShownBytes {
		t.Errorf("%d bytes of memory for a text of %d", took, maxShownBytes)
	}
}
