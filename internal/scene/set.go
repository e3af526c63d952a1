package scene

import "math/bits"

// Set is a set of a table's atoms, a bit each. Sets of one table have one length.
type Set []uint64

func newSet(atoms int) Set { return make(Set, (atoms+63)/64) }

func (s Set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s Set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// Count is how many atoms are in the set.
func (s Set) Count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

func (s Set) isEmpty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}

func (s Set) equal(other Set) bool {
	for i := range s {
		if s[i] != other[i] {
			return false
		}
	}
	return true
}

// covers tells whether all of other is in the set.
func (s Set) covers(other Set) bool {
	for i := range s {
		if other[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}

func (s Set) meets(other Set) bool {
	for i := range s {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

func (s Set) and(other Set) Set  { return s.with(other, func(a, b uint64) uint64 { return a & b }) }
func (s Set) or(other Set) Set   { return s.with(other, func(a, b uint64) uint64 { return a | b }) }
func (s Set) less(other Set) Set { return s.with(other, func(a, b uint64) uint64 { return a &^ b }) }

func (s Set) with(other Set, join func(a, b uint64) uint64) Set {
	made := make(Set, len(s))
	for i := range s {
		made[i] = join(s[i], other[i])
	}
	return made
}

// each calls visit with the atoms of the set in their order.
func (s Set) each(visit func(atom int)) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			visit(i*64 + bits.TrailingZeros64(word))
		}
	}
}

// atoms are those of the set in their order.
func (s Set) atoms() []int {
	list := make([]int, 0, s.Count())
	s.each(func(atom int) { list = append(list, atom) })
	return list
}
