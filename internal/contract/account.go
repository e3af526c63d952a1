package contract

import "time"

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
	AccountID string    `json:"accountId" doc:"Id of the account."`
	Email     string    `json:"email" doc:"Address of the account."`
	Name      string    `json:"name" doc:"Name for people."`
	Plan      string    `json:"plan" doc:"Plan of the account; it decides queue priority and prices."`
	CreatedAt time.Time `json:"createdAt" doc:"When the account was opened, RFC 3339 in UTC."`
}

// BrowserSession is the session that a request came with.
type BrowserSession struct {
	Account   Account   `json:"account" doc:"Who has signed in."`
	StartedAt time.Time `json:"startedAt" doc:"When this browser signed in."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When it has to sign in again, however often it is used until then."`
	// EmailVerified is of the session and not of the account, which other answers show as they always have.
	EmailVerified bool     `json:"emailVerified" doc:"Whether the account's address was proved to be its owner's. The free credit waits for that."`
	Operator      bool     `json:"operator,omitempty" doc:"Whether the account runs the deployment: its address is among MOLFABRIC_OPERATORS, and proved. Left out for everybody else."`
	Storage       *Storage `json:"storage,omitempty" doc:"What the account's uploaded files take."`
}

// Storage is what an account's uploaded files take, and what they may take.
type Storage struct {
	UsedBytes    int64 `json:"usedBytes" doc:"Bytes of the account's uploaded files, with those that were announced and those on their way."`
	UsedObjects  int64 `json:"usedObjects" doc:"How many files these are."`
	QuotaBytes   int64 `json:"quotaBytes,omitempty" doc:"Bytes that they may take together; left out without a bound."`
	QuotaObjects int64 `json:"quotaObjects,omitempty" doc:"How many files there may be; left out without a bound."`
}

// EmailProof is the token of a link that was sent to an address, with the password of whom it was sent for: who reads the mails of
// an address has not therefore opened the account.
type EmailProof struct {
	Token    string `json:"token" minLength:"1" maxLength:"64" doc:"As the link in the mail has it." writeOnly:"true"`
	Password string `json:"password,omitempty" maxLength:"128" doc:"The password that the account was opened with. Only an account that was opened without one, at an identity provider, has none." writeOnly:"true"`
}

// SignInLinkRequest says where a link that signs in leads to.
type SignInLinkRequest struct {
	Next string `json:"next,omitempty" maxLength:"500" default:"/" doc:"Page of this service to go to: a path, nothing else." example:"/jobs"`
}

// SignInLink signs a browser in, once.
type SignInLink struct {
	URL       string    `json:"url" doc:"The link. Whoever opens it first is signed in." example:"https://molfabric.example.org/enter#next=%2F&token=…"`
	ExpiresAt time.Time `json:"expiresAt" doc:"Until when it is good."`
}

// SignInLinkUse is the token of such a link.
type SignInLinkUse struct {
	Token string `json:"token" minLength:"1" maxLength:"64" doc:"As the link has it." writeOnly:"true"`
}

// AccountClosing asks for the end of an account.
type AccountClosing struct {
	Password           string `json:"password,omitempty" maxLength:"128" doc:"Password of the account. One that signs in at an identity provider alone has none: its session must be younger than ten minutes." writeOnly:"true"`
	ForfeitCreditPence int64  `json:"forfeitCreditPence,omitempty" minimum:"0" doc:"The credit that is given up, in pence: exactly what is available. Left out, 0."`
}

// AccountClosed is what became of an account.
type AccountClosed struct {
	AccountID            string    `json:"accountId" doc:"Id of the account, which is all that the books name it by from now on."`
	ClosedAt             time.Time `json:"closedAt" doc:"When it was closed."`
	ForfeitedCreditPence int64     `json:"forfeitedCreditPence" doc:"The credit that was given up, in pence."`
	Message              string    `json:"message" doc:"What happened, for people."`
}
