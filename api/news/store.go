// Package news finds in the rows what accounts are to be told: jobs that have ended, credit that has run low, keys that are used
// from somewhere new. The groups webhooks and notices ask it, each for those that it tells, and look when it says. It writes no
// message and sends none.
package news

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/webhook"
)

// most bounds what one statement finds, and with it what a pass has in memory.
const most = 500

// Lane is a way of telling: the tables of who wants to be told, and of what they were told. Everything in it is SQL, and none of
// it a user's.
type Lane struct {
	// Readers is a table with the columns account_id, events, since, low_credit_pence and credit_low_at.
	Readers string
	ID      string // the column of its key
	Enabled string // which of its rows are told, as a condition on w
	Written string // the table of messages; their column id has Item.ID
	Reader  string // its column that names the reader
}

// Item is something that a reader is to be told.
type Item struct {
	Reader    string
	AccountID string
	// ID is the message's. It is made of what it tells, so that whoever finds it too writes down the same message.
	ID      string
	Subject string // the job or the key that it tells of, or ""
	Message webhook.Message
}

// Note writes an item down, once however often it is called with it.
type Note func(ctx context.Context, db sqlx.ExecerContext, one Item) error

// Happened notes what happened since a moment and is not written down: jobs that have ended, keys that are used from
// somewhere new.
func (l Lane) Happened(ctx context.Context, db *sqlx.DB, since time.Time, note Note) error {
	for _, find := range []func(context.Context, *sqlx.DB, time.Time) ([]Item, error){l.ended, l.moved} {
		for {
			found, err := find(ctx, db, since)
			if err != nil {
				return err
			}
			for _, one := range found {
				if err := note(ctx, db, one); err != nil {
					return err
				}
			}
			if len(found) < most {
				break
			}
		}
	}
	return nil
}

func (l Lane) ended(ctx context.Context, db *sqlx.DB, since time.Time) ([]Item, error) {
	var rows []struct {
		Reader       string    `db:"reader"`
		AccountID    string    `db:"account_id"`
		JobID        string    `db:"job_id"`
		JobName      string    `db:"job_name"`
		JobType      string    `db:"job_type"`
		Run          int       `db:"run"`
		Status       string    `db:"status"`
		FinishedAt   time.Time `db:"finished_at"`
		ChargedPence int64     `db:"charged_pence"`
	}
	err := db.SelectContext(ctx, &rows, `
SELECT w.`+l.ID+` AS reader, w.account_id, j.id AS job_id, coalesce(j.job_name, '') AS job_name, j.job_type, j.attempts AS run,
	j.status, j.finished_at, coalesce(j.charged_pence, 0) AS charged_pence
FROM `+l.Readers+` w JOIN jobs j ON j.account_id = w.account_id AND j.finished_at >= w.since AND j.finished_at > $1
WHERE `+l.Enabled+` AND $2 = ANY (w.events) AND NOT EXISTS (
	SELECT FROM `+l.Written+` d WHERE d.`+l.Reader+` = w.`+l.ID+` AND d.id = 'msg_' || j.id || '_' || j.attempts)
ORDER BY j.finished_at LIMIT $3`, since, contract.EventJobEnded, most)
	if err != nil {
		return nil, fmt.Errorf("looking for jobs that have ended: %w", err)
	}
	items := make([]Item, len(rows))
	for i, r := range rows {
		at := r.FinishedAt.UTC()
		items[i] = Item{Reader: r.Reader, AccountID: r.AccountID, ID: fmt.Sprintf("msg_%s_%d", r.JobID, r.Run), Subject: r.JobID,
			Message: webhook.Message{Type: contract.EventJobEnded, Timestamp: at, Data: webhook.Ended{JobID: r.JobID,
				JobName: r.JobName, JobType: r.JobType, Run: r.Run, Status: r.Status, FinishedAt: at,
				ChargedPence: r.ChargedPence}}}
	}
	return items, nil
}

func (l Lane) moved(ctx context.Context, db *sqlx.DB, since time.Time) ([]Item, error) {
	var rows []struct {
		Reader      string    `db:"reader"`
		AccountID   string    `db:"account_id"`
		KeyID       string    `db:"key_id"`
		Name        string    `db:"name"`
		Prefix      string    `db:"prefix"`
		Last4       string    `db:"last4"`
		Network     string    `db:"network"`
		Place       int64     `db:"place"`
		FirstSeenAt time.Time `db:"first_seen_at"`
	}
	err := db.SelectContext(ctx, &rows, `
SELECT w.`+l.ID+` AS reader, w.account_id, k.id AS key_id, k.name, k.prefix, k.last4, n.network, n.place, n.first_seen_at
FROM api_key_networks n JOIN api_keys k ON k.id = n.key_id
JOIN `+l.Readers+` w ON w.account_id = n.account_id AND n.first_seen_at >= w.since
WHERE n.news AND n.first_seen_at > $1 AND `+l.Enabled+` AND $2 = ANY (w.events) AND NOT EXISTS (
	SELECT FROM `+l.Written+` d WHERE d.`+l.Reader+` = w.`+l.ID+` AND d.id = 'msg_' || n.key_id || '_' || n.place)
ORDER BY n.place LIMIT $3`, since, contract.EventKeyNewNetwork, most)
	if err != nil {
		return nil, fmt.Errorf("looking for keys that are used from somewhere new: %w", err)
	}
	items := make([]Item, len(rows))
	for i, r := range rows {
		at := r.FirstSeenAt.UTC()
		items[i] = Item{Reader: r.Reader, AccountID: r.AccountID, ID: fmt.Sprintf("msg_%s_%d", r.KeyID, r.Place), Subject: r.KeyID,
			Message: webhook.Message{Type: contract.EventKeyNewNetwork, Timestamp: at, Data: webhook.Moved{KeyID: r.KeyID,
				KeyName: r.Name, KeyPrefix: r.Prefix, KeyLast4: r.Last4, Network: r.Network, UsedAt: at}}}
	}
	return items, nil
}

// available is what an account can spend while its month lasts; $1 is now. A month that has ended says nothing: the next one's
// credit is granted when the account is used.
const (
	available = `(c.wallet_pence - c.wallet_held_pence + c.monthly_pence - c.monthly_held_pence)`
	thisMonth = `c.monthly_reset_at > $1`
)

// LowCredit notes whose credit has fallen below what they say, once until there was more again. It is called in a transaction.
func (l Lane) LowCredit(ctx context.Context, tx *sqlx.Tx, now time.Time, note Note) error {
	_, err := tx.ExecContext(ctx, `UPDATE `+l.Readers+` w SET credit_low_at = NULL FROM credit_accounts c
		WHERE c.account_id = w.account_id AND w.credit_low_at IS NOT NULL AND `+thisMonth+`
			AND `+available+` >= w.low_credit_pence`, now)
	if err != nil {
		return fmt.Errorf("looking for credit that was topped up: %w", err)
	}
	var found []struct {
		Reader    string `db:"reader"`
		AccountID string `db:"account_id"`
		Threshold int64  `db:"low_credit_pence"`
		Available int64  `db:"available"`
	}
	err = tx.SelectContext(ctx, &found, `UPDATE `+l.Readers+` w SET credit_low_at = $1 FROM credit_accounts c
		WHERE c.account_id = w.account_id AND `+l.Enabled+` AND $2 = ANY (w.events) AND w.credit_low_at IS NULL
			AND `+thisMonth+` AND `+available+` < w.low_credit_pence
		RETURNING w.`+l.ID+` AS reader, w.account_id, w.low_credit_pence, `+available+` AS available`, now, contract.EventCreditLow)
	if err != nil {
		return fmt.Errorf("looking for credit that is low: %w", err)
	}
	for _, one := range found {
		err := note(ctx, tx, Item{Reader: one.Reader, AccountID: one.AccountID, ID: id.New("msg_"), Message: webhook.Message{
			Type: contract.EventCreditLow, Timestamp: now,
			Data: webhook.Low{AvailablePence: one.Available, ThresholdPence: one.Threshold}}})
		if err != nil {
			return err
		}
	}
	return nil
}
