package api

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// lingering is a listener whose connections can be closed kindly. A TCP connection that is closed while bytes of the client
// lie unread is reset, and the reset may overtake the answer: a client that sends too large a body would see a broken
// connection instead of the 413.
type lingering struct {
	net.Listener
	closeOnce func() error

	mu   sync.Mutex
	open map[*lingeringConn]struct{}
}

func newLingering(ln net.Listener) *lingering {
	return &lingering{Listener: ln, closeOnce: sync.OnceValue(ln.Close), open: map[*lingeringConn]struct{}{}}
}

func (l *lingering) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		kind := &lingeringConn{TCPConn: tcp, listener: l}
		l.mu.Lock()
		l.open[kind] = struct{}{}
		l.mu.Unlock()
		return kind, err
	}
	return conn, err
}

// Close may be called again: the server and fasthttp both close what they listen on.
func (l *lingering) Close() error { return l.closeOnce() }

// closeSilent closes the connections over which nothing has come yet. Browsers and Go's client open such ones in advance.
// fasthttp takes them for busy and waits for them as long as it may.
func (l *lingering) closeSilent() {
	l.mu.Lock()
	var silent []*lingeringConn
	for conn := range l.open {
		if !conn.heard.Load() {
			silent = append(silent, conn)
		}
	}
	l.mu.Unlock()
	for _, conn := range silent {
		_ = conn.Close() // there is nobody to tell
	}
}

type lingeringConn struct {
	*net.TCPConn
	listener *lingering
	heard    atomic.Bool // at least one byte has come
	unread   atomic.Bool
}

func (c *lingeringConn) Read(into []byte) (int, error) {
	n, err := c.TCPConn.Read(into)
	if n > 0 {
		c.heard.Store(true)
	}
	return n, err
}

// Close says that nothing more will be written and, when bytes are unread, drops what still arrives for a short time.
func (c *lingeringConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	if c.unread.Load() && c.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, c.TCPConn, lingerBytes) // its end, a timeout and a reset mean the same here
	}
	return c.TCPConn.Close()
}
