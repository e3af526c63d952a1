package sim

import "fmt"

// lock takes the lock of a row until the transaction ends. While another has it the process waits; two that wait for each other are
// a flaw of the design, and the second of them is refused.
func (tx *transaction) lock(kind, id string) error {
	key := kind + "/" + id
	h := tx.m.h
	for {
		owner := tx.m.locks[key]
		if owner == tx {
			return nil
		}
		if owner == nil {
			tx.m.locks[key] = tx
			tx.locked = append(tx.locked, key)
			return nil
		}
		p := h.current
		if p == nil {
			return fmt.Errorf("row %s is locked by a transaction that nobody runs", key)
		}
		if tx.m.circle(owner, tx) {
			h.violate("deadlock: %s waits for %s, which %s holds", p.name, key, owner.process.name)
			return errDeadlock
		}
		p.waitsFor, p.at = key, "lock "+key
		h.pass(p)
		p.waitsFor = ""
	}
}

// circle tells whether a transaction waits, through others perhaps, for a row that another one holds.
func (m *memory) circle(from, to *transaction) bool {
	for range len(m.locks) + 1 {
		if from == to {
			return true
		}
		if from.process == nil || from.process.waitsFor == "" {
			return false
		}
		if from = m.locks[from.process.waitsFor]; from == nil {
			return false
		}
	}
	return false
}

// unlock gives every lock back.
func (tx *transaction) unlock() {
	for _, key := range tx.locked {
		delete(tx.m.locks, key)
	}
	tx.locked = nil
}
