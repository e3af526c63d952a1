package uploads

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/internal/object"
)

func TestPlanParts(t *testing.T) {
	t.Parallel()
	const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40
	for _, c := range []struct {
		size, asked int64
		want        partPlan
	}{
		{1, 0, partPlan{16 * mib, 1}},
		{1, 1, partPlan{5 * mib, 1}},
		{16 * mib, 0, partPlan{16 * mib, 1}},
		{16*mib + 1, 0, partPlan{16 * mib, 2}},
		{16 * gib, 0, partPlan{17 * mib, 964}},
		{tib, 0, partPlan{1049 * mib, 1000}},
		{5 * tib, 0, partPlan{5 * gib, 1024}},
		{5 * tib, 1, partPlan{549755814, 10000}},
		{11 * mib, 5 * mib, partPlan{5 * mib, 3}},
		{100 * gib, 90 * gib, partPlan{5 * gib, 20}},
	} {
		if got := planParts(c.size, c.asked); got != c.want {
			t.Errorf("planParts(%d, %d) = %+v, want %+v", c.size, c.asked, got, c.want)
		}
	}
}

func TestEveryPlanIsLegalAndWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, object.MaxMultipartBytes).Draw(t, "size")
		asked := rapid.Int64Range(0, object.MaxMultipartBytes).Draw(t, "asked")
		p := planParts(size, asked)
		last := p.sizeOf(p.partCount, size)
		whole := int64(p.partCount-1)*p.partBytes + last
		if p.partBytes < object.MinPartBytes || p.partBytes > object.MaxPartBytes || p.partCount < 1 ||
			p.partCount > object.MaxParts || whole != size || last < 1 || last > p.partBytes {
			t.Fatalf("planParts(%d, %d) = %+v with a last part of %d", size, asked, p, last)
		}
	})
}
