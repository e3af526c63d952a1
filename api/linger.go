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
}

func newLingering(ln net.Listener) *lingering {
	return &lingering{Listener: ln, closeOnce: sync.OnceValue(ln.Close)}
}

func (l *lingering) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		return &lingeringConn{TCPConn: tcp}, err
	}
	return conn, err
}

// Close may be called again: the server and fasthttp both close what they listen on.
func (l *lingering) Close() error { return l.closeOnce() }

type lingeringConn struct {
	*net.TCPConn
	unread atomic.Bool
}

// Close says that nothing more will be written and, when bytes are unread, drops what still arrives for a short time.
func (c *lingeringConn) Close() error {
	if c.unread.Load() && c.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, c.TCPConn, lingerBytes) // its end, a timeout and a reset mean the same here
	}
	return c.TCPConn.Close()
}
