package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"time"
)

// dialTimeout bounds the connection to a store on loopback.
const dialTimeout = 5 * time.Second

// Line carries connections from an address that stays to a store whose own address changes with each of its starts. It can be cut,
// which ends what it carries and refuses what comes, and held, which keeps every byte back: a network that has lost its route.
type Line struct {
	listener net.Listener
	carried  sync.WaitGroup

	mu     sync.Mutex
	target string // host:port
	cut    bool
	flow   *sync.Cond // signals that held may have become false
	held   bool
	open   map[net.Conn]bool
}

// openLine listens on a free port of loopback. Until it has a target it is cut.
func openLine() (*Line, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a line: %w", err)
	}
	l := &Line{listener: listener, cut: true, open: map[net.Conn]bool{}}
	l.flow = sync.NewCond(&l.mu)
	l.carried.Go(l.accept)
	return l, nil
}

// Address is the host and port that stay.
func (l *Line) Address() string { return l.listener.Addr().String() }

// through replaces the host and port of a store's address by the line's.
func (l *Line) through(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("the address of a store: %w", err)
	}
	parsed.Host = l.Address()
	return parsed.String(), nil
}

// connect gives the line the store's newest address, and mends it.
func (l *Line) connect(address string) error {
	parsed, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("the address of a store: %w", err)
	}
	l.mu.Lock()
	l.target = parsed.Host
	l.mu.Unlock()
	l.Mend()
	return nil
}

// Cut ends every connection and refuses new ones until Mend.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	l.dropAll()
}

// Hold keeps all bytes back until Mend: connections stay, and nothing comes.
func (l *Line) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

// Mend ends a Cut and a Hold.
func (l *Line) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.held = false, false
	l.flow.Broadcast()
}

// close ends the line and waits for all that it carried.
func (l *Line) close() {
	_ = l.listener.Close() // the port is all that there is to give back
	l.Cut()
	l.Mend()
	l.Cut()
	l.carried.Wait()
}

// dropAll ends the open connections. The caller holds l.mu.
func (l *Line) dropAll() {
	for conn := range l.open {
		reset(conn)
	}
	clear(l.open)
}

func (l *Line) accept() {
	for {
		near, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			l.carried.Go(func() { l.carry(near) })
		}
	}
}

// carry moves the bytes of one connection both ways until one side ends.
func (l *Line) carry(near net.Conn) {
	defer near.Close()
	l.mu.Lock()
	target, refused := l.target, l.cut
	l.mu.Unlock()
	if refused {
		reset(near)
		return
	}
	// it ends with the line, not with a caller
	far, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(context.Background(), "tcp4", target)
	if err != nil {
		reset(near)
		return
	}
	defer far.Close()
	if !l.keep(near, far) {
		reset(near)
		return
	}
	defer l.forget(near, far)
	var back sync.WaitGroup
	back.Go(func() { l.pump(near, far) })
	l.pump(far, near)
	back.Wait()
}

// pump moves bytes one way, and ends both ways at its end.
func (l *Line) pump(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && l.passes() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				reset(to)
			}
			return
		}
	}
}

// passes waits while the line is held, and tells whether bytes may go on.
func (l *Line) passes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held && !l.cut {
		l.flow.Wait()
	}
	return !l.cut
}

// keep notes a connection's two ends; false when the line was cut meanwhile.
func (l *Line) keep(ends ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range ends {
		l.open[end] = true
	}
	return !l.cut
}

func (l *Line) forget(ends ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range ends {
		delete(l.open, end)
	}
}

// reset makes the end of a connection look like that of a killed server: without a farewell.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
