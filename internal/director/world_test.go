package director_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/director"
)

// example is a line of the sentence files.
type example struct {
	Sentence   string               `json:"sentence"`
	Context    world                `json:"context"`
	Operations []director.Operation `json:"operations"`
	Note       string               `json:"note"`
}

// world is the context of an example as the files have it.
type world struct {
	Structure  string            `json:"structure"`
	Title      string            `json:"title"`
	Chains     map[string]string `json:"chains"`
	Kinds      map[string]string `json:"kinds"`
	Ligands    []string          `json:"ligands"`
	Ions       []string          `json:"ions"`
	Modified   []string          `json:"modified"`
	Waters     bool              `json:"waters"`
	Glycans    bool              `json:"glycans"`
	Predicted  bool              `json:"predicted"`
	Assemblies []string          `json:"assemblies"`
	Models     int               `json:"models"`
	Volumes    []string          `json:"volumes"`
	Shown      []string          `json:"shown"`
	Selected   string            `json:"selected"`
	Last       string            `json:"last"`
	Named      map[string]string `json:"named"`
	Pending    *struct {
		Op    string         `json:"op"`
		Args  map[string]any `json:"args"`
		Asked string         `json:"asked"`
	} `json:"pending"`
}

// synonyms are names of the examples' components as the chemical component dictionary has them.
var synonyms = map[string]string{
	"imatinib": "STI", "gleevec": "STI", "glivec": "STI", "retinoic acid": "REA", "tretinoin": "REA",
	"indinavir": "MK1", "haem": "HEM",
	"biotin": "BTN", "benzamidine": "BEN", "4-hydroxytamoxifen": "OHT", "hydroxytamoxifen": "OHT", "tamoxifen": "OHT",
	"adenosine triphosphate": "ATP", "gppnhp": "GNP", "chromophore": "CRO", "cholesterol": "CLR", "glycerol": "GOL",
}

// atoms are the oxygens of a component that an example asks about, from its entry in the chemical component dictionary.
func atoms(component, element string) []string {
	if component == "REA" && element == "O" {
		return []string{"O1", "O2"}
	}
	return nil
}

func readExamples(t testing.TB, name string) []example {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var examples []example
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e example
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		examples = append(examples, e)
	}
	return examples
}

func components(texts []string) []director.Component {
	var found []director.Component
	for _, text := range texts {
		fields := strings.Split(text, "/")
		found = append(found, director.Component{Name: fields[0], Chain: fields[1], Number: fields[2]})
	}
	return found
}

func (w world) context() director.Context {
	ctx := director.Context{Structure: w.Structure, Title: w.Title, Predicted: w.Predicted, Glycans: w.Glycans, Waters: w.Waters,
		Ligands: components(w.Ligands), Ions: components(w.Ions), Modified: components(w.Modified), Assemblies: w.Assemblies,
		Models:  w.Models,
		Volumes: w.Volumes, Shown: w.Shown, Selected: w.Selected, Last: w.Last, Named: w.Named, Atoms: atoms,
		Synonyms: map[string]string{}}
	for id, text := range w.Chains {
		chain := director.Chain{ID: id, Kind: "protein"}
		if kind := w.Kinds[id]; kind != "" {
			chain.Kind = kind
		}
		for part := range strings.SplitSeq(text, ",") {
			chain.Ranges = append(chain.Ranges, rangeOf(part))
		}
		ctx.Chains = append(ctx.Chains, chain)
	}
	slices.SortFunc(ctx.Chains, func(a, b director.Chain) int { return strings.Compare(a.ID, b.ID) })
	for _, list := range [][]director.Component{ctx.Ligands, ctx.Ions, ctx.Modified} {
		for _, c := range list {
			for name, component := range synonyms {
				if component == c.Name {
					ctx.Synonyms[name] = component
				}
			}
		}
	}
	w.addPending(&ctx)
	return ctx
}

// addPending fills in the choices of a question: what fits the selection that was asked about.
func (w world) addPending(ctx *director.Context) {
	if w.Pending == nil {
		return
	}
	argument := "sel"
	if w.Pending.Args["of"] != nil {
		argument = "of"
	}
	sel, _ := w.Pending.Args[argument].(string)
	pending := &director.Pending{Operations: []director.Operation{{Op: w.Pending.Op, Args: w.Pending.Args}}, Argument: argument,
		About: w.Pending.Asked}
	for _, ligand := range ctx.Ligands {
		if w.Pending.Asked == "ligand" && strings.Contains(sel+" resn "+ligand.Name, "resn "+ligand.Name) {
			pending.Choices = append(pending.Choices,
				director.Choice{Name: ligand.String(), Selection: "resn " + ligand.Name + " and chain " + ligand.Chain})
		}
	}
	for _, chain := range ctx.Chains {
		if w.Pending.Asked == "chain" {
			pending.Choices = append(pending.Choices,
				director.Choice{Name: chain.ID, Selection: "chain " + chain.ID + " and " + sel})
		}
	}
	ctx.Pending = pending
}

func rangeOf(text string) director.Range {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(last)
	return director.Range{First: a, Last: b}
}

// atom is one of the made-up atoms on which selections are compared.
type atom struct{ kind, chain, resn, number, name, elem, id string }

// universe has a few atoms for each residue of a context. What only coordinates could tell (helices, distances) is decided
// by a hash,
// so that two selections that say the same thing in other words fit the same atoms, and others do not.
func universe(ctx *director.Context) []atom {
	var all []atom
	names := strings.Fields("N CA C O CB OD1 CD CG")
	for _, chain := range ctx.Chains {
		for _, r := range chain.Ranges {
			for number := r.First; number <= r.Last; number++ {
				for _, name := range names {
					resn := aminoAcids[hash("resn", chain.ID, strconv.Itoa(number))%20]
					for _, m := range ctx.Modified {
						if m.Chain == chain.ID && m.Number == strconv.Itoa(number) {
							resn = m.Name
						}
					}
					all = append(all, atom{chain.Kind, chain.ID, resn, strconv.Itoa(number), name, name[:1], ""})
				}
			}
		}
	}
	for kind, list := range map[string][]director.Component{"ligand": ctx.Ligands, "ion": ctx.Ions} {
		for _, c := range list {
			for _, name := range []string{"C1", "C2", "N1", "O1", "O2", "FE"} {
				all = append(all, atom{kind, c.Chain, c.Name, c.Number, name, strings.TrimRight(name, "12"), ""})
			}
		}
	}
	for i := range 40 {
		chain := "A"
		if len(ctx.Chains) > 0 {
			chain = ctx.Chains[i%len(ctx.Chains)].ID
		}
		if ctx.Waters {
			all = append(all, atom{"water", chain, "HOH", strconv.Itoa(2000 + i), "O", "O", ""})
		}
		if ctx.Glycans {
			all = append(all, atom{"branched", chain, "NAG", strconv.Itoa(3000 + i), "C1", "C", ""})
		}
	}
	for i, a := range all {
		all[i].id = strings.Join([]string{a.kind, a.chain, a.resn, a.number, a.name}, "/")
	}
	slices.SortFunc(all, func(a, b atom) int { return strings.Compare(a.id, b.id) })
	return all
}

var aminoAcids = strings.Fields("ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL")

func hash(texts ...string) uint32 {
	h := fnv.New32a()
	for _, text := range texts {
		h.Write([]byte(text + "\x00"))
	}
	return h.Sum32()
}

// selector evaluates the selection language on made-up atoms.
type selector struct {
	tokens []string
	atoms  []atom
	err    error
}

// signature is the same for selections of the same atoms.
func signature(atoms []atom, sel string) string {
	s := &selector{tokens: strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(sel)), atoms: atoms}
	set := s.or()
	if s.err != nil || len(s.tokens) > 0 {
		return "unreadable: " + sel
	}
	return digest(set)
}

// digest is short for a set.
func digest(set []bool) string {
	h := fnv.New64a()
	bits := make([]byte, len(set))
	for i, in := range set {
		if in {
			bits[i] = 1
		}
	}
	h.Write(bits)
	return strconv.FormatUint(h.Sum64(), 36)
}

func (s *selector) next(word string) bool {
	if len(s.tokens) > 0 && s.tokens[0] == word {
		s.tokens = s.tokens[1:]
		return true
	}
	return false
}

func (s *selector) pop() string {
	if len(s.tokens) == 0 {
		s.err = fmt.Errorf("ends early")
		return ""
	}
	token := s.tokens[0]
	s.tokens = s.tokens[1:]
	return token
}

func (s *selector) or() []bool {
	set := s.and()
	for s.next("or") {
		for i, in := range s.and() {
			set[i] = set[i] || in
		}
	}
	return set
}

func (s *selector) and() []bool {
	set := s.unary()
	for s.next("and") {
		for i, in := range s.unary() {
			set[i] = set[i] && in
		}
	}
	return set
}

func (s *selector) unary() []bool {
	switch {
	case s.next("not"):
		set := s.unary()
		for i := range set {
			set[i] = !set[i]
		}
		return set
	case s.next("byres"):
		set := s.unary()
		in := map[string]bool{}
		for i, a := range s.atoms {
			in[a.chain+a.number+a.resn] = in[a.chain+a.number+a.resn] || set[i]
		}
		return s.where(func(a atom) bool { return in[a.chain+a.number+a.resn] })
	case s.next("within"):
		radius := s.pop()
		if s.pop() != "of" {
			s.err = fmt.Errorf("within without of")
		}
		centre := digest(s.unary())
		return s.where(func(a atom) bool { return hash("within", radius, centre, a.id)%7 == 0 })
	case s.next("("):
		set := s.or()
		if !s.next(")") {
			s.err = fmt.Errorf("no bracket")
		}
		return set
	}
	return s.term()
}

func (s *selector) where(in func(atom) bool) []bool {
	set := make([]bool, len(s.atoms))
	for i, a := range s.atoms {
		set[i] = in(a)
	}
	return set
}

func (s *selector) term() []bool {
	polymer := func(a atom) bool { return a.kind == "protein" || a.kind == "nucleic" }
	structure := func(a atom) uint32 { return hash("ss", a.chain, a.number) % 3 }
	switch word := s.pop(); word {
	case "all":
		return s.where(func(atom) bool { return true })
	case "polymer":
		return s.where(polymer)
	case "protein", "nucleic", "branched", "ligand", "ion", "water", "coarse":
		return s.where(func(a atom) bool { return a.kind == word })
	case "metal":
		return s.where(func(a atom) bool { return a.kind == "ion" })
	case "helix", "sheet", "loop":
		index := uint32(slices.Index([]string{"helix", "sheet", "loop"}, word))
		return s.where(func(a atom) bool { return a.kind == "protein" && structure(a) == index })
	case "backbone":
		return s.where(func(a atom) bool { return polymer(a) && slices.Contains([]string{"N", "CA", "C", "O"}, a.name) })
	case "sidechain":
		return s.where(func(a atom) bool { return polymer(a) && !slices.Contains([]string{"N", "CA", "C", "O"}, a.name) })
	case "hydrogen":
		return s.where(func(a atom) bool { return hash("hydrogen", a.id)%5 == 0 })
	case "chain", "resi", "resn", "name", "elem":
		return s.listed(word, strings.Split(s.pop(), "+"))
	default:
		s.err = fmt.Errorf("unknown word %s", word)
		return make([]bool, len(s.atoms))
	}
}

func (s *selector) listed(field string, values []string) []bool {
	return s.where(func(a atom) bool {
		if field == "resi" {
			return slices.ContainsFunc(values, func(v string) bool { return numbered(a, v) })
		}
		own := map[string]string{"chain": a.chain, "resn": a.resn, "name": a.name, "elem": a.elem}[field]
		return slices.Contains(values, own)
	})
}

func numbered(a atom, value string) bool {
	if strings.ContainsAny(value, "ABCDEFGH") {
		return hash(value, a.chain, a.number)%11 == 0 // no made-up residue has an insertion code
	}
	number, _ := strconv.Atoi(a.number)
	r := rangeOf(value)
	return r.First <= number && number <= r.Last
}
