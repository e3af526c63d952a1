package scene

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
)

// kinaseTwice is ABL1 with imatinib in two copies: the entry's chain A, and the same 80 Å beside as chain B.
func kinaseTwice(t testing.TB) *Structure {
	t.Helper()
	file, err := os.Open(sample1IEP)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	var both, copied bytes.Buffer
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "ATOM") && !strings.HasPrefix(line, "HETATM") {
			continue
		}
		both.WriteString(line)
		var x float64
		if _, err := fmt.Sscan(strings.TrimSpace(line[30:38]), &x); err != nil {
			t.Fatal(err)
		}
		copied.WriteString(line[:21] + "B" + line[22:30] + fmt.Sprintf("%8.3f", x+80) + line[38:])
	}
	s, err := ReadStructure(append(both.Bytes(), copied.Bytes()...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loadedFrom(t testing.TB, source string) (Model, Files) {
	t.Helper()
	files := filesOf(t)
	m, _ := applied(t, files, NewModel(), `[{"op":"load","args":{"source":"`+source+`"}}]`)
	return m, files
}

// looks are the layers in words.
func looks(m Model) []string {
	texts := make([]string, len(m.Layers))
	for i, l := range m.Layers {
		texts[i] = l.Sel + ": " + l.As
		if l.Opacity != 1 {
			texts[i] += fmt.Sprintf(" %g", l.Opacity)
		}
	}
	return texts
}

func TestLooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, source, list, want string }{
		{"default", "pdb:1CBS", `[]`, "protein: cartoon|ligand: ball_and_stick"},
		{"default with ions", "pdb:1ATP", `[]`, "protein: cartoon|ligand: ball_and_stick|ion: spacefill"},
		{"replaces", "pdb:1CBS", `[{"op":"show","args":{"sel":"protein","as":"stick"}}]`, "ligand: ball_and_stick|protein: stick"},
		{"adds", "pdb:1CBS", `[{"op":"show","args":{"sel":"protein","as":"stick","add":true}}]`, "protein: cartoon|ligand: ball_and_stick|protein: stick"},
		{"a cartoon is cut at no residue", "pdb:1CBS", `[{"op":"show","args":{"sel":"resi 10-20","as":"stick"}}]`, "protein: cartoon|ligand: ball_and_stick|resi 10-20: stick"},
		{"a whole chain is replaced", "pdb:1ATP", `[{"op":"show","args":{"sel":"chain I","as":"stick"}}]`, "protein and not chain I: cartoon|ligand: ball_and_stick|ion: spacefill|chain I: stick"},
		{"a single residue by kind", "pdb:1CBS", `[{"op":"show","args":{"sel":"resi 10"}}]`, "protein: cartoon|ligand: ball_and_stick|resi 10: stick"},
		{"nothing is drawn twice", "pdb:1CBS", `[{"op":"show","args":{"sel":"protein","as":"cartoon"}},{"op":"show","args":{"sel":"ligand","as":"ball_and_stick"}}]`, "protein: cartoon|ligand: ball_and_stick"},
		{"hide all of a layer", "pdb:1CBS", `[{"op":"hide","args":{"sel":"ligand"}}]`, "protein: cartoon"},
		{"hide a part", "pdb:1CBS", `[{"op":"hide","args":{"sel":"resi 1-10"}}]`, "protein and not resi 1-10: cartoon|ligand: ball_and_stick"},
		{"and bring it back in one piece", "pdb:1CBS", `[{"op":"hide","args":{"sel":"resi 1-10"}},{"op":"show","args":{"sel":"all"}}]`, "protein: cartoon|ligand: ball_and_stick"},
		{"waters of a chain go with it", "pdb:1CBS", `[{"op":"show","args":{"sel":"water"}},{"op":"hide","args":{"sel":"chain A"}}]`, ""},
		{"isolate", "pdb:1ATP", `[{"op":"isolate","args":{"sel":"chain I"}}]`, "protein and chain I: cartoon"},
		{"isolate what is not shown", "pdb:1CBS", `[{"op":"isolate","args":{"sel":"water"}}]`, "water: ball_and_stick"},
		{"all again", "pdb:1ATP", `[{"op":"isolate","args":{"sel":"chain I"}},{"op":"show","args":{"sel":"all"}}]`, "protein: cartoon|ligand: ball_and_stick|ion: spacefill"},
		{"half transparent", "pdb:1CBS", `[{"op":"surface","args":{"sel":"polymer"}},{"op":"opacity","args":{"sel":"polymer","as":"surface","value":0.5}}]`, "protein: cartoon|ligand: ball_and_stick|polymer: surface 0.5"},
		{"a part transparent", "pdb:1CBS", `[{"op":"opacity","args":{"sel":"resi 1-10","value":0.5}}]`, "protein and not resi 1-10: cartoon|ligand: ball_and_stick|protein and resi 1-10: cartoon 0.5"},
		{"one surface", "pdb:1CBS", `[{"op":"surface","args":{"sel":"polymer"}},{"op":"surface","args":{"sel":"protein","opacity":0.2}},{"op":"show","args":{"sel":"resi 3","as":"line"}}]`, "protein: cartoon|ligand: ball_and_stick|protein: surface 0.2|resi 3: line"},
		{"goodsell and back", "pdb:1CBS", `[{"op":"preset","args":{"name":"goodsell"}},{"op":"show","args":{"sel":"all"}}]`, "protein: cartoon|ligand: ball_and_stick"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, files := loadedFrom(t, c.source)
			m, _ = applied(t, files, m, c.list)
			if got := strings.Join(looks(m), "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			compiled(t, files, m, CompileOptions{})
		})
	}
}

func TestQuestionsAndRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, source, list, want string }{
		{"which ligand", "pdb:2IEP", `[{"op":"focus","args":{"sel":"resn STI"}}]`, `{"op":"ask","args":{"about":"ligand","choices":["STI/A/201","STI/B/201"]}}`},
		{"which chain", "pdb:2IEP", `[{"op":"focus","args":{"sel":"resi 315"}}]`, `{"op":"ask","args":{"about":"chain","choices":["A","B"]}}`},
		{"which of two to measure from", "pdb:2IEP", `[{"op":"measure","args":{"kind":"distance","between":["resi 315 and name OG1","chain A and resi 318 and name N"]}}]`, `{"op":"ask","args":{"about":"chain","choices":["A","B"]}}`},
		{"which oxygen", "pdb:1CBS", `[{"op":"measure","args":{"kind":"distance","between":["ligand and elem O","resi 134 and name OH"]}}]`, `{"op":"ask","args":{"about":"target","choices":["O1","O2"]}}`},
		{"which pocket", "pdb:2IEP", `[{"op":"preset","args":{"name":"binding_site"}}]`, `{"op":"ask","args":{"about":"ligand","choices":["STI/A/201","STI/B/201"]}}`},
		{"no such chain", "pdb:1ATP", `[{"op":"focus","args":{"sel":"chain Z"}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"chain Z","alternative":"chains E, I"}}`},
		{"no such residue", "pdb:1CBS", `[{"op":"show","args":{"sel":"chain A and resi 900","as":"stick"}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"resi 900","alternative":"residues A 1-137"}}`},
		{"no such component", "pdb:1CBS", `[{"op":"hide","args":{"sel":"resn ATP"}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"resn ATP","alternative":"components REA"}}`},
		{"no ions", "pdb:1CBS", `[{"op":"show","args":{"sel":"ion"}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"ion","alternative":"components REA"}}`},
		{"no pLDDT", "pdb:1CBS", `[{"op":"color","args":{"sel":"polymer","by":"plddt"}}]`, `{"op":"refuse","args":{"reason":"needs_data","feature":"plddt","alternative":"colour by B-factor"}}`},
		{"no map", "pdb:1CBS", `[{"op":"volume","args":{"source":"artifact:none"}}]`, `{"op":"refuse","args":{"reason":"needs_data","feature":"map artifact:none","alternative":"upload the map and name its file"}}`},
		{"no surface to fade", "pdb:1CBS", `[{"op":"opacity","args":{"sel":"polymer","as":"surface","value":0.5}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"a surface of polymer","alternative":"show it first"}}`},
		{"no colour", "pdb:1CBS", `[{"op":"color","args":{"sel":"polymer","color":"octarine"}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"colour \"octarine\"","alternative":"a colour by its name in CSS, or as #rrggbb"}}`},
		{"no interface", "pdb:1CBS", `[{"op":"preset","args":{"name":"interface"}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"chains of polymer within 5 Å of each other","alternative":"an assembly or an entry with several chains"}}`},
		{"no assembly", "pdb:1CBS", `[{"op":"structure","args":{"assembly":"7"}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"assembly 7","alternative":"assemblies 1"}}`},
		{"no model", "pdb:1CBS", `[{"op":"structure","args":{"model":3}}]`, `{"op":"refuse","args":{"reason":"not_found","feature":"model 3","alternative":"models 1-1"}}`},
		{"what was asked stays asked", "pdb:1CBS", `[{"op":"ask","args":{"about":"color"}}]`, `{"op":"ask","args":{"about":"color"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, files := loadedFrom(t, c.source)
			operations, err := Parse([]byte(`[{"op":"background","args":{"color":"black"}},` + c.list[1:]))
			if err != nil {
				t.Fatal(err)
			}
			next, outcomes, err := Apply(m, files, operations)
			var operation Operation
			index := -1
			if question, ok := errors.AsType[*QuestionError](err); ok {
				operation, index = question.Operation(), question.Index
			}
			if refused, ok := errors.AsType[*RefusedError](err); ok {
				operation, index = refused.Operation(), refused.Index
			}
			got, _ := json.Marshal(operation)
			if string(got) != c.want || index != 1 {
				t.Errorf("got  %s at %d (%v)\nwant %s at 1", got, index, err, c.want)
			}
			if outcomes != nil || !reflect.DeepEqual(next, m) {
				t.Error("something was carried out")
			}
			if err := Validate([]Operation{operation}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheChoicesMeanOneEach(t *testing.T) {
	t.Parallel()
	m, files := loadedFrom(t, "pdb:2IEP")
	_, _, err := Apply(m, files, []Operation{Do(Focus{Sel: "resn STI"})})
	question, ok := errors.AsType[*QuestionError](err)
	if !ok || !reflect.DeepEqual(question.Selections, []string{"resn STI and chain A", "resn STI and chain B"}) {
		t.Fatalf("got %v", err)
	}
	m, _ = applied(t, files, m, `[{"op":"focus","args":{"sel":"resn STI and chain B"}}]`)
	m, outcomes := applied(t, files, m, `[{"op":"pocket","args":{"of":"ligand"}}]`)
	if !strings.Contains(strings.Join(outcomes[0].Warnings, " "), "STI/B/201") || m.Camera.Sel != "resn STI and chain B" {
		t.Errorf("what was in focus was not meant: %v, %s", outcomes[0], m.Camera.Sel)
	}
	for _, r := range outcomes[0].Selections {
		if r.Query == m.Last && (len(r.Chains) != 1 || r.Chains[0] != "B") {
			t.Errorf("the pocket is %+v", r)
		}
	}
}

func TestOutcomesCount(t *testing.T) {
	t.Parallel()
	m, files := loadedFrom(t, "pdb:1CBS")
	m, outcomes := applied(t, files, m, `[{"op":"select","args":{"sel":"byres (protein and within 4 of resn REA)","name":"pocket"}},{"op":"hide","args":{"sel":"water"}}]`)
	want := Resolved{"byres (protein and within 4 of resn REA)", []string{"A"}, 15, 122}
	if !reflect.DeepEqual(outcomes[0].Selections, []Resolved{want}) || m.Names["pocket"] != want.Query || m.Last != "water" {
		t.Errorf("got %+v, names %v, last %s", outcomes[0].Selections, m.Names, m.Last)
	}
	if len(outcomes[1].Warnings) != 1 || outcomes[1].Warnings[0] != "nothing of water was shown" {
		t.Errorf("got %v", outcomes[1].Warnings)
	}
	_, outcomes = applied(t, files, m, `[{"op":"measure","args":{"kind":"distance","between":["resi 134 and name OH","resi 200 and name O2"]}}]`)
	if outcomes[0].Text != "3.44 Å" {
		t.Errorf("the distance is %s", outcomes[0].Text)
	}
}

func TestPaintsThatAreHiddenGo(t *testing.T) {
	t.Parallel()
	m, files := loadedFrom(t, "pdb:1CBS")
	m, _ = applied(t, files, m, `[{"op":"color","args":{"sel":"resi 1-10","color":"red"}},{"op":"color","args":{"sel":"ligand","color":"green","carbons_only":true}},
		{"op":"color","args":{"sel":"protein","color":"blue"}},{"op":"color","args":{"sel":"ligand","color":"red","as":"stick"}}]`)
	var got []string
	for _, p := range m.Paints {
		got = append(got, p.Sel+" "+p.Color)
	}
	if want := []string{"ligand green", "protein blue", "ligand red"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTwoStructures(t *testing.T) {
	t.Parallel()
	m, files := loadedFrom(t, "pdb:1CBS")
	m, outcomes := applied(t, files, m, `[{"op":"load","args":{"source":"pdb:1ATP","add":true}},{"op":"color","args":{"sel":"protein","color":"red"}},{"op":"hide","args":{"sel":"chain E"}}]`)
	if outcomes[1].Selections[0].ResidueCount != 137+336+20 {
		t.Errorf("got %+v", outcomes[1].Selections)
	}
	const want = "protein: cartoon|ligand: ball_and_stick|protein and not chain E: cartoon"
	if got := strings.Join(looks(m), "|"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	compiled(t, files, m, CompileOptions{})
	_, outcomes = applied(t, files, m, `[{"op":"interactions","args":{"of":"resn REA"}}]`)
	if warned := strings.Join(outcomes[0].Warnings, " "); !strings.Contains(warned, "between two structures") {
		t.Errorf("nobody said that contacts between structures are not looked for: %q", warned)
	}
	_, _, err := Apply(m, files, []Operation{Do(Load{Source: "pdb:9XYZ"})})
	if missing, ok := errors.AsType[*MissingError](err); !ok || missing.Source != "pdb:9XYZ" {
		t.Errorf("got %v", err)
	}
}

// BenchmarkApplyAndCompile carries out a pocket with its labels, colours and a view on 1IEP twice, about 4,500 atoms.
func BenchmarkApplyAndCompile(b *testing.B) {
	m, files := loadedFrom(b, "pdb:2IEP")
	operations := []Operation{
		Do(Pocket{Of: "resn STI and chain A", Labels: true}), Do(Color{Sel: "helix", Color: "red"}), Do(Isolate{Sel: "chain A"}),
		Do(Interactions{Of: "resn STI and chain A", Types: []string{"hydrogen_bond"}}),
	}
	b.ReportMetric(float64(len(files["pdb:2IEP"].Structure.Table(0).Atoms)), "atoms")
	for b.Loop() {
		next, _, err := Apply(m, files, operations)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Compile(next, files, CompileOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
