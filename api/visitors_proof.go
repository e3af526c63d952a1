package api

import (
	_ "embed"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

var (
	//go:embed visitors/verify-email.html
	proofHTML string

	proofPages = page.New(page.Source{HTML: proofHTML, CSS: signInCSS, Forms: true})
)

// proofView is what the page shows that the link in a mail leads to: a question, that it is answered, or why it cannot be.
type proofView struct {
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
	proof := contract.EmailProof{Token: form.Get("token"), Password: form.Get("password")}
	account, err := v.sessions.Prove(v.guard.edge.place(c.UserContext(), c), proof)
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

func sendProof(c *fiber.Ctx, status int, view proofView) error {
	title := "Confirm your address"
	if view.Email != "" {
		title = "Address confirmed"
	}
	return proofPages.Send(c, status, page.View{Title: title, Body: view})
}
