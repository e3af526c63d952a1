package roles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/notices"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/mail"
)

// trustNobody is the configuration's word for no trusted network.
const trustNobody = "off"

// networkShare is how many times an address's sign-ups the network around it may have.
const networkShare = 4

// loopback is this machine itself.
var loopback = []string{"127.0.0.0/8", "::1/128"}

// admission is how the deployment takes new accounts. single says that it is a system of one machine (`molfabric up`), which has
// the console in the place of a mail server, and where whoever comes from the machine itself could read the console anyway. That
// ends where the configuration names a public address: then others are served, perhaps by a proxy on this machine.
func admission(cfg config.Config, single bool) (auth.Admission, error) {
	chosen := auth.Mode(cfg.SignUp)
	if chosen == "" {
		chosen = auth.ModeOpen
		if cfg.SMTP.URL != "" {
			chosen = auth.ModeVerified
		}
	}
	switch {
	case !slices.Contains(auth.Modes, chosen):
		return auth.Admission{}, fmt.Errorf("signUp: %q; allowed are %v", cfg.SignUp, auth.Modes)
	case chosen == auth.ModeVerified && cfg.SMTP.URL == "" && !single:
		return auth.Admission{}, errors.New("signUp: verified needs a mail server: set MOLFABRIC_SMTP_URL and MOLFABRIC_MAIL_FROM")
	case chosen == auth.ModeProvider && cfg.OIDC.Issuer == "":
		return auth.Admission{}, errors.New("signUp: oidc needs an identity provider: set MOLFABRIC_OIDC_ISSUER")
	}
	trusted, err := trustedNetworks(cfg, chosen, single)
	if err != nil {
		return auth.Admission{}, err
	}
	a := auth.Admission{Mode: chosen, Trusted: trusted}
	if most := cfg.Limits.SignUpPerHour; most > 0 {
		a.Limit = throttle.Limit{Rate: most, Period: time.Hour, Burst: most}
		a.NetworkLimit = throttle.Limit{Rate: networkShare * most, Period: time.Hour, Burst: networkShare * most}
	}
	return a, nil
}

func trustedNetworks(cfg config.Config, mode auth.Mode, single bool) ([]netip.Prefix, error) {
	texts := cfg.SignUpNetworks
	switch {
	case len(texts) == 1 && texts[0] == trustNobody:
		return nil, nil
	case len(texts) == 0 && single && mode == auth.ModeOpen && cfg.PublicURL == "":
		texts = loopback
	}
	networks, err := api.ParseTrustedProxies(texts) // the same form
	if err != nil {
		return nil, fmt.Errorf("signUpNetworks: want networks like 10.0.0.0/8, or %s: %w", trustNobody, err)
	}
	return networks, nil
}

// postman carries mails: those that wait in its queue, and those whose sender waits to hear what came of them.
type postman interface {
	auth.Mailer
	notices.Mailer
}

// mailer is what carries the deployment's mails, and what has to run for it; nil where there is none.
func mailer(cfg config.Config, console io.Writer, log *slog.Logger) (postman, *mail.Queue, error) {
	if cfg.SMTP.URL == "" {
		if console == nil {
			return nil, nil, nil
		}
		return mail.Console{Out: console}, nil, nil
	}
	server, err := mail.NewSMTP(cfg.SMTP.URL, cfg.SMTP.From, time.Now)
	if err != nil {
		return nil, nil, fmt.Errorf("smtp: %w", err)
	}
	queue := mail.NewQueue(server, log)
	return queue, queue, nil
}

// noteSignUp says once what nobody would notice before the first user asks: that new accounts get no credit.
func noteSignUp(log *slog.Logger, a auth.Admission, m auth.Mailer) {
	if m == nil && len(a.Trusted) == 0 && a.Mode == auth.ModeOpen {
		log.Warn("new accounts get no free credit: no mail server proves their addresses, and no network is trusted",
			"set", "MOLFABRIC_SMTP_URL and MOLFABRIC_MAIL_FROM, or MOLFABRIC_SIGNUP_NETWORKS")
	}
}

// runMails sends mails until the context ends; nothing is to be done for a nil queue.
func runMails(ctx context.Context, queue *mail.Queue) {
	if queue != nil {
		queue.Run(ctx)
	}
}
