// Package mailtest is a mail server for tests: it speaks as much of RFC 5321 as a sender needs, and keeps what it gets.
package mailtest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Security is how connections to a server are encrypted.
type Security int

// The ways.
const (
	Plain    Security = iota
	StartTLS          // offered in plain text
	TLS               // from the first byte
)

// Server is a mail server on a port of its own.
type Server struct {
	Address string
	Trust   *tls.Config // believes the server's certificate

	security Security
	tls      *tls.Config
	arrived  chan struct{}
	closed   chan struct{}

	mu       sync.Mutex
	refusals int    // how many senders are refused from now on
	refusal  string // what they are told; "" for nothing at all
	mails    []string
	secure   []bool
	logins   []string
}

// Start starts a server, which the test's end stops.
func Start(t testing.TB, security Security) *Server {
	t.Helper()
	s := &Server{security: security, arrived: make(chan struct{}, 100), closed: make(chan struct{})}
	s.tls, s.Trust = certificate(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Address = ln.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if security == TLS {
					s.talk(tls.Server(conn, s.tls), true)
				} else {
					s.talk(conn, false)
				}
			})
		}
	})
	t.Cleanup(func() { ln.Close(); close(s.closed); serving.Wait() })
	return s
}

// Refuse has the next senders, so many of them, told a line such as "451 later". With "" they hear nothing, and wait.
func (s *Server) Refuse(senders int, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals, s.refusal = senders, line
}

// Arrived gets a value with every mail.
func (s *Server) Arrived() <-chan struct{} { return s.arrived }

// Secure says of every mail whether it came over TLS.
func (s *Server) Secure() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.secure)
}

// Logins are the credentials that senders gave, as PLAIN has them (RFC 4616), with spaces between.
func (s *Server) Logins() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logins)
}

// Mail is a mail that has arrived.
type Mail struct {
	Header mail.Header
	Text   string
}

// Mails are those that have arrived, the oldest first.
func (s *Server) Mails(t testing.TB) []Mail {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make([]Mail, len(s.mails))
	for i, text := range s.mails {
		message, err := mail.ReadMessage(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, message.Body))
		if err != nil {
			t.Fatal(err)
		}
		found[i] = Mail{message.Header, string(body)}
	}
	return found
}

func certificate(t testing.TB) (server, trust *tls.Config) {
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

func (s *Server) talk(conn net.Conn, encrypted bool) {
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
			if s.security == StartTLS && !encrypted {
				say("250-post\r\n250 STARTTLS")
			} else {
				say("250-post\r\n250 AUTH PLAIN")
			}
		case "STARTTLS":
			say("220 go on")
			secured := tls.Server(conn, s.tls)
			conn, lines, encrypted = secured, bufio.NewReader(secured), true
		case "AUTH":
			secret, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			s.mu.Lock()
			s.logins = append(s.logins, strings.ReplaceAll(string(secret), "\x00", " "))
			s.mu.Unlock()
			say("235 welcome")
		case "MAIL":
			switch refusal, refused := s.refuses(); {
			case !refused:
				say("250 ok")
			case refusal == "":
				<-s.closed
				return
			default:
				say("%s", refusal)
			}
		case "DATA":
			say("354 go on")
			s.keep(lines, encrypted)
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *Server) refuses() (line string, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals--
	return s.refusal, s.refusals >= 0
}

func (s *Server) keep(lines *bufio.Reader, encrypted bool) {
	var text strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		text.WriteString(line)
	}
	s.mu.Lock()
	s.mails, s.secure = append(s.mails, text.String()), append(s.secure, encrypted)
	s.mu.Unlock()
	s.arrived <- struct{}{}
}
