package coordinates

import (
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/cif"
)

// Motion is a rotation and then a shift in Å.
type Motion struct {
	Rotation [3][3]float64 // by row
	Shift    [3]float64
}

// still leaves everything where it is.
var still = Motion{Rotation: [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}

// Of is where a motion takes a place.
func (m Motion) Of(at Point) Point {
	var to Point
	for i, row := range m.Rotation {
		to[i] = row[0]*at[0] + row[1]*at[1] + row[2]*at[2] + m.Shift[i]
	}
	return to
}

// IsStill tells whether a motion leaves everything where it is, as far as files say it: to six decimals.
func (m Motion) IsStill() bool {
	const most = 1e-6
	near := func(a, b float64) bool { return a-b <= most && b-a <= most }
	for i, row := range m.Rotation {
		for k := range row {
			if !near(row[k], still.Rotation[i][k]) {
				return false
			}
		}
		if !near(m.Shift[i], 0) {
			return false
		}
	}
	return true
}

// after is the motion that comes of another one and then this one.
func (m Motion) after(first Motion) Motion {
	made := Motion{Shift: m.Of(first.Shift)}
	for i := range 3 {
		for k := range 3 {
			for l := range 3 {
				made.Rotation[i][k] += m.Rotation[i][l] * first.Rotation[l][k]
			}
		}
	}
	return made
}

// Copies are how often an assembly has a chain, and where the first of them lies.
type Copies struct {
	Count int
	First Motion
	// Operators are the ids of the operations that make the first copy, joined by dashes: "1", or "X0-5".
	Operators string
}

// maxCopies bounds the copies of a chain that are counted: a capsid has 60, a long filament some hundreds.
const maxCopies = 100_000

// generator is a line of an assembly's recipe: these operations make copies of these chains.
type generator struct{ assembly, expression, chains string }

// maxGenerators, maxOperations and maxChainsBytes bound what is kept of recipes; chains are listed in lines of a PDB file.
const (
	maxGenerators  = 10_000
	maxOperations  = 10_000
	maxChainsBytes = 16 << 10
)

// operation reads a row of the operations of mmCIF. What cannot be read is no operation.
func (l *lister) operation(row *cif.Row) {
	var m Motion
	for i := range 3 {
		at := strconv.Itoa(i + 1)
		for k := range 3 {
			x, err := number(row.Value("matrix[" + at + "][" + strconv.Itoa(k+1) + "]"))
			if err != nil {
				return
			}
			m.Rotation[i][k] = x
		}
		x, err := number(row.Value("vector[" + at + "]"))
		if err != nil {
			return
		}
		m.Shift[i] = x
	}
	l.operate(strings.Clone(row.Value("id")), m)
}

func (l *lister) operate(id string, m Motion) {
	if l.operations == nil {
		l.operations = map[string]Motion{}
	}
	if len(l.operations) < maxOperations {
		l.operations[id] = m
	}
}

func (l *lister) generate(assembly, expression, chains string) {
	if len(l.generators) < maxGenerators {
		l.generators = append(l.generators, generator{strings.Clone(assembly), strings.Clone(expression), strings.Clone(chains)})
	}
}

// remark350 reads a line about assemblies in a PDB file: which chains, and a row of one of the operations on them. Operations are
// numbered as they come, over all assemblies, because each assembly may begin with a 1 of its own.
func (l *lister) remark350(text string) {
	words := strings.Fields(text)
	_, chains, named := strings.Cut(text, "CHAINS:")
	assemblies := l.assemblies.structure.Assemblies
	switch last := len(l.generators) - 1; {
	case len(assemblies) == 0:
	case named && strings.HasPrefix(text, "AND") && last >= 0:
		if g := &l.generators[last]; len(g.chains) < maxChainsBytes {
			g.chains += "," + chains
		}
	case named:
		l.generate(assemblies[len(assemblies)-1].ID, "", chains)
	case len(words) == 6 && strings.HasPrefix(words[0], "BIOMT") && last >= 0:
		l.biomt(words, &l.generators[last])
	}
}

// biomt reads a row of an operation: "BIOMT1 1 1.0 0.0 0.0 0.0".
func (l *lister) biomt(words []string, of *generator) {
	row, err := strconv.Atoi(strings.TrimPrefix(words[0], "BIOMT"))
	if err != nil || row < 1 || row > 3 || l.serial >= maxOperations {
		return
	}
	if row == 1 {
		l.serial++
		if of.expression != "" {
			of.expression += ","
		}
		of.expression += strconv.Itoa(l.serial)
	}
	id := strconv.Itoa(l.serial)
	m := l.operations[id]
	for k, word := range words[2:] {
		x, err := strconv.ParseFloat(word, 64)
		switch {
		case err != nil:
			return
		case k < 3:
			m.Rotation[row-1][k] = x
		default:
			m.Shift[row-1] = x
		}
	}
	l.operate(id, m)
}

// copies are what the recipes come to, by assembly and chain.
func (l *lister) copies() map[string]map[string]Copies {
	made := map[string]map[string]Copies{}
	for _, g := range l.generators {
		count, first := l.expand(g.expression)
		if count == 0 {
			continue
		}
		if made[g.assembly] == nil {
			made[g.assembly] = map[string]Copies{}
		}
		for chain := range strings.SplitSeq(g.chains, ",") {
			chain = strings.TrimSpace(chain)
			have, known := made[g.assembly][chain]
			switch {
			case chain == "" || len(made[g.assembly]) >= maxAssemblyChains && !known:
				continue
			case !known:
				have.First, have.Operators = still, strings.Join(first, "-")
				for _, id := range slices.Backward(first) {
					if m, ok := l.operations[id]; ok {
						have.First = m.after(have.First)
					}
				}
			}
			have.Count = min(have.Count+count, maxCopies)
			made[g.assembly][chain] = have
		}
	}
	return made
}

// expand counts the operations of an expression such as "1", "1,2,5-7" or "(X0)(1-60)", and names those of the first copy.
func (l *lister) expand(expression string) (count int, first []string) {
	count = 1
	for group := range strings.FieldsFuncSeq(expression, func(r rune) bool { return r == '(' || r == ')' }) {
		n, begin := 0, ""
		for part := range strings.SplitSeq(group, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			low, high, isRange := strings.Cut(part, "-")
			from, errFrom := strconv.Atoi(low)
			to, errTo := strconv.Atoi(high)
			switch {
			case isRange && low != "" && errFrom == nil && errTo == nil && to >= from:
				n += min(to-from, maxCopies) + 1
			default:
				n, low = n+1, part
			}
			if begin == "" {
				begin = low
			}
		}
		if n == 0 {
			continue
		}
		first = append(first, begin)
		count = min(count*min(n, maxCopies), maxCopies)
	}
	if first == nil {
		return 0, nil
	}
	return count, first
}
