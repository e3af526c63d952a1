package scene

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, one, other, want string }{
		{"another order", `[{"op":"color","args":{"sel":"ligand","color":"red"}},{"op":"background","args":{"color":"black"}}]`,
			`[{"op":"background","args":{"color":"black"}},{"op":"color","args":{"sel":"ligand","color":"red"}}]`, ""},
		{"the same atoms", `[{"op":"show","args":{"sel":"resn REA","as":"stick"}}]`, `[{"op":"show","args":{"sel":"chain A and resi 200","as":"stick"}}]`, ""},
		{"a default filled in", `[{"op":"pocket","args":{"of":"ligand"}}]`, `[{"op":"pocket","args":{"of":"ligand","radius":5,"as":"stick"}}]`, ""},
		{"a pocket in two steps", `[{"op":"pocket","args":{"of":"ligand","labels":true}}]`,
			`[{"op":"show","args":{"sel":"byres (protein and within 5 of ligand)","as":"stick"}},{"op":"label","args":{"sel":"byres (protein and within 5 of ligand)","level":"residue"}},{"op":"focus","args":{"sel":"ligand"}}]`, ""},
		{"everything again", `[{"op":"hide","args":{"sel":"ligand"}},{"op":"show","args":{"sel":"all"}}]`, `[]`, ""},
		{"any blue", `[{"op":"color","args":{"sel":"protein","color":"#0066cc"}}]`, `[{"op":"color","args":{"sel":"protein","color":"blue"}}]`, ""},
		{"hex and name", `[{"op":"background","args":{"color":"#ffffff"}}]`, `[{"op":"background","args":{"color":"white"}}]`, ""},
		{"yellow is not orange", `[{"op":"color","args":{"sel":"protein","color":"yellow"}}]`, `[{"op":"color","args":{"sel":"protein","color":"orange"}}]`, "colour"},
		{"other atoms", `[{"op":"show","args":{"sel":"resi 3","as":"stick"}}]`, `[{"op":"show","args":{"sel":"resi 4","as":"stick"}}]`, "atoms"},
		{"another look", `[{"op":"show","args":{"sel":"ligand","as":"line"}}]`, `[{"op":"show","args":{"sel":"ligand","as":"stick"}}]`, "atoms atoms"},
		{"another opacity", `[{"op":"opacity","args":{"sel":"ligand","value":0.4}}]`, `[{"op":"opacity","args":{"sel":"ligand","value":0.5}}]`, "atoms atoms"},
		{"a colour more", `[{"op":"color","args":{"sel":"resi 1-10","color":"red"}}]`, `[]`, "colour"},
		{"labels", `[{"op":"label","args":{"sel":"resi 3","level":"residue"}}]`, `[{"op":"label","args":{"sel":"resi 3","level":"atom"}}]`, "labels"},
		{"camera", `[{"op":"focus","args":{"sel":"ligand"}}]`, `[{"op":"focus","args":{"sel":"protein"}}]`, "camera"},
		{"nearly the same zoom", `[{"op":"zoom","args":{"factor":0.8}}]`, `[{"op":"zoom","args":{"factor":0.6}}]`, ""},
		{"the other way", `[{"op":"zoom","args":{"factor":0.9}}]`, `[{"op":"zoom","args":{"factor":1.1}}]`, "camera"},
		{"a measurement from its other end", `[{"op":"measure","args":{"kind":"distance","between":["resi 134 and name OH","resi 200 and name O2"]}}]`,
			`[{"op":"measure","args":{"kind":"distance","between":["resn REA and name O2","resi 134 and name OH"]}}]`, ""},
		{"effects", `[{"op":"effects","args":{"outline":true}}]`, `[{"op":"effects","args":{"outline":false}}]`, "canvas"},
		{"a question that follows", `[{"op":"ask","args":{"about":"target","choices":["O1","O2"]}}]`,
			`[{"op":"measure","args":{"kind":"distance","between":["ligand and elem O","resi 134 and name OH"]}}]`, ""},
		{"a refusal that follows", `[{"op":"refuse","args":{"reason":"not_found","feature":"chain Z"}}]`, `[{"op":"focus","args":{"sel":"chain Z"}}]`, ""},
		{"a picture where a refusal was right", `[{"op":"refuse","args":{"reason":"needs_data","feature":"plddt"}}]`, `[{"op":"color","args":{"sel":"polymer","by":"bfactor"}}]`, "answer"},
		{"another order to render", `[{"op":"render","args":{"width":64}}]`, `[{"op":"export","args":{"format":"mvsj"}}]`, "answer"},
		{"selected", `[{"op":"select","args":{"sel":"helix"}}]`, `[{"op":"select","args":{"sel":"sheet"}}]`, "selection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, files := loadedFrom(t, "pdb:1CBS")
			read := func(list string) []Operation {
				operations, err := Parse([]byte(list))
				if err != nil {
					t.Fatal(err)
				}
				return operations
			}
			for _, pair := range [][2]string{{c.one, c.other}, {c.other, c.one}} {
				differences, err := Compare(m, files, read(pair[0]), read(pair[1]))
				var aspects []string
				for _, d := range differences {
					aspects = append(aspects, d.Aspect)
				}
				if got := strings.Join(aspects, " "); err != nil || got != c.want {
					t.Errorf("got %v, %v, want %q", differences, err, c.want)
				}
			}
		})
	}
}
