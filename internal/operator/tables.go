package operator

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/auditlog"
)

// style is that of the client's tables: a header, a line below it, and space between columns.
var style = table.Style{
	Name: "plain", Box: table.BoxStyle{MiddleHorizontal: "─", MiddleSeparator: "─", PaddingRight: "  ", UnfinishedRow: "…"},
	Format: table.FormatOptions{Header: text.FormatDefault}, Options: table.Options{SeparateHeader: true},
}

const moment = "2006-01-02 15:04"

func newTable(out io.Writer, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	if len(header) > 0 {
		t.AppendHeader(header)
	}
	return t
}

func writeAccounts(out io.Writer, accounts []auth.AccountState) {
	t := newTable(out, "Account", "Address", "Plan", "Opened", "Address proved", "Available", "Held", "Jobs", "State")
	for _, a := range accounts {
		t.AppendRow(table.Row{a.AccountID, printable(a.Email), a.Plan, a.CreatedAt.Format(moment), yes(a.ProvedAt != nil),
			billing.Display(a.AvailablePence), billing.Display(a.HeldPence), a.Jobs, stateOf(a)})
	}
	t.Render()
}

func writeAccount(out io.Writer, a auth.AccountState) {
	t := newTable(out)
	for _, row := range []table.Row{
		{"Account", a.AccountID}, {"Address", printable(a.Email)}, {"Name", printable(a.Name)}, {"Plan", a.Plan},
		{"Opened", a.CreatedAt.Format(moment) + " UTC"}, {"Address proved", day(a.ProvedAt)}, {"State", stateOf(a)},
		{"Available", billing.Display(a.AvailablePence)}, {"Held", billing.Display(a.HeldPence)},
		{"Jobs", fmt.Sprintf("%d, of which %d have not ended", a.Jobs, a.JobsNotEnded)},
		{"Ways in", fmt.Sprintf("password: %s, identities: %d, keys: %d, browsers signed in: %d",
			yes(a.HasPassword), a.Identities, a.Keys, a.Sessions)},
	} {
		t.AppendRow(row)
	}
	t.Render()
}

func stateOf(a auth.AccountState) string {
	if a.ClosedAt != nil {
		return "closed on " + a.ClosedAt.UTC().Format(moment)
	}
	if a.LockedAt == nil {
		return "open"
	}
	why := ""
	if a.LockedBecause != nil {
		why = ": " + *a.LockedBecause
	}
	return "locked on " + a.LockedAt.UTC().Format(moment) + why
}

func day(at *time.Time) string {
	if at == nil {
		return "no"
	}
	return at.UTC().Format(moment) + " UTC"
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func writeLines(out io.Writer, lines []auditlog.Line) {
	t := newTable(out, "When (UTC)", "Account", "Event", "By", "From", "Detail")
	for _, l := range lines {
		t.AppendRow(table.Row{l.At.Format(time.DateTime), l.AccountID, l.Event, l.Actor, l.Address, printable(l.Detail)})
	}
	t.Render()
}

// printable is text without what a terminal would obey: names are whatever somebody has sent.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
