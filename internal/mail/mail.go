// Package mail carries messages to people: over SMTP, or onto the console of a system on one machine. It knows neither accounts
// nor what a message is about, and logs neither its text nor a password.
package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/textproto"
	"strings"
	"time"
)

const (
	// maxWaiting bounds the messages that wait for the server: a few MB. What comes beyond is dropped with a line in the log, and
	// its reader asks again.
	maxWaiting = 1000
	// tries and firstPause bound how long one message keeps the others waiting while the server is away.
	tries      = 3
	firstPause = 2 * time.Second
	// sendPatience bounds one try: a server that answers slowly, and one that does not.
	sendPatience = 30 * time.Second
)

// Message is a message in plain text to one reader.
type Message struct {
	To      string // name@host
	Subject string // one line
	Text    string
	// ID makes the Message-ID, so that a mail which is sent twice is known as one: letters, digits and underscores. "" for any.
	ID string
}

// sender brings one message on its way, or says why not.
type sender interface {
	send(ctx context.Context, m Message) error
}

// Queue takes messages without keeping their writer waiting; Run brings them on their way in their order. It is safe for
// concurrent use.
type Queue struct {
	to      sender
	log     *slog.Logger
	waiting chan Message
	pause   time.Duration // before the second try; it doubles
}

// NewQueue returns the queue before an SMTP server.
func NewQueue(server *SMTP, log *slog.Logger) *Queue { return newQueue(server, log) }

func newQueue(to sender, log *slog.Logger) *Queue {
	return &Queue{to: to, log: log, waiting: make(chan Message, maxWaiting), pause: firstPause}
}

// Post takes a message. One beyond maxWaiting is dropped.
func (q *Queue) Post(m Message) {
	select {
	case q.waiting <- m:
	default:
		q.log.Error("a mail was dropped: too many wait for the mail server", "waiting", maxWaiting)
	}
}

// Run sends what is posted until the context ends. It is called once.
func (q *Queue) Run(ctx context.Context) {
	for {
		select {
		case m := <-q.waiting:
			q.deliver(ctx, m)
		case <-ctx.Done():
			return
		}
	}
}

// Send brings a message on its way at once, beside those that wait, and says whether the server has taken it. It tries once. See
// Refused for the errors.
func (q *Queue) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	return q.to.send(ctx, m)
}

// Refused reports whether the error of a sending is one that another try does not change.
func Refused(err error) bool {
	refused := (*textproto.Error)(nil)
	return errors.As(err, &refused) && refused.Code >= permanentCode
}

// permanentCode begins the codes with which a server refuses a mail for good (RFC 5321, section 4.2.1).
const permanentCode = 500

func (q *Queue) deliver(ctx context.Context, m Message) {
	pause := q.pause
	for try := 1; ; try++ {
		limited, cancel := context.WithTimeout(ctx, sendPatience)
		err := q.to.send(limited, m)
		cancel()
		if err == nil || ctx.Err() != nil {
			return
		}
		if try == tries || Refused(err) {
			q.log.Error("a mail was not sent; its reader can ask for it again", "tries", try, "error", err)
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause *= 2
	}
}

// Console shows messages to whoever sits at the machine, in the place of a mail server.
type Console struct{ Out io.Writer }

// Post writes a message.
func (c Console) Post(m Message) {
	fmt.Fprintf(c.Out, "\nMail to %s (no mail server is configured): %s\n\n    %s\n\n", m.To, m.Subject,
		strings.ReplaceAll(m.Text, "\n", "\n    "))
}

// Send writes a message.
func (c Console) Send(_ context.Context, m Message) error {
	c.Post(m)
	return nil
}
