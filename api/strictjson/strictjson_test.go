package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/strictjson"
)

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, strictjson.MaxDepth) + `[]` + strings.Repeat(`}`, strictjson.MaxDepth)
	for _, one := range []struct{ name, body, want string }{
		{"empty", ``, "the JSON ends too early (line 1, column 1)"},
		{"word", `nope`, "this is not JSON: expected a value (line 1, column 1)"},
		{"missing value", "{\n  \"a\": }", "a: this is not JSON: expected a value (line 2, column 8)"},
		{"single quotes", `{'a':1}`, "this is not JSON: expected a member's name in double quotes (line 1, column 2)"},
		{"trailing comma", `{"a":[1,]}`, "a[1]: this is not JSON: expected a value (line 1, column 9)"},
		{"cut", `{"a":"b`, "a: the JSON ends inside a string (line 1, column 8)"},
		{"two values", `{} {}`, "the body goes on after the end of its JSON value (line 1, column 4)"},
		{"duplicate", `{"a":{"b":1,"c":2,"b":3}}`, "a.b: the member appears twice (line 1, column 19)"},
		{"duplicate by escape", `{"ab":1,"\u0061b":3}`, "ab: the member appears twice (line 1, column 9)"},
		{"leading zero", `{"a":01}`, "this is not JSON: expected a comma or a closing brace (line 1, column 7)"},
		{"bare point", `[1.]`, "[0]: this is not JSON: a number needs a digit after its point (line 1, column 4)"},
		{"too large", `{"a":1e999}`, "a: the number is too large (line 1, column 6)"},
		{"control", "{\"a\":\"x\ny\"}", "a: a control character in a string must be escaped (line 1, column 8)"},
		{"nul", `{"a":"\u0000"}`, "a: the character U+0000 is not allowed (line 1, column 7)"},
		{"lone surrogate", `{"a":"\ud800x"}`, "a: half of a surrogate pair is not a character (line 1, column 7)"},
		{"not UTF-8", "{\"a\":\"\xff\"}", "the body is not UTF-8 (line 1, column 7)"},
		{"too many", "[" + strings.Repeat("0,", strictjson.MaxValues) + "0]",
			"the body holds more than 2000000 values (line 1, column 4000000)"},
		{"too deep", deep, "nesting is deeper than 64 levels (line 1, column 321)"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			_, err := strictjson.Check([]byte(one.body))
			if err == nil || !strings.HasSuffix(err.Error(), one.want) {
				t.Errorf("Check(%.200q) = %v, want %q", one.body, err, one.want)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for body, null := range map[string]bool{
		`{}`: false, ` [] `: false, `"x"`: false, `-0.5e-3`: false, `null`: true,
		`{"a":12345678901234567890,"b":"\ud83d\ude00 ü \" \\"}`: false,
		`{"a":[{"b":null},{"b":1}],"b":{"a":true}}`:             true,
	} {
		got, err := strictjson.Check([]byte(body))
		if err != nil || got != null {
			t.Errorf("Check(%s) = %v, %v, want %v, nil", body, got, err, null)
		}
	}
}

// FuzzCheck compares with the standard decoder: what Check accepts is JSON.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"\u00e9",null,true]}`, `{"a":{"a":{}}}`, `[`, `"\x"`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := strictjson.Check(body); err == nil && !json.Valid(body) {
			t.Errorf("Check accepts %q, which is not JSON", body)
		}
	})
}

func TestUnmarshalTakesWholeNumbersAsIntegers(t *testing.T) {
	t.Parallel()
	var got struct {
		Step  int             `json:"step"`
		Ratio float64         `json:"ratio"`
		Raw   json.RawMessage `json:"raw"`
	}
	body := `{"step": 10.0, "ratio": 1.5, "raw": {"n":12345678901234567890, "s":"1.0"}}`
	if err := strictjson.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if want := `{"n":12345678901234567890, "s":"1.0"}`; got.Step != 10 || got.Ratio != 1.5 || string(got.Raw) != want {
		t.Errorf("got %+v, raw %s; want 10, 1.5, %s", got, got.Raw, want)
	}
	err := strictjson.Unmarshal([]byte(`{"step": 1e30}`), &got)
	if want := "step: the number is out of range"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRefuseNulls(t *testing.T) {
	t.Parallel()
	text := &huma.Schema{Type: huma.TypeString}
	schema := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
		"name":     text,
		"nickname": {Type: huma.TypeString, Nullable: true},
		"metadata": {},
		"list": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject,
			Properties: map[string]*huma.Schema{"label": text}}},
		"source": {OneOf: []*huma.Schema{
			{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"smiles": text}},
			{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"component": text}},
		}},
		"tags": {Type: huma.TypeObject, AdditionalProperties: text},
	}}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	for body, path := range map[string]string{
		`{"nickname":null,"metadata":{"a":null},"unknown":null}`: "",
		`{"name":null}`:                           "name",
		`{"metadata":null}`:                       "",
		`{"list":[{"label":"x"},{"label":null}]}`: "list[1].label",
		`{"source":{"component":null}}`:           "source.component",
		`{"tags":{"a":null}}`:                     "tags.a",
		`{"source":null}`:                         "source",
	} {
		err := strictjson.RefuseNulls(registry, schema, []byte(body))
		if path == "" && err != nil || path != "" && (err == nil || !strings.HasPrefix(err.Error(), path+": null is not allowed")) {
			t.Errorf("RefuseNulls(%s) = %v, want path %q", body, err, path)
		}
	}
}
