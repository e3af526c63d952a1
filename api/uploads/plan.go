package uploads

import (
	"github.com/molfabric/molfabric/internal/object"
)

const (
	// defaultPartBytes is small enough to be sent again on a poor line and large enough for few requests.
	defaultPartBytes = 16 << 20
	// defaultPartBytesUnit keeps default sizes round.
	defaultPartBytesUnit = 1 << 20
	// pageParts is how many part URLs one answer holds (doc/contract.md §8). Default part sizes grow so that one page does.
	pageParts = 1000
)

// partPlan is how a file is cut: every part but the last has partBytes.
type partPlan struct {
	partBytes int64
	partCount int
}

// planParts cuts a file of byteSize (1 to object.MaxMultipartBytes). asked is the part size that the client would like; 0
// leaves the choice to us. It is clamped to what S3 allows.
func planParts(byteSize, asked int64) partPlan {
	if asked == 0 {
		asked = max(defaultPartBytes, roundUp(ceilDiv(byteSize, pageParts), defaultPartBytesUnit))
	}
	least := max(object.MinPartBytes, ceilDiv(byteSize, object.MaxParts))
	partBytes := min(max(asked, least), object.MaxPartBytes)
	return partPlan{partBytes: partBytes, partCount: int(ceilDiv(byteSize, partBytes))}
}

// sizeOf is the size of one part in bytes.
func (p partPlan) sizeOf(number int, byteSize int64) int64 {
	return min(p.partBytes, byteSize-int64(number-1)*p.partBytes)
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func roundUp(a, unit int64) int64 { return ceilDiv(a, unit) * unit }
