package cli

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseLigand(t *testing.T) {
	t.Parallel()
	tests := []struct{ flag, label, smiles string }{
		{"aspirin=CC(=O)Oc1ccccc1C(=O)O", "aspirin", "CC(=O)Oc1ccccc1C(=O)O"},
		{" imatinib mesylate = CC", "imatinib mesylate", "CC"},
		{"1,2-dichloroethane=ClCCCl", "1,2-dichloroethane", "ClCCCl"},
		{"β-alanine=NCCC(=O)O", "β-alanine", "NCCC(=O)O"},
	}
	for _, test := range tests {
		got, err := parseLigand(test.flag)
		if err != nil || got.label != test.label || got.smiles != test.smiles {
			t.Errorf("%q: got %q, %q, %v; want %q, %q", test.flag, got.label, got.smiles, err, test.label, test.smiles)
		}
	}
	if got, err := parseLigand("imatinib=ccd:sti"); err != nil || got.label != "imatinib" || got.componentID != "STI" || got.smiles != "" {
		t.Errorf("a component: got %+v, %v", got, err)
	}
	for _, flag := range []string{"x=ccd:", "x=ccd:S I", "x=ccd:TOOLONGID", "", "aspirin", "CCO", "CC=O", "CC(=O)O", "c1ccccc1C=C", "=CCO", "aspirin=", "aspirin=C C", "ClC=C", "x=" + strings.Repeat("C", maxSMILESChars+1)} {
		if got, err := parseLigand(flag); err == nil || ExitCode(err) != ExitUsage {
			t.Errorf("%q: got %+v, %v; want a usage error", flag, got, err)
		}
	}
}

func TestReadSMILES(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		want       []ligand // nil: an error that names the line
		place      string
	}{
		{"names", "CCO ethanol\nCC(=O)O\tacetic  acid\n", []ligand{{smiles: "CCO", label: "ethanol"}, {smiles: "CC(=O)O", label: "acetic acid"}}, ""},
		{"no names", "CCO\n\n# a remark\nCC\n", []ligand{{smiles: "CCO", label: "ligand-1"}, {smiles: "CC", label: "ligand-4"}}, ""},
		{"Windows", "\ufeffCCO ethanol\r\nCC ethane\r\n", []ligand{{smiles: "CCO", label: "ethanol"}, {smiles: "CC", label: "ethane"}}, ""},
		{"no end of line", "CCO ethanol", []ligand{{smiles: "CCO", label: "ethanol"}}, ""},
		{"empty", "\n# nothing\n", nil, "holds no ligand"},
		{"long SMILES", "CC a\n" + strings.Repeat("C", maxSMILESChars+1), nil, "x.smi:2:"},
		{"long name", "CC " + strings.Repeat("a", maxLabelChars+1), nil, "x.smi:1:"},
		{"no UTF-8", "CC \xff\xfe", nil, "x.smi:1:"},
		{"no lines", strings.Repeat("C", maxLineBytes+1), nil, "is it a .smi file?"},
		{"too many", strings.Repeat("C\n", maxLigands+1), nil, "more than 10000 ligands"},
	}
	for _, test := range tests {
		got, err := readSMILES(strings.NewReader(test.file), "x.smi")
		if test.want == nil {
			if err == nil || !strings.Contains(err.Error(), test.place) || ExitCode(err) != ExitInvalid {
				t.Errorf("%s: got %v, want an error with %q", test.name, err, test.place)
			}
			continue
		}
		if err != nil || len(got) != len(test.want) {
			t.Errorf("%s: got %+v, %v; want %+v", test.name, got, err, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: ligand %d: got %+v, want %+v", test.name, i, got[i], test.want[i])
			}
		}
	}
}

// FuzzReadSMILES: what is accepted keeps the bounds of the API.
func FuzzReadSMILES(f *testing.F) {
	f.Add("CCO ethanol\nCC(=O)O\tacetic acid\n")
	f.Add("\ufeff# remark\r\nC\r\n")
	f.Fuzz(func(t *testing.T, file string) {
		found, err := readSMILES(strings.NewReader(file), "x.smi")
		if err != nil {
			return
		}
		nameLigands(found)
		for _, l := range found {
			if err := l.check(); err != nil || l.label == "" || !idPattern.MatchString(l.id) {
				t.Fatalf("%q: accepted %+v: %v", file, l, err)
			}
		}
	})
}

// idPattern and its length are specification §2.2's.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

func TestSafeID(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"imatinib": "imatinib", "acetic acid": "acetic-acid", "../../etc": "etc", "β": "ligand", "": "ligand",
		"a/b\\c": "a-b-c", "-x-": "x", strings.Repeat("a", 200): strings.Repeat("a", 128),
	} {
		if got := safeID(label); got != want {
			t.Errorf("%q: got %q, want %q", label, got, want)
		}
	}
}

func TestIDsAreSafeAndUnique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching(`a{0,3}(-[0-9])?`), rapid.StringMatching(`b{126,130}`))).Draw(t, "labels")
		all := make([]ligand, len(labels))
		for i, label := range labels {
			all[i].label = label
		}
		nameLigands(all)
		seen := map[string]bool{}
		for _, l := range all {
			if !idPattern.MatchString(l.id) || seen[l.id] {
				t.Fatalf("label %q: id %q is unsafe or taken", l.label, l.id)
			}
			seen[l.id] = true
		}
	})
}
