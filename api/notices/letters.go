package notices

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/webhook"
)

// maxNameRunes of a name that users choose stand in a mail.
const maxNameRunes = 80

// write writes the mail of notices, which are of one event and account.
func (t *Teller) write(told []notice) (subject, text string, err error) {
	switch event := told[0].Event; event {
	case contract.EventJobEnded:
		jobs, err := dataOf[webhook.Ended](told)
		if err != nil {
			return "", "", err
		}
		subject, text = t.ended(jobs)
	case contract.EventCreditLow:
		all, err := dataOf[webhook.Low](told)
		if err != nil {
			return "", "", err
		}
		subject, text = t.low(all[len(all)-1]) // what it was before has been overtaken
	case contract.EventKeyNewNetwork:
		uses, err := dataOf[webhook.Moved](told)
		if err != nil {
			return "", "", err
		}
		subject, text = t.moved(uses)
	default:
		return "", "", fmt.Errorf("notice %s is of the event %q, which has no mail", told[0].ID, event)
	}
	return subject, text + t.foot(told[0].Event), nil
}

// dataOf reads what notices tell.
func dataOf[T any](told []notice) ([]T, error) {
	all := make([]T, len(told))
	for i, one := range told {
		message := webhook.Message{Data: &all[i]}
		if err := json.Unmarshal(one.Body, &message); err != nil {
			return nil, fmt.Errorf("reading notice %s: %w", one.ID, err)
		}
	}
	return all, nil
}

func (t *Teller) ended(jobs []webhook.Ended) (subject, text string) {
	subject = fmt.Sprintf("%d jobs have ended", len(jobs))
	if len(jobs) == 1 {
		subject = fmt.Sprintf("%s has ended: %s", job(jobs[0]), jobs[0].Status)
	}
	var b strings.Builder
	for _, one := range jobs {
		fmt.Fprintf(&b, "%s ended at %s with the state %s. It cost %s.\n%s/jobs/%s\n\n", job(one), at(one.FinishedAt), one.Status,
			billing.Display(one.ChargedPence), t.PublicURL, one.JobID)
	}
	return subject, b.String()
}

func job(one webhook.Ended) string {
	if one.JobName == "" {
		return "Job " + one.JobID
	}
	return fmt.Sprintf("Job %q", name(one.JobName))
}

func (t *Teller) low(one webhook.Low) (subject, text string) {
	return "Your credit is low", fmt.Sprintf(`Your account has %s left to spend. You are told below %s.
A job is refused when it may cost more than what is left.

Your credit: %s/credits

`, billing.Display(one.AvailablePence), billing.Display(one.ThresholdPence), t.PublicURL)
}

func (t *Teller) moved(uses []webhook.Moved) (subject, text string) {
	var b strings.Builder
	for _, one := range uses {
		fmt.Fprintf(&b, "The API key %q (%s…%s) was used from %s at %s. It was not used from that network before.\n",
			name(one.KeyName), one.KeyPrefix, one.KeyLast4, one.Network, at(one.UsedAt))
	}
	fmt.Fprintf(&b, "\nIf this was you, do nothing. If it was not, revoke the key:\n%s/keys\n\n", t.PublicURL)
	return "An API key is used from somewhere new", b.String()
}

// foot says why somebody gets a mail, and how to get no more.
func (t *Teller) foot(event string) string {
	return fmt.Sprintf(`--
Your account at %s asks for this mail.
To get no more of this kind, open %s/settings, or call: molfabric notices --off %s
`, t.PublicURL, t.PublicURL, event)
}

// name is a user's own words on one line.
func name(given string) string {
	runes := []rune(strings.Join(strings.Fields(given), " "))
	if len(runes) > maxNameRunes {
		return string(runes[:maxNameRunes-1]) + "…"
	}
	return string(runes)
}

func at(moment time.Time) string { return moment.UTC().Format("15:04 on 2 January 2006 (UTC)") }
