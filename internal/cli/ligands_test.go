package cli

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseLigand(t *testing.T) {
	t.Parallel()
	const aspirin = "CC(=O)Oc1ccccc1C(=O)O"
	tests := []struct{ flag, label, smiles string }{
		{"aspirin=" + aspirin, "aspirin", aspirin},
		{" imatinib mesylate = CC", "imatinib mesylate", "CC"},
		{"1,2-dichloroethane=ClCCCl", "1,2-dichloroethane", "ClCCCl"},
		{"β-alanine=NCCC(=O)O", "β-alanine", "NCCC(=O)O"},
		{"SB203580=CS(=O)c1ccc(cc1)-c1nc(c([nH]1)-c1ccncc1)", "SB203580", "CS(=O)c1ccc(cc1)-c1nc(c([nH]1)-c1ccncc1)"},
		{"BI2536=CCN1C(=O)CC1", "BI2536", "CCN1C(=O)CC1"},
		{"PP1=CC1=CC=C(C=C1)C2=NN(C3=NC=NC(=C23)N)C(C)(C)C", "PP1", "CC1=CC=C(C=C1)C2=NN(C3=NC=NC(=C23)N)C(C)(C)C"},
		{"1OF6=C=C", "1OF6", "C=C"}, {"C1=CCO", "C1", "CCO"}, {"CF101=CO", "CF101", "CO"},
		{"NO=CCO", "NO", "CCO"}, {"PIN=CCO", "PIN", "CCO"},
		{"(+)-catechin=Oc1ccccc1", "(+)-catechin", "Oc1ccccc1"}, {"[11C]PIB=Oc1ccccc1", "[11C]PIB", "Oc1ccccc1"},
		{"#7=CCO", "#7", "CCO"}, {"A=CC", "A", "CC"},
		{"CC = O", "CC", "O"}, {"C =CC", "C", "CC"}, {"NAME=CC=O", "NAME", "CC=O"}, {"x=O=C(O)C", "x", "O=C(O)C"},
		{"CCO", "", "CCO"}, {aspirin, "", aspirin}, {"O=C(O)c1ccccc1", "", "O=C(O)c1ccccc1"}, {"C1=CC=CC=C1", "", "C1=CC=CC=C1"},
		{"CC(C)=O", "", "CC(C)=O"}, {"C/C=C/C", "", "C/C=C/C"}, {"[Na+].[O-]C(=O)C", "", "[Na+].[O-]C(=O)C"},
	}
	for _, test := range tests {
		got, err := parseLigand(test.flag)
		if err != nil || got.label != test.label || got.smiles != test.smiles {
			t.Errorf("%q: got %q, %q, %v; want %q, %q", test.flag, got.label, got.smiles, err, test.label, test.smiles)
		}
	}
	for flag, want := range map[string]string{
		"imatinib=ccd:sti": "imatinib", "PP1=ccd:STI": "PP1", "ccd:sti": "STI", "CC = ccd:STI": "CC",
	} {
		if got, err := parseLigand(flag); err != nil || got.label != want || got.componentID != "STI" || got.smiles != "" {
			t.Errorf("%s: got %+v, %v", flag, got, err)
		}
	}
}

func TestLigandsThatAreNone(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"x=ccd:": "1 to 8 letters and digits", "x=ccd:S I": "1 to 8 letters and digits",
		"ccd:TOOLONGID": "1 to 8 letters and digits",
		"":              "write NAME=SMILES",
		"aspirin":       "write NAME=SMILES", "=CCO": "no name in front", "aspirin=": "there is no SMILES",
		"aspirin=C C": "a SMILES holds no space",
		"x=" + strings.Repeat("C", maxSMILESChars+1): "longer than 4096", strings.Repeat("z", maxLabelChars+1) +
			"=CC": "longer than 512",
		"aspirin=CC(=O":       `"CC(=O" is no SMILES: at character 6: a branch is not closed`,
		"CC(=O)Oc1ccccc1C(=O": "at character 20: a branch is not closed",
		"imatinib=STI":        `a component of the PDB is written ccd:STI`,
		"CC=O":                `Write --ligand "CC = O" for a ligand called CC, or --ligand "NAME=CC=O" for the molecule CC=O`,
		"C=CC":                "reads in two ways", "PCP=CC": "reads in two ways", "C1CC1=C": "reads in two ways",
	} {
		if got, err := parseLigand(flag); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %+v, %v; want a usage error with %q", flag, got, err, want)
		}
	}
}

// TestLigandsWithoutAName are called by their place in the library.
func TestLigandsWithoutAName(t *testing.T) {
	t.Parallel()
	all, err := gatherLigands([]string{"aspirin=CC(=O)O", "CCO", "ccd:STI", "O=CC"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, l := range all {
		labels = append(labels, l.label+"/"+l.id)
	}
	if got, want := strings.Join(labels, " "), "aspirin/aspirin ligand-2/ligand-2 STI/STI ligand-4/ligand-4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReadSMILES(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		want       []ligand // nil: an error that names the line
		place      string
	}{
		{"names", "CCO ethanol\nCC(=O)O\tacetic  acid\n", []ligand{{smiles: "CCO", label: "ethanol"},
			{smiles: "CC(=O)O", label: "acetic acid"}}, ""},
		{"no names", "CCO\n\n# a remark\nCC\n", []ligand{{smiles: "CCO", label: "ligand-1"}, {smiles: "CC", label: "ligand-4"}},
			""},
		{"Windows", "\ufeffCCO ethanol\r\nCC ethane\r\n", []ligand{{smiles: "CCO", label: "ethanol"},
			{smiles: "CC", label: "ethane"}}, ""},
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

// idPattern and its length are doc/contract.md §2.2's.
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
		labels := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching(`a{0,3}(-[0-9])?`),
			rapid.StringMatching(`b{126,130}`))).Draw(t, "labels")
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
