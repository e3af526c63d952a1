package api

import (
	_ "embed"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/internal/contract"
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

	signInPages = page.New(page.Source{HTML: signInHTML, CSS: signInCSS, Forms: true})
)

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
		return nil, fault.New(fault.Validation, "body: send %s as application/x-www-form-urlencoded, in UTF-8",
			strings.Join(fields, ", "))
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
	_, token, err := v.sessions.SignIn(ctx, contract.SignInRequest{Email: form.Get("email"), Password: form.Get("password")})
	if fault.Is(err, fault.Unauthorized) {
		return v.send(c, http.StatusUnauthorized, signInView{Next: next, Email: form.Get("email"), Refusal: refusal(err)})
	}
	if err != nil {
		return err
	}
	cookie := auth.SessionCookie(ctx, token)
	c.Response().Header.Add(fiber.HeaderSetCookie, cookie.String())
	return c.Redirect(next, http.StatusSeeOther)
}

// refusal tells a browser why it is not let in. That an account is locked is known to whoever has its password alone.
func refusal(err error) string {
	if errors.Is(err, auth.ErrLocked) {
		return "This account is locked. Ask whoever runs this deployment."
	}
	return "No account has this email with this password."
}

func (v *visitors) send(c *fiber.Ctx, status int, view signInView) error {
	if v.provider {
		view.ProviderStart = prefix + "/v1/auth/oidc/start?" + url.Values{"next": {view.Next}}.Encode()
	}
	return signInPages.Send(c, status, page.View{Title: "Sign in", Body: view})
}
