package mail

import (
	"context"
	"io"
	"log/slog"
	"mime"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/mail/mailtest"
)

// sendOne hands one mail to a server through a queue and waits for it.
func sendOne(t *testing.T, p *mailtest.Server, url string) (header netmail.Header, text string) {
	t.Helper()
	server, err := NewSMTP(url, "Molfabric <molfabric@example.org>", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server.trust = p.Trust
	q := newQueue(server, slog.New(slog.NewTextHandler(io.Discard, nil)))
	q.pause = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx) })
	q.Post(Message{To: "ada@example.org", Subject: "Grüße", Text: strings.Repeat("A line ü.\n.\n", 20)})
	select {
	case <-p.Arrived():
	case <-time.After(time.Minute):
		t.Fatal("no mail came")
	}
	cancel()
	running.Wait()
	got := p.Mails(t)[0]
	return got.Header, got.Text
}

func TestMailArrives(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name, scheme string
		security     mailtest.Security
		refusals     int
		encrypted    bool
	}{
		{"STARTTLS", "smtp", mailtest.StartTLS, 0, true},
		{"TLS from the first byte", "smtps", mailtest.TLS, 0, true},
		{"plain, on this machine", "smtp", mailtest.Plain, 0, false},
		{"a server that is busy twice", "smtps", mailtest.TLS, 2, true},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			p := mailtest.Start(t, one.security)
			p.Refuse(one.refusals, "451 later")
			header, text := sendOne(t, p, one.scheme+"://mail%40er:s%3Acret@"+p.Address)
			subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
			if err != nil || subject != "Grüße" || header.Get("To") != "<ada@example.org>" ||
				!strings.Contains(header.Get("From"), "molfabric@example.org") {
				t.Errorf("header %v, %v", header, err)
			}
			if text != strings.Repeat("A line ü.\n.\n", 20) {
				t.Errorf("text %q", text)
			}
			if p.Secure()[0] != one.encrypted || p.Logins()[0] != " mail@er s:cret" {
				t.Errorf("encrypted %v, login %q", p.Secure()[0], p.Logins()[0])
			}
		})
	}
}

// TestASendingTellsWhatCameOfIt: the mail is there when Send returns, with the id that it was given; a refusal is told apart from
// what another try may change.
func TestASendingTellsWhatCameOfIt(t *testing.T) {
	t.Parallel()
	p := mailtest.Start(t, mailtest.Plain)
	server, err := NewSMTP("smtp://"+p.Address, "molfabric@example.org", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	q, m := NewQueue(server, slog.New(slog.NewTextHandler(io.Discard, nil))), Message{To: "ada@example.org", ID: "msg_1"}
	for line, refused := range map[string]bool{"451 later": false, "550 nobody of this name": true} {
		p.Refuse(1, line)
		if err := q.Send(t.Context(), m); err == nil || Refused(err) != refused {
			t.Errorf("%s: got %v, refused %v, want %v", line, err, Refused(err), refused)
		}
	}
	p.Refuse(1, "") // it hangs
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := q.Send(ctx, m); err == nil || Refused(err) {
		t.Errorf("from a server that hangs: %v", err)
	}
	if err := q.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got := p.Mails(t); len(got) != 1 || got[0].Header.Get("Message-Id") != "<msg_1@example.org>" {
		t.Errorf("got %v", got)
	}
}

// TestNothingIsSentInTheOpen: a server elsewhere without TLS gets neither the password nor the mail.
func TestNothingIsSentInTheOpen(t *testing.T) {
	t.Parallel()
	p := mailtest.Start(t, mailtest.Plain)
	server, err := NewSMTP("smtp://mailer:secret@"+p.Address, "molfabric@example.org", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server.plain = false // as if it were elsewhere
	err = server.send(t.Context(), Message{To: "ada@example.org", Subject: "s", Text: "t"})
	if err == nil || !strings.Contains(err.Error(), "offers no TLS") || len(p.Mails(t))+len(p.Logins()) != 0 {
		t.Errorf("got %v, %d mails, logins %v", err, len(p.Mails(t)), p.Logins())
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
