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

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// maxProofBytes bounds the form: a token and a password, at the lengths that are taken.
const maxProofBytes = 16 << 10

var (
	//go:embed verify/page.html
	proofHTML string
	//go:embed verify/page.css
	proofCSS string

	proofTemplate = template.Must(template.New("proof").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(proofCSS) }, //nolint:gosec // G203: part of the program
	}).Parse(proofHTML))
	proofPolicy = policyOf(proofCSS)
)

// policyOf lets a page have its own style and send a form to this service, and nothing else.
func policyOf(css string) string {
	sum := sha256.Sum256([]byte(css))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(sum[:]))
}

// proofPage is where the links in mails lead to. The service makes it itself and it runs no script: it has to work in whatever
// opens a mail's links, and in a program without the web app.
type proofPage struct {
	guard    *guard
	sessions *auth.Service
	bodies   *bodyGate
}

func (p *proofPage) mount(app *fiber.App) {
	app.Get(auth.ProofPath, p.guard.edge.limitAddress, p.ask)
	app.Post(auth.ProofPath, p.guard.edge.limitAddress, p.take)
}

// proofView is what the page shows: a question, that it is answered, or why it cannot be.
type proofView struct {
	Token   string
	Email   string
	Refusal string
	Wrong   bool // the password was another
}

// Title is the page's.
func (v proofView) Title() string {
	if v.Email != "" {
		return "Address confirmed"
	}
	return "Confirm your address"
}

// ask comes before the link is used up: programs that look after mail open links too.
func (p *proofPage) ask(c *fiber.Ctx) error {
	return sendProof(c, http.StatusOK, proofView{Token: c.Query("token")})
}

func (p *proofPage) take(c *fiber.Ctx) error {
	proof, err := p.form(c)
	if err != nil {
		return err
	}
	account, err := p.sessions.Prove(p.guard.edge.place(c.UserContext(), c), proof)
	if fault.Is(err, fault.Validation) {
		return sendProof(c, http.StatusBadRequest, proofView{Token: proof.Token, Wrong: true})
	}
	if fault.Is(err, fault.NotFound) {
		return sendProof(c, http.StatusBadRequest, proofView{Refusal: "This link is not good any more. Sign in, or sign up again " +
			"to get another."})
	}
	if err != nil {
		return err
	}
	return sendProof(c, http.StatusOK, proofView{Email: account.Email})
}

// form reads what the page has sent. Errors: fault.CSRFRejected for another site's; fault.Validation when a field is not text that
// can be stored.
func (p *proofPage) form(c *fiber.Ctx) (contract.EmailProof, error) {
	if err := p.guard.sameOrigin(c); err != nil {
		return contract.EmailProof{}, err
	}
	raw, release, err := p.bodies.read(c, maxProofBytes)
	defer release()
	if err != nil {
		return contract.EmailProof{}, err
	}
	form, err := url.ParseQuery(string(raw))
	proof := contract.EmailProof{Token: form.Get("token"), Password: form.Get("password")}
	if err != nil || slices.ContainsFunc([]string{proof.Token, proof.Password}, func(text string) bool { return !storable(text) }) {
		return contract.EmailProof{}, fault.New(fault.Validation,
			"body: send token, password as application/x-www-form-urlencoded, in UTF-8")
	}
	return proof, nil
}

func sendProof(c *fiber.Ctx, status int, view proofView) error {
	var text bytes.Buffer
	if err := proofTemplate.Execute(&text, view); err != nil {
		return fmt.Errorf("write the page %q: %w", view.Title(), err)
	}
	c.Set(fiber.HeaderContentSecurityPolicy, proofPolicy)
	c.Set(fiber.HeaderReferrerPolicy, "same-origin") // under no-referrer the form's origin would be null
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Status(status).Send(text.Bytes())
}
