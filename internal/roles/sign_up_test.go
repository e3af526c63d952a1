package roles

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/mail"
)

// TestAdmission: what is configured decides who gets in, and what is not configured gives credit to nobody but the machine itself.
func TestAdmission(t *testing.T) {
	t.Parallel()
	smtp := config.SMTP{URL: "smtp://localhost", From: "molfabric@example.org"}
	for _, one := range []struct {
		name    string
		cfg     config.Config
		single  bool
		mode    auth.Mode
		trusted int
		refusal string
	}{
		{"an API with nothing configured", config.Config{}, false, auth.ModeOpen, 0, ""},
		{"up with nothing configured", config.Config{}, true, auth.ModeOpen, 2, ""},
		{"up that serves others", config.Config{PublicURL: "https://molfabric.example.org"}, true, auth.ModeOpen, 0, ""},
		{"up that trusts nobody", config.Config{SignUpNetworks: []string{"off"}}, true, auth.ModeOpen, 0, ""},
		{"with a mail server", config.Config{SMTP: smtp}, false, auth.ModeVerified, 0, ""},
		{"up with a mail server", config.Config{SMTP: smtp}, true, auth.ModeVerified, 0, ""},
		{"open with a mail server", config.Config{SignUp: "open", SMTP: smtp}, false, auth.ModeOpen, 0, ""},
		{"a trusted network", config.Config{SignUpNetworks: []string{"10.0.0.0/8"}}, false, auth.ModeOpen, 1, ""},
		{"closed", config.Config{SignUp: "closed"}, false, auth.ModeClosed, 0, ""},
		{"verified by the console", config.Config{SignUp: "verified"}, true, auth.ModeVerified, 0, ""},
		{"verified without mail", config.Config{SignUp: "verified"}, false, "", 0, "MOLFABRIC_SMTP_URL"},
		{"oidc without a provider", config.Config{SignUp: "oidc"}, false, "", 0, "MOLFABRIC_OIDC_ISSUER"},
		{"an unknown mode", config.Config{SignUp: "invite"}, false, "", 0, "allowed are [open verified oidc closed]"},
		{"no network", config.Config{SignUpNetworks: []string{"home"}}, false, "", 0, "signUpNetworks"},
	} {
		got, err := admission(one.cfg, one.single)
		if one.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), one.refusal) {
				t.Errorf("%s: got %v, want an error with %q", one.name, err, one.refusal)
			}
			continue
		}
		if err != nil || got.Mode != one.mode || len(got.Trusted) != one.trusted {
			t.Errorf("%s: got %+v, %v; want %s with %d trusted networks", one.name, got, err, one.mode, one.trusted)
		}
	}
	if got, err := admission(config.Config{Limits: config.Limits{SignUpPerHour: 7}}, false); err != nil || got.Limit.Rate != 7 ||
		got.NetworkLimit.Burst != 28 {
		t.Errorf("a configured limit: %+v, %v", got, err)
	}
}

// TestMails: a mail server where there is one, the console of a single machine, else nothing, and then the log says what that
// means.
func TestMails(t *testing.T) {
	t.Parallel()
	var console, text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	if m, queue, err := mailer(config.Config{}, nil, log); m != nil || queue != nil || err != nil {
		t.Errorf("nothing configured: %v, %v, %v", m, queue, err)
	}
	m, queue, err := mailer(config.Config{}, &console, log)
	if err != nil || queue != nil {
		t.Fatal(queue, err)
	}
	m.Post(mail.Message{To: "ada@example.org", Subject: "Confirm", Text: "first\nsecond"})
	if !strings.Contains(console.String(), "ada@example.org") || !strings.Contains(console.String(), "\n    second") {
		t.Errorf("the console shows %q", console.String())
	}
	secret := config.SMTP{URL: "smtp://user:secret@", From: "molfabric@example.org"}
	if _, _, err := mailer(config.Config{SMTP: secret}, nil, log); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a broken address: %v", err)
	}
	noteSignUp(log, auth.Admission{Mode: auth.ModeOpen}, m)
	if text.Len() > 0 {
		t.Errorf("with mails the log says %s", text.String())
	}
	noteSignUp(log, auth.Admission{Mode: auth.ModeOpen}, nil)
	if !strings.Contains(text.String(), "no free credit") {
		t.Errorf("without mails the log says %s", text.String())
	}
}
