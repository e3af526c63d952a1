package auth

import (
	"fmt"
	"time"

	"github.com/molfabric/molfabric/internal/mail"
)

// proveAddress asks the owner of a new account for the proof of its address.
func (s *Service) proveAddress(to, link string) mail.Message {
	return mail.Message{To: to, Subject: "Confirm your address", Text: fmt.Sprintf(`An account of molfabric at %s has been opened with this address.

If it is yours, confirm the address with the account's password, and the account gets its free credit:

%s

The link is good for %d hours, once. If it is not yours, do nothing.
`, s.PublicURL, s.linkTo(link), int(proofLife/time.Hour))}
}

// confirmSignUp asks who signs up for the proof of the address, without which there is no account.
func (s *Service) confirmSignUp(to, link string) mail.Message {
	return mail.Message{To: to, Subject: "Open your account", Text: fmt.Sprintf(`Somebody signs up for molfabric at %s with this address.

If it was you, open the account, with the password that you chose:

%s

The link is good for %d hours, once. If it was not you, do nothing: no account is opened, and whoever chose the password gets none.
`, s.PublicURL, s.linkTo(link), int(proofLife/time.Hour))}
}

// accountExists tells the owner of an account that somebody signs up with its address.
func (s *Service) accountExists(to string) mail.Message {
	return mail.Message{To: to, Subject: "You have an account already", Text: fmt.Sprintf(`Somebody signs up for molfabric at %s with this address, which has an account already.

If it was you, sign in with the password of that account, or as you did before. If it was not you, do nothing: nothing has changed.
`, s.PublicURL)}
}

// addressMoved tells the owner of an address what became of an account that had it before and never proved it.
func (s *Service) addressMoved(to, former string) mail.Message {
	return mail.Message{To: to, Subject: "Your address and an earlier account", Text: fmt.Sprintf(`You have proved to molfabric at %s that this address is yours.

Another account had been opened with it, and nobody had proved the address for it. That account keeps its data and its password,
and is called from now on:

%s

If you had opened it yourself, sign in with this name and its password. If not, do nothing.
`, s.PublicURL, former)}
}
