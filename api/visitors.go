package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// signInPath is the page that visitors of a private page are led to.
	signInPath = "/sign-in"
	// maxSignInBytes bounds its form: an address, a password and a path, at the lengths that are taken.
	maxSignInBytes = 16 << 10
)

var (
	//go:embed visitors/sign-in.html
	signInHTML string
	//go:embed visitors/sign-in.css
	signInCSS string

	signInTemplate = template.Must(template.New("sign-in").Parse(signInHTML))
	// signInPolicy lets the page's own style in and its form lead to this service, and nothing else.
	signInPolicy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'", digestOf(signInCSS))
)

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// visitors lets browsers sign in where a private page asks for it. It works without scripts.
type visitors struct {
	guard    *guard
	sessions *auth.Service
	bodies   *bodyGate
	provider bool // there is an identity provider to sign in with
}

func (v *visitors) mount(app *fiber.App, private []PrivatePage) {
	app.Get(signInPath, v.guard.edge.limitAddress, v.show)
	app.Post(signInPath, v.guard.edge.limitAddress, v.enter)
	app.Get(auth.ProofPath, v.guard.edge.limitAddress, v.askProof)
	app.Post(auth.ProofPath, v.guard.edge.limitAddress, v.takeProof)
	for _, mount := range private {
		mount(app, v.signedIn)
	}
}

// signedIn comes before a private page.
func (v *visitors) signedIn(c *fiber.Ctx) error {
	caller, err := v.guard.judge(c, access.Rule{SessionOnly: true})
	if fault.Is(err, fault.Unauthorized) {
		c.Response().Header.Del(fiber.HeaderWWWAuthenticate) // a browser has no API key
		return c.Redirect(signInPath+"?"+url.Values{"next": {c.OriginalURL()}}.Encode(), http.StatusSeeOther)
	}
	if err != nil {
		return err
	}
	c.SetUserContext(access.With(c.UserContext(), caller))
	return c.Next()
}

// signInView is what the page shows.
type signInView struct {
	Style         template.CSS
	Next          string
	Email         string
	Refusal       string
	ProviderStart string // address of the sign-in with the identity provider; "" without one
}

func (v *visitors) show(c *fiber.Ctx) error {
	return v.send(c, http.StatusOK, signInView{Next: nextPage(c.Query("next"))})
}

// nextPage is where a sign-in leads: to a page of this service, whatever somebody has written into the link.
func nextPage(asked string) string {
	if next, err := auth.LocalPath(asked); err == nil {
		return next
	}
	return "/"
}

// form reads a form that a page of ours has sent. Errors: fault.CSRFRejected for another site's; fault.Validation when a field is
// not text that can be stored.
func (v *visitors) form(c *fiber.Ctx, fields ...string) (url.Values, error) {
	if err := v.guard.sameOrigin(c); err != nil {
		return nil, err
	}
	raw, release, err := v.bodies.read(c, maxSignInBytes)
	defer release()
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil || slices.ContainsFunc(fields, func(field string) bool { return !storable(form.Get(field)) }) {
		return nil, fault.New(fault.Validation, "body: send %s as application/x-www-form-urlencoded, in UTF-8", strings.Join(fields, ", "))
	}
	return form, nil
}

// enter takes the form.
func (v *visitors) enter(c *fiber.Ctx) error {
	form, err := v.form(c, "email", "password", "next")
	if err != nil {
		return err
	}
	ctx := v.guard.edge.place(c.UserContext(), c)
	next := nextPage(form.Get("next"))
	_, token, err := v.sessions.SignIn(ctx, auth.SignInRequest{Email: form.Get("email"), Password: form.Get("password")})
	if fault.Is(err, fault.Unauthorized) {
		return v.send(c, http.StatusUnauthorized, signInView{Next: next, Email: form.Get("email"), Refusal: "No account has this email with this password."})
	}
	if err != nil {
		return err
	}
	cookie := auth.SessionCookie(ctx, token)
	c.Response().Header.Add(fiber.HeaderSetCookie, cookie.String())
	return c.Redirect(next, http.StatusSeeOther)
}

func (v *visitors) send(c *fiber.Ctx, status int, view signInView) error {
	view.Style = template.CSS(signInCSS) //nolint:gosec // G203: the file beside this one
	if v.provider {
		view.ProviderStart = prefix + "/v1/auth/oidc/start?" + url.Values{"next": {view.Next}}.Encode()
	}
	var text bytes.Buffer
	if err := signInTemplate.Execute(&text, view); err != nil {
		return fmt.Errorf("write the sign-in page: %w", err)
	}
	return sendPage(c, status, text.Bytes())
}
