package client

import (
	"context"
	"io"
	"sync"
)

// meter counts the bytes of an upload, over all its parts, and tells whoever asked. It is safe for concurrent use.
type meter struct {
	mu          sync.Mutex
	sent, there int64
	tell        func(sent, there int64) // may be nil
}

// add counts bytes that have gone out, and bytes that need not.
func (m *meter) add(sent, there int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent += sent
	m.there += there
	if m.tell != nil {
		m.tell(m.sent, m.there)
	}
}

// metered is the body of one try.
type metered struct {
	io.Reader
	meter *meter

	mu   sync.Mutex
	read int64
	over bool
}

func (b *metered) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over && n > 0 {
		b.read += int64(n)
		b.meter.add(int64(n), 0)
	}
	return n, err
}

// undo takes back what a failed try has counted, and counts nothing that the transport reads afterwards.
func (b *metered) undo() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.over = true
		b.meter.add(-b.read, 0)
	}
}

// untilDone ends the reading of a large file with the context.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (r *untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
