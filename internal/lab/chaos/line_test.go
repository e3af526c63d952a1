package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// TestLine carries, holds, cuts and mends.
func TestLine(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go echo(server)
	line, err := openLine()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(line.close)
	if _, err := say(t, line, "before there is a server"); err == nil {
		t.Error("a line without a target answers")
	}
	if err := line.connect("redis://" + server.Addr().String() + "/0"); err != nil {
		t.Fatal(err)
	}
	if got, err := say(t, line, "one"); err != nil || got != "one" {
		t.Errorf("through the line came %q (%v)", got, err)
	}
	conn := dial(t, line)
	line.Hold()
	fmt.Fprintln(conn, "two")
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	// an absence can only be watched for a while
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a held line has let %d bytes through (%v)", n, err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	line.Mend()
	if got, err := bufio.NewReader(conn).ReadString('\n'); err != nil || got != "two\n" {
		t.Errorf("after the hold came %q (%v)", got, err)
	}
	line.Cut()
	if _, err := io.ReadAll(conn); err == nil {
		t.Error("a cut line has ended a connection with a farewell")
	}
	if _, err := say(t, line, "three"); err == nil {
		t.Error("a cut line answers")
	}
	line.Mend()
	if got, err := say(t, line, "four"); err != nil || got != "four" {
		t.Errorf("through the mended line came %q (%v)", got, err)
	}
}

// echo sends back what comes.
func echo(server net.Listener) {
	for {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = io.Copy(conn, conn)
		}()
	}
}

func dial(t *testing.T, line *Line) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", line.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// say sends a line over a new connection and returns what comes back.
func say(t *testing.T, line *Line, text string) (string, error) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", line.Address())
	if err != nil { // a cut line may be faster than the end of the dial
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, text); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if len(answer) > 0 {
		answer = answer[:len(answer)-1]
	}
	return answer, err
}
