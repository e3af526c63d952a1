package molstar

import "github.com/molfabric/molfabric/engines"

var ownPrograms = drawing.Digest()

// Programs implements engines.Repeater.
func (Molstar) Programs() string { return ownPrograms }

// Repeats implements engines.Repeater: the software rasteriser draws a frame alike wherever it runs.
func (Molstar) Repeats(plan []engines.Shard) []engines.Repeat { return engines.RepeatAll(plan) }

// SameBytes implements engines.Uneven: tables tell what frames have taken, and films hold what their encoder says of itself.
func (Molstar) SameBytes(string) bool { return false }
