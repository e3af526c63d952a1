package mail

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net"
	netmail "net/mail"
	"net/smtp"
	"net/url"
	"strings"
	"time"
)

const (
	submissionPort    = "587" // STARTTLS (RFC 6409)
	submissionTLSPort = "465" // TLS from the first byte (RFC 8314)
	// lineBytes is the length of a line of base64 (RFC 2045, section 6.8).
	lineBytes = 76
)

// SMTP is a mail server that takes messages from this program.
type SMTP struct {
	host, port     string
	user, password string // "" for none
	implicitTLS    bool
	plain          bool // no TLS: only to this machine
	from           *netmail.Address
	now            func() time.Time
	trust          *tls.Config // whose certificates are believed; nil for the system's
}

// NewSMTP reads the address of a mail server, smtp://user:password@host:587 (TLS by STARTTLS, which the server must offer) or
// smtps://user:password@host:465, and of the sender. smtp://localhost is spoken to in plain text where it offers no TLS. Errors
// name neither user nor password.
func NewSMTP(address, from string, now func() time.Time) (*SMTP, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "smtp" && parsed.Scheme != "smtps" ||
		strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, errors.New("the mail server must have the form smtp://user:password@host:587 or " +
			"smtps://user:password@host:465, " +
			"with percent signs before what is special in an address")
	}
	sender, err := netmail.ParseAddress(from)
	if err != nil {
		return nil, errors.New("the sender of mails must be an address like molfabric@example.org or Molfabric " +
			"<molfabric@example.org>")
	}
	s := &SMTP{host: parsed.Hostname(), port: parsed.Port(), user: parsed.User.Username(), implicitTLS: parsed.Scheme == "smtps",
		from: sender, now: now}
	s.password, _ = parsed.User.Password()
	s.plain = !s.implicitTLS && onThisMachine(s.host)
	if s.port == "" && s.implicitTLS {
		s.port = submissionTLSPort
	} else if s.port == "" {
		s.port = submissionPort
	}
	return s, nil
}

func onThisMachine(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

func (s *SMTP) send(ctx context.Context, m Message) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(s.host, s.port))
	if err != nil {
		return fmt.Errorf("connect to the mail server: %w", err)
	}
	defer conn.Close()
	// A server that hangs must not keep a process from ending.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	encrypted := conn
	if s.implicitTLS {
		encrypted = tls.Client(conn, s.tls())
	}
	client, err := smtp.NewClient(encrypted, s.host)
	if err != nil {
		return fmt.Errorf("greet the mail server: %w", err)
	}
	if err := s.secure(client); err != nil {
		return err
	}
	if err := s.hand(client, m); err != nil {
		return fmt.Errorf("hand a mail to the server: %w", err)
	}
	_ = client.Quit() // the server has the mail
	return nil
}

func (s *SMTP) tls() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.trust != nil {
		config = s.trust.Clone()
	}
	config.ServerName = s.host
	return config
}

// secure encrypts the connection and logs in. A server elsewhere that offers no TLS gets neither password nor mail.
func (s *SMTP) secure(client *smtp.Client) error {
	if !s.implicitTLS {
		offered, _ := client.Extension("STARTTLS")
		switch {
		case offered:
			if err := client.StartTLS(s.tls()); err != nil {
				return fmt.Errorf("encrypt the connection to the mail server: %w", err)
			}
		case !s.plain:
			return errors.New("the mail server offers no TLS (STARTTLS): use its smtps:// port, or another server")
		}
	}
	if s.user == "" {
		return nil
	}
	if err := client.Auth(smtp.PlainAuth("", s.user, s.password, s.host)); err != nil {
		return fmt.Errorf("log in at the mail server: %w", err)
	}
	return nil
}

func (s *SMTP) hand(client *smtp.Client, m Message) error {
	text, err := s.write(m)
	if err != nil {
		return err
	}
	if err := client.Mail(s.from.Address); err != nil {
		return err
	}
	if err := client.Rcpt(m.To); err != nil {
		return err
	}
	body, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := body.Write(text); err != nil {
		return errors.Join(err, body.Close())
	}
	return body.Close()
}

// write is the message with its header (RFC 5322). What could end a header's line is refused or encoded: an address or a subject
// must not become a header of its own.
func (s *SMTP) write(m Message) ([]byte, error) {
	if strings.ContainsAny(m.To, "\r\n") {
		return nil, errors.New("the reader's address holds a line break")
	}
	id := m.ID
	if id == "" {
		id = rand.Text()
	}
	_, domain, _ := strings.Cut(s.from.Address, "@")
	var text strings.Builder
	for _, line := range [][2]string{
		{"From", s.from.String()}, {"To", (&netmail.Address{Address: m.To}).String()},
		{"Subject", mime.QEncoding.Encode("utf-8", m.Subject)}, {"Date", s.now().UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + id + "@" + domain + ">"}, {"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "base64"},
	} {
		fmt.Fprintf(&text, "%s: %s\r\n", line[0], line[1])
	}
	text.WriteString("\r\n")
	for body := base64.StdEncoding.EncodeToString([]byte(m.Text)); body != ""; {
		n := min(len(body), lineBytes)
		text.WriteString(body[:n] + "\r\n")
		body = body[n:]
	}
	return []byte(text.String()), nil
}
