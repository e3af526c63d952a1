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

// Account is who has signed in.
type Account struct {
	AccountID string    `json:"accountId" db:"id" doc:"Id of the account."`
	Email     string    `json:"email" db:"email" doc:"Address of the account."`
	Name      string    `json:"name" db:"name" doc:"Name for people."`
	Plan      string    `json:"plan" db:"plan" doc:"Plan of the account; it decides queue priority and prices."`
	CreatedAt time.Time `json:"createdAt" db:"created_at" doc:"When the account was opened, RFC 3339 in UTC."`
}

type signUpInput struct{ Body SignUpRequest }

type signInInput struct{ Body SignInRequest }

type accountOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie" doc:"The session."`
	Body      Account
}

type signOutInput struct {
	Session http.Cookie `cookie:"molfabric_session" hidden:"true"`
}

type signOutOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie" doc:"Takes the session's cookie away."`
}
