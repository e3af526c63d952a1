package postgres

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/tenant"
)

// The roles that statements are served by. Neither owns a table, and both are bound by row-level security (migration 17): the
// policies show accountRole the rows of the account that accountSetting names, and everyoneRole all rows.
const (
	accountRole    = "molfabric_app"
	everyoneRole   = "molfabric_everyone"
	accountSetting = "molfabric.account"
)

// Codes of errors, from appendix A of the PostgreSQL manual.
const (
	invalidParameterValue = "22023"
	insufficientPrivilege = "42501"
)

// ErrNoTenant means that a statement's context does not say whose rows it is about (package tenant). It was not sent.
var ErrNoTenant = errors.New("the context does not say whose rows the statement is about: tenant.With, tenant.Everyone or " +
	"tenant.Nobody")

// OpenServed is Open for whatever serves accounts: every statement sees the rows of the tenant in its context and no others. It
// becomes a role that owns nothing, whoever the URL's user is, so the server itself holds the statements to that. A statement
// without a tenant is ErrNoTenant. A transaction has the tenant of the context that began it; inside, a context with another one is
// an error and one with none is taken for it. The connections must be sessions of the server: a pooler may hand them on when they
// close and not before.
//
// Errors: when the database has no such roles yet, when the URL's user may not become them, and when they are not bound by it.
func OpenServed(ctx context.Context, url string) (*sqlx.DB, error) {
	return openServed(ctx, url, assumed{})
}

// OpenEveryone is OpenServed for what looks at all accounts from outside, such as a test: a statement without a tenant sees
// everyone's rows. why is for whoever reads the call.
func OpenEveryone(ctx context.Context, url, why string) (*sqlx.DB, error) {
	return openServed(ctx, url, assume(tenant.Everyone(ctx, why)))
}

// assumed is the tenant of statements whose context names none.
type assumed struct {
	scope tenant.Scope
	any   bool // there is one
}

func assume(ctx context.Context) (a assumed) {
	a.scope, a.any = tenant.From(ctx)
	return a
}

func openServed(ctx context.Context, url string, otherwise assumed) (*sqlx.DB, error) {
	plain, err := connector(url, forService)
	if err != nil {
		return nil, err
	}
	db, err := pool(ctx, served{Connector: plain, otherwise: otherwise})
	if err != nil {
		return nil, explained(err)
	}
	if err := checkWalls(tenant.Nobody(ctx), db); err != nil {
		return nil, errors.Join(explained(err), db.Close())
	}
	return db, nil
}

// forService sets a connection up for many small statements. A statement is sent together with its parameters, where it otherwise
// takes one trip to be read and one to run. A page that an index points to is expected in memory or on a solid disk: the server's
// own price for it is that of a disk that has to turn, by which it reads a table of 20,000 tasks from end to end to find 200. How
// long plans are kept is left to the server: to have each statement planned anew (plan_cache_mode) also plans the check of each
// foreign key of each row anew.
func forService(cfg *pq.Config) {
	cfg.BinaryParameters = true
	cfg.Runtime["random_page_cost"] = "1.1"
}

// explained says what to do about roles that are not there.
func explained(err error) error {
	refusal := (*pq.Error)(nil)
	switch {
	case !errors.As(err, &refusal):
		return err
	case refusal.Code == invalidParameterValue:
		return fmt.Errorf("the database has no role %s or %s: run `molfabric migrate`: %w", accountRole, everyoneRole, err)
	case refusal.Code == insufficientPrivilege:
		return fmt.Errorf("the user of the database URL is not served: GRANT %s, %s TO it: %w", accountRole, everyoneRole, err)
	default:
		return err
	}
}

// checkWalls refuses a database whose row-level security does not bind the role that serves accounts: a superuser, an owner of the
// tables, or a role that may bypass it.
func checkWalls(ctx context.Context, db *sqlx.DB) error {
	var bound bool
	// true before the first migration
	err := db.GetContext(ctx, &bound, `SELECT coalesce(row_security_active(to_regclass('accounts')::oid), true)`)
	if err != nil {
		return fmt.Errorf("ask whether row-level security holds: %w", err)
	}
	if !bound {
		return fmt.Errorf("row-level security does not bind the role %s: it must own no table of the schema, and have neither "+
			"SUPERUSER nor BYPASSRLS", accountRole)
	}
	return nil
}

// served makes connections that are told whose rows each statement is about.
type served struct {
	driver.Connector
	otherwise assumed
}

// Connect implements driver.Connector.
func (s served) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := made.(session)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection of the driver is a %T, which lacks contexts", made), made.Close())
	}
	return &conn{session: inner, otherwise: s.otherwise}, nil
}

// session is what the pool asks of a connection, and the driver's has.
type session interface {
	driver.Conn
	driver.Pinger
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// conn is a connection that tells its session whose rows a statement is about. The pool uses it for one thing at a time.
type conn struct {
	session
	otherwise assumed
	scope     tenant.Scope // what the session has been told last
	told      bool         // it has heard it
	unsure    bool         // it may have heard something else, or keep what no longer holds
	inTx      bool

	statements keptStatements
}

// enter makes the session see the rows of the context's tenant, before a statement or a transaction. It asks the server only when
// that changes: outside a transaction, so that no rollback takes it back.
func (c *conn) enter(ctx context.Context) error {
	want, said := tenant.From(ctx)
	switch {
	case c.inTx && said && want != c.scope:
		return fmt.Errorf("a statement about the rows of %s in a transaction about those of %s", want, c.scope)
	case c.inTx:
		return nil
	case !said && !c.otherwise.any:
		return ErrNoTenant
	case !said:
		want = c.otherwise.scope
	}
	if c.told && !c.unsure && want == c.scope {
		return nil
	}
	change := c.change(want)
	c.unsure = true // until the server has answered
	if _, err := c.session.ExecContext(ctx, change, nil); err != nil {
		return fmt.Errorf("see the rows of %s: %w", want, err)
	}
	c.scope, c.told, c.unsure = want, true, false
	return nil
}

// change is what the session is to be told, in one message.
func (c *conn) change(want tenant.Scope) string {
	if want.Everyone() {
		return "SET ROLE " + everyoneRole // no policy of this role reads the setting
	}
	account := "SET " + accountSetting + " = " + pq.QuoteLiteral(want.Account())
	if c.told && !c.unsure && !c.scope.Everyone() {
		return account
	}
	return "SET ROLE " + accountRole + "; " + account
}

// Bytes are a parameter that is sent byte by byte as it is: for a column of bytes, or for a text that is too large to be copied.
// Any other slice of bytes is taken for a text, mostly JSON.
type Bytes []byte

// CheckNamedValue implements driver.NamedValueChecker. The driver sends slices of bytes as the server's own form of the parameter's
// type, which JSON is not.
func (c *conn) CheckNamedValue(value *driver.NamedValue) error {
	switch v := value.Value.(type) {
	case Bytes:
		value.Value = []byte(v)
		return nil
	case []byte:
		value.Value = textOrNull(v)
		return nil
	case json.RawMessage:
		value.Value = textOrNull(v)
		return nil
	default:
		return c.session.CheckNamedValue(value)
	}
}

// textOrNull is NULL for nil.
func textOrNull(text []byte) driver.Value {
	if text == nil {
		return nil
	}
	return string(text)
}

// IsValid implements driver.Validator: a session that may see somebody else's rows is not used again.
func (c *conn) IsValid() bool { return !c.unsure && c.session.IsValid() }

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	kept, err := c.keep(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return c.session.ExecContext(ctx, query, args)
	}
	result, err := kept.ExecContext(ctx, args)
	return result, c.outdated(err)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	kept, err := c.keep(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return c.session.QueryContext(ctx, query, args)
	}
	rows, err := kept.QueryContext(ctx, args)
	return rows, c.outdated(err)
}

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext. The statement may be run for another tenant than it was prepared for: the
// server plans it anew for each role.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	made, err := c.session.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	inner, ok := made.(preparedSession)
	if !ok {
		return made, nil // a COPY, which ends before its transaction does
	}
	return &stmt{preparedSession: inner, conn: c}, nil
}

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	begun, err := c.session.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.inTx = true
	return &tx{Tx: begun, conn: c}, nil
}

// tx is a transaction about one tenant's rows.
type tx struct {
	driver.Tx
	conn *conn
}

// Commit implements driver.Tx.
func (t *tx) Commit() error {
	t.conn.inTx = false
	return t.Tx.Commit()
}

// Rollback implements driver.Tx.
func (t *tx) Rollback() error {
	t.conn.inTx = false
	return t.Tx.Rollback()
}

// preparedSession is what the pool asks of a prepared statement, and the driver's has.
type preparedSession interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// stmt is a prepared statement of a connection.
type stmt struct {
	preparedSession
	conn *conn
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.enter(ctx); err != nil {
		return nil, err
	}
	return s.preparedSession.ExecContext(ctx, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.enter(ctx); err != nil {
		return nil, err
	}
	return s.preparedSession.QueryContext(ctx, args)
}
