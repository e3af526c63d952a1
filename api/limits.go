package api

import (
	"time"

	"github.com/molfabric/molfabric/api/throttle"
)

// Limits are the rate limits of the front door. They are generous: they keep one caller from taking the service from the
// others, and are no part of a plan.
type Limits struct {
	Credential throttle.Limit // one API key, or one account's browser sessions together
	Address    throttle.Limit // one network address without a valid credential
	SignIn     throttle.Limit // attempts at one account's password from one address
	SignInWide throttle.Limit // attempts at any password, and new accounts, from one address
}

// DefaultLimits suit one machine and a public deployment alike.
func DefaultLimits() Limits {
	return Limits{
		Credential: throttle.Limit{Rate: 3000, Period: time.Minute, Burst: 600},
		Address:    throttle.Limit{Rate: 600, Period: time.Minute, Burst: 200},
		SignIn:     throttle.Limit{Rate: 10, Period: time.Minute, Burst: 10},
		SignInWide: throttle.Limit{Rate: 60, Period: time.Minute, Burst: 60},
	}
}

// New accounts: a class behind one address signs up in an hour, and a building of them behind one network.
var (
	defaultSignUp        = throttle.Limit{Rate: 60, Period: time.Hour, Burst: 30}
	defaultSignUpNetwork = throttle.Limit{Rate: 240, Period: time.Hour, Burst: 120}
)

// Bounds of one request.
const (
	// defaultMaxBody is the limit of every operation whose access.Rule names no other (doc/contract.md §8).
	defaultMaxBody = 1 << 20
	// maxEmptyBody is how much may come where no body belongs: an empty object with some space.
	maxEmptyBody = 64
	// prefetchBytes is what fasthttp may read of a body before the operation's own limit is known.
	prefetchBytes = 64 << 10
	// memoryBody is how much of a body may lie in memory while the rest is on its way; a longer one arrives in a file. Even
	// maxConnections slow senders at once fill no more than two GB.
	memoryBody = 64 << 10
	// defaultSpoolBytes bounds the disk of the bodies that arrive at once: 25 of the largest.
	defaultSpoolBytes = 4 << 30
	// largeBody is where a body takes one of the slots: parsed, it fills some ten times its size.
	largeBody = 8 << 20
	// largeBodySlots bounds how many large bodies are read back from disk, and so are in memory, at once.
	largeBodySlots = 2
	// largeBodyWait bounds how long a request waits for a slot before it is asked to come back.
	largeBodyWait = 20 * time.Second
	// slowestUpload is the line, in bytes a second, that the time for a body is worked out from.
	slowestUpload = 64 << 10
	// drainBytes is how much of an unwanted body is read to keep the connection; beyond, it is closed.
	drainBytes = 256 << 10
	// headerBytes bounds a request's header: cookies and a long query fit.
	headerBytes = 16 << 10
	// readTimeout bounds the arrival of a header and the first bytes of a body.
	readTimeout = 30 * time.Second
	// writeTimeout bounds the sending of one answer; an event stream sets its own deadline before each event.
	writeTimeout = 60 * time.Second
	// idleTimeout is how long a kept connection may be silent: longer than the usual proxy's 60 s, so that it closes first.
	idleTimeout = 75 * time.Second
	// lingerTime is how long a connection that is closed with unread bytes stays half open, so that the answer arrives before the
	// reset.
	lingerTime = time.Second
	// lingerBytes bounds what is read and dropped in that time.
	lingerBytes = 64 << 20
	// maxConnections bounds open connections, and with them goroutines and buffers.
	maxConnections = 16384
)
