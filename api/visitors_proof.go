package api

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/internal/fault"
)

var (
	//go:embed visitors/verify-email.html
	proofHTML     string
	proofTemplate = template.Must(template.New("verify-email").Parse(proofHTML))
)

// proofView is what the page shows that the link in a mail leads to: a question, that it is answered, or why it cannot be.
type proofView struct {
	Style   template.CSS
	Token   string
	Email   string
	Refusal string
	Wrong   bool // the password was another
}

// askProof asks before the link is used up: programs that look after mail open links too.
func (v *visitors) askProof(c *fiber.Ctx) error {
	return sendProof(c, http.StatusOK, proofView{Token: c.Query("token")})
}

func (v *visitors) takeProof(c *fiber.Ctx) error {
	form, err := v.form(c, "token", "password")
	if err != nil {
		return err
	}
	proof := auth.EmailProof{Token: form.Get("token"), Password: form.Get("password")}
	account, err := v.sessions.Prove(v.guard.edge.place(c.UserContext(), c), proof)
	if fault.Is(err, fault.Validation) {
		return sendProof(c, http.StatusBadRequest, proofView{Token: proof.Token, Wrong: true})
	}
	if fault.Is(err, fault.NotFound) {
		return sendProof(c, http.StatusBadRequest, proofView{Refusal: "This link is not good any more. Sign in, or sign up again to get another."})
	}
	if err != nil {
		return err
	}
	return sendProof(c, http.StatusOK, proofView{Email: account.Email})
}

func sendProof(c *fiber.Ctx, status int, view proofView) error {
	view.Style = template.CSS(signInCSS) //nolint:gosec // G203: the file beside this one
	var text bytes.Buffer
	if err := proofTemplate.Execute(&text, view); err != nil {
		return fmt.Errorf("write the page of a link: %w", err)
	}
	return sendPage(c, status, text.Bytes())
}

// sendPage sends a page of the visitors' with what its browser may do.
func sendPage(c *fiber.Ctx, status int, text []byte) error {
	c.Set(fiber.HeaderContentSecurityPolicy, signInPolicy)
	c.Set(fiber.HeaderReferrerPolicy, "same-origin") // under no-referrer the form's origin would be null
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Status(status).Send(text)
}
