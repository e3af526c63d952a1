package notices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/molfabric/molfabric/api/news"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/mail"
	"github.com/molfabric/molfabric/internal/tenant"
	"github.com/molfabric/molfabric/internal/webhook"
)

const (
	// passInterval is how long an event waits at most before its mail is sent. What happens meanwhile goes into one mail.
	passInterval = 15 * time.Second
	// serverPatience bounds a sending, and keeping what came of it keepPatience.
	serverPatience, keepPatience = 30 * time.Second, 5 * time.Second
	// lease is when a notice is mailed again whose sender has died.
	lease = 2 * time.Minute
	// maxTogether bounds the notices in one mail, and maxAtOnce the mails that are on their way at once.
	maxTogether, maxAtOnce = 50, 8
	// maxBegun bounds the accounts that one pass writes usual settings down for.
	maxBegun = 1000
	// giveUpAfter is when a notice is given up that the limit of mails holds back.
	giveUpAfter = 3 * 24 * time.Hour
)

// addressLimit bounds the mails that an address gets. What is beyond goes into later ones. It is beside the limit of mails that
// prove addresses, so that neither uses up the other.
var addressLimit = throttle.Limit{Rate: 20, Period: time.Hour, Burst: 20}

// TellerDeps is what a Teller needs beside a Service. All may be left out.
type TellerDeps struct {
	Metrics  *Metrics
	Patience time.Duration // with the mail server; serverPatience when 0
}

// Metrics count mails.
type Metrics struct{ mails *prometheus.CounterVec }

// NewMetrics registers the metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	return &Metrics{promauto.With(reg).NewCounterVec(prometheus.CounterOpts{Name: "molfabric_notice_mails_total",
		Help: "Mails that tell accounts of events, by what came of them: sent, again, failed, held_back by an address's limit.",
	}, []string{"outcome"})}
}

// Teller writes down what accounts are to be told, and mails it, again and again where that fails. Every instance of the API may
// run one: they take turns by the notice. A notice whose sender ends between the mail server's answer and the database is mailed
// again, with the same Message-ID.
type Teller struct {
	*Service
	metrics  *Metrics
	patience time.Duration
	rounds   news.Rounds
}

// NewTeller returns a Teller. It starts nothing, and may not be used where there is no Mailer.
func (s *Service) NewTeller(deps TellerDeps) *Teller {
	if deps.Metrics == nil {
		deps.Metrics = NewMetrics(nil)
	}
	if deps.Patience == 0 {
		deps.Patience = serverPatience
	}
	return &Teller{Service: s, metrics: deps.Metrics, patience: deps.Patience}
}

// Run mails what is due, every few seconds, until the context ends. It does nothing for a nil Teller.
func (t *Teller) Run(ctx context.Context) {
	if t == nil {
		return
	}
	news.Run(ctx, passInterval, t.Pass, func(err error) {
		t.Log.Warn("accounts are not told by mail yet; the next try is soon", "error", err)
	})
}

// Pass writes down what is to be told now, and mails what is due. It may be called at any time, by one goroutine.
func (t *Teller) Pass(ctx context.Context) error {
	ctx = tenant.Everyone(ctx, "all accounts are told of their events by mail")
	now := t.Now().UTC()
	if err := t.store.begin(ctx, now, maxBegun); err != nil {
		return err
	}
	return t.rounds.Round(ctx, news.Work{Note: t.store.noteNews, Send: t.send, Forget: t.store.tidy}, now)
}

// send mails what is due, until nothing is or no mail goes.
func (t *Teller) send(ctx context.Context) error {
	for {
		due, err := t.store.claim(ctx, t.Now().UTC(), lease)
		if err != nil || len(due) == 0 {
			return err
		}
		together := letters(due)
		went, errs := make([]bool, len(together)), make([]error, len(together))
		var sending sync.WaitGroup
		for i, one := range together {
			sending.Go(func() { went[i], errs[i] = t.sendOne(ctx, one) })
		}
		sending.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if !slices.Contains(went, true) {
			return nil // the server is away, and the rest would only wait for it too
		}
	}
}

// letters are notices by the mail that they go into: those of an account and an event, in their order.
func letters(due []notice) [][]notice {
	slices.SortFunc(due, func(a, b notice) int {
		if c := strings.Compare(a.AccountID+" "+a.Event, b.AccountID+" "+b.Event); c != 0 {
			return c
		}
		return int(a.Place - b.Place)
	})
	var found [][]notice
	for i, one := range due {
		if i == 0 || due[i-1].AccountID != one.AccountID || due[i-1].Event != one.Event {
			found = append(found, nil)
		}
		found[len(found)-1] = append(found[len(found)-1], one)
	}
	return found
}

// sendOne sends a mail and records what came of its notices. went is false when the server would not have it now.
func (t *Teller) sendOne(ctx context.Context, told []notice) (went bool, err error) {
	to := told[0].Email
	if !told[0].Reachable {
		return true, t.failed(ctx, told, "the account's address is not proved, or the account is locked")
	}
	if held := t.Limiter.Take(ctx, limitKey(to), addressLimit); !held.Allowed {
		return true, t.holdBack(ctx, told, max(held.RetryAfter, time.Second))
	}
	subject, text, err := t.write(told)
	if err != nil {
		return true, errors.Join(err, t.failed(ctx, told, "it cannot be written"))
	}
	limited, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	err = t.Mail.Send(limited, mail.Message{To: to, Subject: subject, Text: text, ID: messageID(told)})
	switch {
	case err == nil:
		return true, t.record(ctx, told, "sent", func(one *outcome) { one.state = sent })
	case ctx.Err() != nil:
		return false, ctx.Err() // the lease ends, and somebody sends it again
	case mail.Refused(err):
		t.Log.Warn("the mail server refuses a notice", "account", told[0].AccountID, "error", err)
		return true, t.failed(ctx, told, "the mail server refuses it")
	}
	t.Log.Warn("a notice was not mailed; it is tried again", "account", told[0].AccountID, "error", err)
	return false, t.again(ctx, told)
}

// again has notices mailed later, and gives up those that were tried for days.
func (t *Teller) again(ctx context.Context, told []notice) error {
	now := t.Now().UTC()
	return t.record(ctx, told, "again", func(one *outcome) {
		one.problem = "the mail server cannot be reached, or does not take it"
		pause, more := webhook.Again(one.Attempts)
		if one.next = now.Add(pause); !more {
			one.state = failed
		}
	})
}

// holdBack has notices mailed when the address may get another mail.
func (t *Teller) holdBack(ctx context.Context, told []notice, pause time.Duration) error {
	now := t.Now().UTC()
	return t.record(ctx, told, "held_back", func(one *outcome) {
		one.problem, one.next, one.undo = "the address gets many mails", now.Add(pause), 1
		if now.Sub(one.CreatedAt) > giveUpAfter {
			one.state = failed
		}
	})
}

func (t *Teller) failed(ctx context.Context, told []notice, problem string) error {
	return t.record(ctx, told, "failed", func(one *outcome) { one.state, one.problem = failed, problem })
}

// record keeps what came of notices; judge says it of each, which is pending before. It does so too when the process is ending:
// a mail that went must not go again.
func (t *Teller) record(ctx context.Context, told []notice, label string, judge func(*outcome)) error {
	t.metrics.mails.WithLabelValues(label).Inc()
	came := make([]outcome, len(told))
	for i, one := range told {
		came[i] = outcome{notice: one, state: pending}
		judge(&came[i])
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepPatience)
	defer cancel()
	return t.store.record(ctx, came, t.Now().UTC())
}

// messageID is the same for the same notices.
func messageID(told []notice) string {
	sum := sha256.New()
	for _, one := range told {
		sum.Write([]byte(one.AccountID + " " + one.ID + "\n"))
	}
	return "msg_" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// limitKey names what mails are counted under, without writing the address into Redis.
func limitKey(to string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(to)))
	return "notice:" + hex.EncodeToString(sum[:16])
}
