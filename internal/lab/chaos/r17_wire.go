package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// wire listens to every interface of this machine for packets to addresses that nobody may contact, and for those that hold a name.
type wire struct {
	fd        int // -1 without the right to listen
	forbidden []netip.Addr
	own       netip.AddrPort // of the test's own server, to show that the wire is heard
	name      []byte         // as it stands in a question to a name server
	strays    atomic.Int64
	heard     atomic.Int64 // packets to own
	stop      atomic.Bool
	listening sync.WaitGroup
}

// pollPause is how long the wire is listened to before it is looked whether it is to end.
const pollPause = 50 * time.Millisecond

// tap begins to listen. own is the address of a server that the test itself may contact; name is the first label of a host name.
func tap(own, name string) (*wire, error) {
	address, err := netip.ParseAddrPort(own)
	if err != nil {
		return nil, err
	}
	label, _, _ := bytes.Cut([]byte(name), []byte("."))
	t := &wire{fd: -1, own: address, name: label}
	for _, text := range metadata {
		t.forbidden = append(t.forbidden, netip.MustParseAddr(text))
	}
	const everything = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in the network's order
	t.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, everything)
	if errors.Is(err, unix.EPERM) {
		t.fd = -1
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listen to the wire: %w", err)
	}
	pause := unix.NsecToTimeval(int64(pollPause))
	if err := unix.SetsockoptTimeval(t.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &pause); err != nil {
		return nil, errors.Join(err, unix.Close(t.fd))
	}
	t.listening.Go(t.listen)
	return t, nil
}

func (t *wire) listen() {
	packet := make([]byte, 64<<10)
	for !t.stop.Load() {
		n, _, err := unix.Recvfrom(t.fd, packet, 0)
		if err != nil {
			continue // nothing came in that time
		}
		t.look(packet[:n])
	}
}

// look judges one packet, which begins with its IP header.
func (t *wire) look(packet []byte) {
	var to netip.Addr
	var rest int
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		to, rest = netip.AddrFrom4([4]byte(packet[16:20])), int(packet[0]&15)*4
	case len(packet) >= 40 && packet[0]>>4 == 6:
		to, rest = netip.AddrFrom16([16]byte(packet[24:40])), 40
	default:
		return
	}
	if slices.Contains(t.forbidden, to) {
		t.strays.Add(1)
	}
	if len(packet) < rest+4 {
		return
	}
	port := uint16(packet[rest+2])<<8 | uint16(packet[rest+3]) // both of TCP and UDP
	const questions = 53                                       // the port of name servers
	if port == questions && bytes.Contains(packet[rest:], t.name) {
		t.strays.Add(1)
	}
	if netip.AddrPortFrom(to, port) == t.own {
		t.heard.Add(1)
	}
}

// silent expects that no stray packet was heard, and then that the wire can be heard at all.
func (t *wire) silent(ctx context.Context, w *World, bait *bait) error {
	if t.fd < 0 {
		w.Notef("without the right to listen to the wire, only connections to loopback were counted")
		return nil
	}
	time.Sleep(settle) // listening is what is done here
	var failure error
	if n := t.strays.Load(); n > 0 {
		failure = fmt.Errorf("%d packets were sent to metadata addresses or asked for a forged name", n)
	}
	if n := t.heard.Load(); n > 0 {
		failure = errors.Join(failure, fmt.Errorf("%d packets were sent to the server on loopback", n))
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", bait.address())
	if err != nil {
		return errors.Join(failure, err)
	}
	defer connection.Close()
	err = w.Eventually(ctx, "the wire shows our own packet", w.Bound(patience),
		func(context.Context) (bool, error) { return t.heard.Load() > 0, nil })
	return errors.Join(failure, err)
}

func (t *wire) close() {
	if t.fd < 0 {
		return
	}
	t.stop.Store(true)
	t.listening.Wait()
	unix.Close(t.fd)
}
