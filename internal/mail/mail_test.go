package mail

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"mime"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"
)

// post is a mail server on a port of its own: it speaks as much of RFC 5321 as a sender needs, and keeps what it gets.
type post struct {
	t         *testing.T
	address   string
	trust     *tls.Config
	server    *tls.Config
	startTLS  bool
	refusals  int // of the next senders, with a passing error
	mu        sync.Mutex
	got       []string // mails, as they came
	encrypted []bool   // whether each came over TLS
	logins    []string
	arrived   chan struct{}
}

func startPost(t *testing.T, implicit, startTLS bool, refusals int) *post {
	t.Helper()
	p := &post{t: t, startTLS: startTLS, refusals: refusals, arrived: make(chan struct{}, 10)}
	p.server, p.trust = certificate(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = ln.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if implicit {
					p.talk(tls.Server(conn, p.server), true)
				} else {
					p.talk(conn, false)
				}
			})
		}
	})
	t.Cleanup(func() { ln.Close(); serving.Wait() })
	return p
}

func certificate(t *testing.T) (server, trust *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}, &tls.Config{RootCAs: roots}
}

func (p *post) talk(conn net.Conn, encrypted bool) {
	lines := bufio.NewReader(conn)
	say := func(format string, args ...any) { fmt.Fprintf(conn, format+"\r\n", args...) }
	say("220 post")
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, rest, _ := strings.Cut(strings.TrimSpace(line), " "); strings.ToUpper(verb) {
		case "EHLO":
			if p.startTLS && !encrypted {
				say("250-post\r\n250 STARTTLS")
			} else {
				say("250-post\r\n250 AUTH PLAIN")
			}
		case "STARTTLS":
			say("220 go on")
			secured := tls.Server(conn, p.server)
			conn, lines, encrypted = secured, bufio.NewReader(secured), true
		case "AUTH":
			secret, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			p.mu.Lock()
			p.logins = append(p.logins, strings.ReplaceAll(string(secret), "\x00", " "))
			p.mu.Unlock()
			say("235 welcome")
		case "MAIL":
			if p.refuses() {
				say("451 later")
				continue
			}
			say("250 ok")
		case "DATA":
			say("354 go on")
			p.keep(lines, encrypted)
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (p *post) refuses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusals--
	return p.refusals >= 0
}

func (p *post) keep(lines *bufio.Reader, encrypted bool) {
	var text strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		text.WriteString(line)
	}
	p.mu.Lock()
	p.got, p.encrypted = append(p.got, text.String()), append(p.encrypted, encrypted)
	p.mu.Unlock()
	p.arrived <- struct{}{}
}

// sendOne hands one mail to a server through a queue and waits for it.
func sendOne(t *testing.T, p *post, url string) (header netmail.Header, text string) {
	t.Helper()
	server, err := NewSMTP(url, "Molfabric <molfabric@example.org>", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server.trust = p.trust
	q := newQueue(server, slog.New(slog.NewTextHandler(io.Discard, nil)))
	q.pause = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx) })
	q.Post(Message{To: "ada@example.org", Subject: "Grüße", Text: strings.Repeat("A line ü.\n.\n", 20)})
	select {
	case <-p.arrived:
	case <-time.After(time.Minute):
		t.Fatal("no mail came")
	}
	cancel()
	running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	message, err := netmail.ReadMessage(strings.NewReader(p.got[0]))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, message.Body))
	if err != nil {
		t.Fatal(err)
	}
	return message.Header, string(body)
}

func TestMailArrives(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name, scheme       string
		implicit, startTLS bool
		refusals           int
		encrypted          bool
	}{
		{"STARTTLS", "smtp", false, true, 0, true},
		{"TLS from the first byte", "smtps", true, false, 0, true},
		{"plain, on this machine", "smtp", false, false, 0, false},
		{"a server that is busy twice", "smtps", true, false, 2, true},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			p := startPost(t, one.implicit, one.startTLS, one.refusals)
			header, text := sendOne(t, p, one.scheme+"://mail%40er:s%3Acret@"+p.address)
			subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
			if err != nil || subject != "Grüße" || header.Get("To") != "<ada@example.org>" ||
				!strings.Contains(header.Get("From"), "molfabric@example.org") {
				t.Errorf("header %v, %v", header, err)
			}
			if text != strings.Repeat("A line ü.\n.\n", 20) {
				t.Errorf("text %q", text)
			}
			if p.encrypted[0] != one.encrypted || p.logins[0] != " mail@er s:cret" {
				t.Errorf("encrypted %v, login %q", p.encrypted[0], p.logins[0])
			}
		})
	}
}

// TestNothingIsSentInTheOpen: a server elsewhere without TLS gets neither the password nor the mail.
func TestNothingIsSentInTheOpen(t *testing.T) {
	t.Parallel()
	p := startPost(t, false, false, 0)
	server, err := NewSMTP("smtp://mailer:secret@"+p.address, "molfabric@example.org", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server.plain = false // as if it were elsewhere
	err = server.send(t.Context(), Message{To: "ada@example.org", Subject: "s", Text: "t"})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil || !strings.Contains(err.Error(), "offers no TLS") || len(p.got)+len(p.logins) != 0 {
		t.Errorf("got %v, %d mails, logins %v", err, len(p.got), p.logins)
	}
}

func TestServersAreChecked(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "mail.example.org:25", "http://mail.example.org", "smtp://", "smtp://u:secret@host/path",
		"smtp://u:secret@host:1?x=1", "smtp://u:secret%zz@host"} {
		if _, err := NewSMTP(address, "a@example.org", time.Now); err == nil || strings.Contains(err.Error(), "secret%") ||
			strings.Contains(err.Error(), "u:secret@") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := NewSMTP("smtp://host", "nobody", time.Now); err == nil {
		t.Error("a sender without an address is taken")
	}
	s, err := NewSMTP("smtps://host", "a@example.org", time.Now)
	if err != nil || s.port != "465" || s.plain {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := s.write(Message{To: "a@example.org\r\nBcc: b@example.org"}); err == nil {
		t.Error("an address becomes a header")
	}
	if text, err := s.write(Message{To: "a@example.org", Subject: "s\r\nBcc: b@example.org"}); err != nil ||
		strings.Contains(string(text), "\r\nBcc:") {
		t.Errorf("a subject becomes a header: %s, %v", text, err)
	}
}
