package auth

import (
	"net/http"

	"github.com/molfabric/molfabric/internal/contract"
)

type signUpInput struct{ Body contract.SignUpRequest }

type signInInput struct{ Body contract.SignInRequest }

// accountOutput has the cookie as text: a sign-up that begins no session sets none.
type accountOutput struct {
	SetCookie string `header:"Set-Cookie" doc:"The session."`
	Body      contract.Account
}

type proofInput struct{ Body contract.EmailProof }

type proofOutput struct{ Body contract.Account }

// sessionInput is the input of an operation that needs the session itself and not only its account.
type sessionInput struct {
	Session http.Cookie `cookie:"molfabric_session" hidden:"true"`
}

type linkInput struct {
	Session http.Cookie `cookie:"molfabric_session" hidden:"true"`
	Body    contract.SignInLinkRequest
}

type linkOutput struct{ Body contract.SignInLink }

type linkUseInput struct{ Body contract.SignInLinkUse }

type signOutOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie" doc:"Takes the session's cookie away."`
}

type sessionOutput struct{ Body contract.BrowserSession }

type passwordInput struct {
	Session http.Cookie `cookie:"molfabric_session" hidden:"true"`
	Body    contract.PasswordChange
}

type closeInput struct {
	Session http.Cookie `cookie:"molfabric_session" hidden:"true"`
	Body    contract.AccountClosing
}

type closeOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie" doc:"Takes the session's cookie away."`
	Body      contract.AccountClosed
}

type startInput struct {
	Next string `query:"next" maxLength:"2048" default:"/" doc:"Page of this service to go to afterwards: a path, nothing else." example:"/studio"`
}

// callbackInput is what identity providers add to the address that they send the browser back to. They add more, each its
// own, so nothing here is checked before the flow's own cookie has been.
type callbackInput struct {
	State   string      `query:"state" doc:"As it was given to the provider."`
	Code    string      `query:"code" doc:"Stands for the identity; the service redeems it."`
	Error   string      `query:"error" doc:"Instead of a code: why the provider sends no identity."`
	Flow    http.Cookie `cookie:"molfabric_oidc" hidden:"true"`
	Session http.Cookie `cookie:"molfabric_session" hidden:"true"`
}

type startOutput struct {
	Location string      `header:"Location" doc:"Page of the identity provider."`
	Flow     http.Cookie `header:"Set-Cookie" doc:"The state of the sign-in."`
}

// callbackOutput has a member for each cookie: a list of them would be joined into one header.
type callbackOutput struct {
	Location string      `header:"Location" doc:"Page that was asked for."`
	Session  http.Cookie `header:"Set-Cookie" doc:"The session."`
	Flow     http.Cookie `header:"Set-Cookie" doc:"Takes the state of the sign-in away."`
}
