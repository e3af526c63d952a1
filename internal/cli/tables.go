package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// style is plain: a header, a line below it, and space between columns.
var style = table.Style{
	Name: "plain", Box: table.BoxStyle{MiddleHorizontal: "─", MiddleSeparator: "─", PaddingRight: "  ", UnfinishedRow: "…"},
	Format:  table.FormatOptions{Header: text.FormatDefault},
	Options: table.Options{SeparateHeader: true},
}

// paint colours text for terminals only, and not when NO_COLOR is set (no-color.org).
type paint bool

func painter(w io.Writer) paint {
	return paint(terminalOf(w) != nil && os.Getenv("NO_COLOR") == "")
}

func (p paint) sgr(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string { return p.sgr("1", s) }

func (p paint) status(s job.Status) string {
	switch s {
	case job.Completed:
		return p.sgr("32", string(s))
	case job.CompletedWithFailures, job.Cancelling, job.Cancelled:
		return p.sgr("33", string(s))
	case job.Failed:
		return p.sgr("31", string(s))
	}
	return string(s)
}

func (p paint) task(s job.TaskStatus) string {
	switch s {
	case job.TaskSucceeded:
		return p.sgr("32", string(s))
	case job.TaskCancelled:
		return p.sgr("33", string(s))
	case job.TaskFailed:
		return p.sgr("31", string(s))
	}
	return string(s)
}

// good is green where something is well, and red where it is not.
func (p paint) good(well bool, s string) string {
	if well {
		return p.sgr("32", s)
	}
	return p.sgr("31", s)
}

// newTable returns a table whose columns with these numbers, counted from 1, stand to the right.
func newTable(p paint, right []int, header ...string) table.Writer {
	t := table.NewWriter()
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	row := make(table.Row, len(header))
	for i, name := range header {
		row[i] = p.bold(name)
	}
	t.AppendHeader(row)
	var columns []table.ColumnConfig
	for _, number := range right {
		columns = append(columns, table.ColumnConfig{Number: number, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return t
}

func render(w io.Writer, t table.Writer) error {
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

func jobsTable(w io.Writer, jobs []contract.Job) error {
	p := painter(w)
	t := newTable(p, []int{4, 5}, "job", "name", "status", "done", "cost", "submitted")
	for _, j := range jobs {
		t.AppendRow(table.Row{
			j.JobID, shorten(j.JobName, 40), p.status(j.Status), fmt.Sprintf("%.0f %%", j.Progress.Percent), costSoFar(j.Cost),
			clock(j.CreatedAt),
		})
	}
	if len(jobs) == 0 {
		_, err := fmt.Fprintln(w, "No jobs.")
		return err
	}
	return render(w, t)
}

func keysTable(w io.Writer, keys []contract.Key) error {
	if len(keys) == 0 {
		_, err := fmt.Fprintln(w, "No keys.")
		return err
	}
	t := newTable(painter(w), nil, "id", "name", "key", "kind", "scopes", "made", "last used", "expires", "revoked")
	for _, k := range keys {
		t.AppendRow(table.Row{
			k.ID, shorten(k.Name, 30), k.Prefix + "…" + k.Last4, k.Environment, strings.Join(k.Scopes, " "), clock(k.CreatedAt),
			clockOr(k.LastUsedAt, "never"), clockOr(k.ExpiresAt, "never"), clockOr(k.RevokedAt, ""),
		})
	}
	return render(w, t)
}

func outputsTable(w io.Writer, outputs []contract.Output) error {
	if len(outputs) == 0 {
		_, err := fmt.Fprintln(w, "No files yet.")
		return err
	}
	t := newTable(painter(w), []int{3}, "file", "role", "size", "sha256")
	for _, o := range outputs {
		t.AppendRow(table.Row{o.Name, o.Role, bytesText(o.ByteSize), shorten(o.SHA256, 13)})
	}
	return render(w, t)
}

func transactionsTable(w io.Writer, transactions []contract.Transaction) error {
	if len(transactions) == 0 {
		_, err := fmt.Fprintln(w, "No entries.")
		return err
	}
	t := newTable(painter(w), []int{4, 5}, "when", "type", "bucket", "amount", "balance", "job", "description")
	for _, e := range transactions {
		jobID := ""
		if e.JobID != nil {
			jobID = *e.JobID
		}
		t.AppendRow(table.Row{clock(e.CreatedAt), e.Type, e.Bucket, pence(e.AmountCents), pence(e.BalanceAfterCents), jobID,
			e.Description})
	}
	return render(w, t)
}

func tiersTable(w io.Writer, tiers []contract.TopUpTier) error {
	if len(tiers) == 0 {
		_, err := fmt.Fprintln(w, "Nothing can be bought here.")
		return err
	}
	t := newTable(painter(w), []int{2, 3}, "tier", "price", "bonus")
	for _, tier := range tiers {
		t.AppendRow(table.Row{tier.ID, pence(tier.PricePence), pence(tier.BonusPence)})
	}
	return render(w, t)
}

func showBalance(w io.Writer, b contract.Balance) {
	fmt.Fprintf(w, "%s available\n", painter(w).bold(b.AvailableDisplay))
	monthly := ""
	if b.MonthlyResetAt != nil {
		monthly = ", renewed " + clock(*b.MonthlyResetAt)
	}
	fmt.Fprintf(w, "  monthly   %s%s\n", bucket(b.MonthlyCents, b.MonthlyHeldCents), monthly)
	fmt.Fprintf(w, "  wallet    %s\n", bucket(b.WalletCents, b.WalletHeldCents))
}

func bucket(cents, held int64) string {
	if held == 0 {
		return pence(cents)
	}
	return fmt.Sprintf("%s, of which running jobs hold %s", pence(cents), pence(held))
}

func showJob(w io.Writer, j contract.Job) {
	p := painter(w)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-10s %s\n", name, value)
		}
	}
	line("job", j.JobID)
	line("name", j.JobName)
	if j.Simulator != nil {
		line("simulator", *j.Simulator)
	}
	line("status", p.status(j.Status))
	if j.StatusReason != nil {
		line("reason", *j.StatusReason)
	}
	if j.Error != nil {
		line("error", fmt.Sprintf("%s (%s, %s)", j.Error.Message, j.Error.Code, j.Error.FailureClass))
	}
	line("progress", fmt.Sprintf("%.1f %%, %s", j.Progress.Percent, j.Progress.Message))
	if j.Queue != nil {
		line("queue", fmt.Sprintf("%d tasks ahead", j.Queue.Position))
	}
	tasks := j.Progress.Tasks
	line("tasks", fmt.Sprintf("%d: %d succeeded, %d failed, %d running, %d waiting, %d cancelled",
		tasks.Total, tasks.Succeeded, tasks.Failed, tasks.Running, tasks.Pending+tasks.Queued, tasks.Cancelled))
	line("cost", bill(j.Cost))
	line("submitted", clock(j.CreatedAt))
	line("started", clockOr(j.StartedAt, ""))
	line("finished", clockOr(j.FinishedAt, ""))
	if j.FilesDeletedAt != nil {
		line("files", "deleted "+clock(*j.FilesDeletedAt))
	}
}

// bill says what a job was expected to cost, what is set aside for it while it runs, and what it has cost.
func bill(c contract.Cost) string {
	text := "estimated " + money(c.Estimated, c.Currency)
	if c.Final != nil {
		return text + ", charged " + money(*c.Final, c.Currency)
	}
	return text + ", held " + money(c.Held, c.Currency) + ", used so far " + money(c.Accrued, c.Currency)
}

// billOf is the bill of a job that has ended, and why it costs nothing where its owner could wonder.
func billOf(j contract.Job) string {
	text := bill(j.Cost)
	if j.Cost.Final == nil || j.Error == nil || j.Error.FailureClass != userInput {
		return text
	}
	if charged, err := j.Cost.Final.Float64(); err != nil || charged > 0 {
		return text
	}
	return text + ": it failed for its input before its own work began"
}

// userInput is the class of failures that a job's owner can correct.
const userInput = "USER_INPUT"

func costSoFar(c contract.Cost) string {
	if c.Final != nil {
		return money(*c.Final, c.Currency)
	}
	return money(c.Accrued, c.Currency)
}

// money writes an amount with its currency's sign.
func money(amount contract.Pounds, currency string) string {
	if amount == "" {
		return "–"
	}
	if currency == "GBP" {
		return "£" + string(amount)
	}
	return strings.TrimSpace(currency + " " + string(amount))
}

func pence(amount int64) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	return fmt.Sprintf("%s£%d.%02d", sign, amount/100, amount%100)
}

func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n), []string{"kB", "MB", "GB", "TB"}
	unit := -1
	for value >= 999.95 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func clockOr(t *time.Time, otherwise string) string {
	if t == nil {
		return otherwise
	}
	return clock(*t)
}

// shorten cuts a text to at most limit characters, the last of them an ellipsis.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}
