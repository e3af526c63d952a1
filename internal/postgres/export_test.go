package postgres

import (
	"context"
	"database/sql/driver"

	"github.com/jmoiron/sqlx"
)

// OpenHeard is OpenServed on one connection that tells every statement by which its session is told whose rows it sees.
func OpenHeard(ctx context.Context, url string, hear func(statement string)) (*sqlx.DB, error) {
	plain, err := connector(url, forService)
	if err != nil {
		return nil, err
	}
	db, err := pool(ctx, served{Connector: heard{plain, hear}})
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

type heard struct {
	driver.Connector
	hear func(string)
}

func (h heard) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := h.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return heardSession{made.(session), h.hear}, nil
}

type heardSession struct {
	session
	hear func(string)
}

func (h heardSession) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if args == nil {
		h.hear(query)
	}
	return h.session.ExecContext(ctx, query, args)
}
