package auth

import (
	"net/http"
	"time"
)

// SignUpRequest opens an account.
type SignUpRequest struct {
	Email    string `json:"email" minLength:"3" maxLength:"254" doc:"Address to sign in with. One account an address, however it is capitalised." example:"ada@example.org"`
	Password string `json:"password" minLength:"8" maxLength:"128" doc:"8 to 128 characters; any are allowed." writeOnly:"true"`
	Name     string `json:"name,omitempty" maxLength:"100" doc:"Name for people; the part of the address before the @ when left out."`
}

// SignInRequest starts a browser session.
type SignInRequest struct {
	Email    string `json:"email" minLength:"3" maxLength:"254" doc:"Address of the account."`
	Password string `json:"password" minLength:"1" maxLength:"128" doc:"Password of the account." writeOnly:"true"`
}

// PasswordChange replaces a password.
type PasswordChange struct {
	CurrentPassword string `json:"currentPassword" minLength:"1" maxLength:"128" doc:"Password of the account until now." writeOnly:"true"`
	NewPassword     string `json:"newPassword" minLength:"8" maxLength:"128" doc:"8 to 128 characters; any are allowed." writeOnly:"true"`
}

// Account is who has signed in.
type Account struct {
	AccountID string    `json:"accountId" db:"id" doc:"Id of the account."`
	Email     string    `json:"email" db:"email" doc:"Address of the account."`
	Name      string    `json:"name" db:"name" doc:"Name for people."`
	Plan      string    `json:"plan" db:"plan" doc:"Plan of the account; it decides queue priority and prices."`
	CreatedAt time.Time `json:"createdAt" db:"created_at" doc:"When the account was opened, RFC 3339 in UTC."`
	// VerifiedAt is when the address was proved; nil for one that was only stated.
	VerifiedAt *time.Time `json:"-" db:"email_verified_at"`
}

// BrowserSession is the session that a request came with.
type BrowserSession struct {
	Account   Account   `json:"account" doc:"Who has signed in."`
	StartedAt time.Time `json:"startedAt" doc:"When this browser signed in."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When it has to sign in again, however often it is used until then."`
	// EmailVerified is of the session and not of the account, which other answers show as they always have.
	EmailVerified bool     `json:"emailVerified" doc:"Whether the account's address was proved to be its owner's. The free credit waits for that."`
	Storage       *Storage `json:"storage,omitempty" doc:"What the account's uploaded files take."`
}

// Storage is what an account's uploaded files take, and what they may take.
type Storage struct {
	UsedBytes    int64 `json:"usedBytes" doc:"Bytes of the account's uploaded files, with those that were announced and those on their way."`
	UsedObjects  int64 `json:"usedObjects" doc:"How many files these are."`
	QuotaBytes   int64 `json:"quotaBytes,omitempty" doc:"Bytes that they may take together; left out without a bound."`
	QuotaObjects int64 `json:"quotaObjects,omitempty" doc:"How many files there may be; left out without a bound."`
}

// EmailProof is the token of a link that was sent to an address, with the password of whom it was sent for: who reads the mails of an
// address has not therefore opened the account.
type EmailProof struct {
	Token    string `json:"token" minLength:"1" maxLength:"64" doc:"As the link in the mail has it." writeOnly:"true"`
	Password string `json:"password,omitempty" maxLength:"128" doc:"The password that the account was opened with. Only an account that was opened without one, at an identity provider, has none." writeOnly:"true"`
}

type signUpInput struct{ Body SignUpRequest }

type signInInput struct{ Body SignInRequest }

// accountOutput has the cookie as text: a sign-up that begins no session sets none.
type accountOutput struct {
	SetCookie string `header:"Set-Cookie" doc:"The session."`
	Body      Account
}

type proofInput struct{ Body EmailProof }

type proofOutput struct{ Body Account }

// sessionInput is the input of an operation that needs the session itself and not only its account.
type sessionInput struct {
	Session http.Cookie `cookie:"molfabric_session" hidden:"true"`
}

type signOutOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie" doc:"Takes the session's cookie away."`
}

type sessionOutput struct{ Body BrowserSession }

type passwordInput struct {
	Session http.Cookie `cookie:"molfabric_session" hidden:"true"`
	Body    PasswordChange
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
