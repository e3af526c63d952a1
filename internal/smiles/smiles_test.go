package smiles

import (
	"strings"
	"testing"
)

// TestCheck holds what RDKit 2025 says of the same texts, unsanitised.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, good := range strings.Fields(`CC(=O)Oc1ccccc1C(=O)O C1=CC=CC=C1 [CH4] [nH]1cccc1 [C@@H](C)(N)O [Fe+2] [13CH3-:2] [H][H] [#6]
		[Si](C)(C)C [se]1cccc1 [si]1ccccc1 C%(12)CCCCC%(12) CC%10CC%10 C$C C~C C->[Fe] [Fe]<-C [C@TH1](F)(Cl)(Br)I [CH2--] C1CC1C1CC1 [*]
		C:C [CH0] C0CC0 [Al+3] C1CC1.C1CC1 C1.C1
		C/C=C\C [ReH9-2] [Co] [15NH4+] [C@OH30] [cH-]1cccc1 [as]1cccc1 N(=O)(=O)C CI(=O)=O C-1CC=1 [Uuo] [Co@OH](F)N`) {
		if err := Check(good); err != nil {
			t.Errorf("%s: got %v, want nothing", good, err)
		}
	}
	for text, want := range map[string]string{
		"": "there is no SMILES", "aspirin": `at character 1: "a" is no atom`, "CC(=O": "at character 6: a branch is not closed",
		"C(C(C": "2 branches are not closed", "C)C": "at character 2: a branch ends that has not begun",
		"c1ccccc": "at character 2: ring 1 is not closed",
		"C()C":    "a branch is empty", "()C": "a branch has no atom", "C((C))C": "a branch has no atom",
		"(C)C": "a branch has no atom", "C=": "at character 3: a bond leads to no atom", "C=(C)C": "a bond leads to no atom",
		"C(C=)C": "a bond leads to no atom",
		"=C":     "a bond has no atom in front",
		"C=-C":   "two bonds follow each other", "C11": "ring 1 binds an atom to itself",
		"C1C1":  "two atoms that are bound already",
		"%1CC":  "two digits",
		"C%1CC": "two digits", "1CC1": "no atom in front", "C(1)CC1": "no atom in front", "C.": "a dot stands between",
		".C":   "a dot stands between",
		"C..C": "a dot stands between", "C(.C)C": "a dot stands between", "[CC]": "[CC] is no atom",
		"[]": "[] is no atom", "[R]": "[R] is no atom",
		"C[": "a bracket is not closed", "[C@@@H]": "is no atom", "CßC": `at character 2: "ß" is no atom`,
		"CCA":                                 `at character 3: "A" is no atom`,
		"[" + strings.Repeat("1", 100) + "C]": "more than 64 characters",
	} {
		if err := Check(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
	if err := Check("CCO ethanol, not =( a SMILES"); err != nil {
		t.Errorf("a name behind white space: got %v", err)
	}
}

func TestPlausible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"CC=O": true, "O=c1cc[nH]cc1": true, "CS(=O)(=O)C": true, "OP(=O)(O)O": true, "C[N+](C)(C)C": true, "CCO ethanol": false,
		"PIN=CC": false, "NO=CC": false, "CCl=C": false, "CC(C)(C)(C)C": false, "BI2536=CC": false,
		"1OF6=CC": false, "SB203580=CC": false,
	} {
		if got := Plausible(text); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// FuzzCheck: no text is too wild to be read, and what is written twice with a dot is as good as once.
func FuzzCheck(f *testing.F) {
	f.Add("CC(=O)Oc1ccccc1C(=O)O")
	f.Add("[13C@@H]%(12)$C->[#26]")
	f.Add("C(.%")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, " \t") {
			return
		}
		if Check(text) == nil && Check(text+"."+text) != nil {
			t.Fatalf("%q is a SMILES, and twice it is none: %v", text, Check(text+"."+text))
		}
	})
}
