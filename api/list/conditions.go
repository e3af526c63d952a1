package list

import (
	"fmt"
	"strings"

	"github.com/lib/pq"
)

// Conditions are the parts of a WHERE clause and their arguments. Columns and conditions are SQL of the program's own; values come
// from anywhere.
type Conditions struct {
	Args  []any
	where []string
}

// Owned begins with what is an account's; column is that of the account's id.
func Owned(column, accountID string) *Conditions {
	c := &Conditions{}
	c.Add(column+" = ?", accountID)
	return c
}

// Add adds a condition; each ? stands for the next of the values.
func (c *Conditions) Add(condition string, values ...any) {
	for _, value := range values {
		condition = strings.Replace(condition, "?", c.Arg(value), 1)
	}
	c.where = append(c.where, condition)
}

// Arg adds an argument and returns its place.
func (c *Conditions) Arg(value any) string {
	c.Args = append(c.Args, value)
	return fmt.Sprintf("$%d", len(c.Args))
}

// Equal asks for a value of a column; "" asks for nothing.
func (c *Conditions) Equal(column, value string) {
	if value != "" {
		c.Add(column+" = ?", value)
	}
}

// In asks for one of several values of a column; none ask for nothing.
func (c *Conditions) In(column string, values []string) {
	if len(values) > 0 {
		c.Add(column+" = ANY(?)", pq.Array(values))
	}
}

// AtMost bounds a column; nil does not.
func (c *Conditions) AtMost(column string, bound *float64) {
	if bound != nil {
		c.Add(column+" <= ?", *bound)
	}
}

// String is the WHERE clause, without the word.
func (c *Conditions) String() string {
	if len(c.where) == 0 {
		return "true"
	}
	return strings.Join(c.where, " AND ")
}

// Order is a way to sort a list: by columns, all in one direction, so that one comparison of rows finds the next page. The last
// column tells any two rows apart.
type Order struct {
	Columns    []Column
	Descending bool
}

// Column is an SQL expression to sort by, and the type that values are compared as; "" where the database finds it out.
type Column struct{ SQL, Type string }

// Newest sorts by columns of a time and an id, newest first.
func Newest(at, id string) Order {
	return Order{Columns: []Column{{SQL: at}, {SQL: id}}, Descending: true}
}

// By is the order's ORDER BY clause, without the words.
func (o Order) By() string {
	direction := " ASC"
	if o.Descending {
		direction = " DESC"
	}
	by := make([]string, len(o.Columns))
	for i, column := range o.Columns {
		by[i] = column.SQL + direction
	}
	return strings.Join(by, ", ")
}

// Behind asks for what comes behind a row in an order, by the row's values of the order's columns; none begin at the beginning.
func (c *Conditions) Behind(o Order, values ...any) {
	if len(values) == 0 {
		return
	}
	sign := ">"
	if o.Descending {
		sign = "<"
	}
	columns, places := make([]string, len(o.Columns)), make([]string, len(o.Columns))
	for i, column := range o.Columns {
		columns[i], places[i] = column.SQL, c.Arg(values[i])
		if column.Type != "" {
			places[i] += "::" + column.Type
		}
	}
	c.where = append(c.where, fmt.Sprintf("(%s) %s (%s)", strings.Join(columns, ", "), sign, strings.Join(places, ", ")))
}
