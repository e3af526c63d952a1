package contract

import "time"

// Scopes that a key may carry (doc/contract.md §2.7).
const (
	ScopeJobsRead      = "jobs:read"
	ScopeJobsWrite     = "jobs:write"
	ScopeCreditsRead   = "credits:read"
	ScopeConvert       = "convert"
	ScopeMolecularChat = "molecular:chat"
	ScopeProjectsRead  = "projects:read"
	ScopeProjectsWrite = "projects:write"
)

// Scopes lists every scope.
var Scopes = []string{ScopeJobsRead, ScopeJobsWrite, ScopeCreditsRead, ScopeConvert, ScopeMolecularChat, ScopeProjectsRead,
	ScopeProjectsWrite}

// CreateRequest asks for a key (doc/contract.md §2.7).
type CreateRequest struct {
	Name            string   `json:"name" minLength:"1" maxLength:"100" doc:"Name for people." example:"laptop"`
	Environment     string   `json:"environment,omitempty" enum:"live,test" default:"live" doc:"A test key is never billed and cannot submit jobs."`
	Scopes          []string `json:"scopes" minItems:"1" enum:"jobs:read,jobs:write,credits:read,convert,molecular:chat,projects:read,projects:write" doc:"What the key may do. A scope that is named twice counts once." example:"[\"jobs:read\",\"credits:read\"]"`
	DiscoverySource string   `json:"discoverySource,omitempty" enum:"context7,mcp_registry,smithery,glama,a2a_registry,llms_txt,direct" doc:"How you came to the service."`
	// ExpiresAt is nil for a key that works until it is revoked.
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When the key stops by itself: RFC 3339, in the future and at most five years from now. Left out: never." example:"2030-01-31T12:00:00Z"`
}

// Key is a key as its owner sees it afterwards.
type Key struct {
	ID          string     `json:"id" doc:"Id of the key."`
	Name        string     `json:"name" doc:"Name for people."`
	Environment string     `json:"environment" enum:"live,test" doc:"A test key is never billed."`
	Scopes      []string   `json:"scopes" doc:"What the key may do."`
	Prefix      string     `json:"prefix" doc:"Start of the key, to recognise it."`
	Last4       string     `json:"last4" doc:"End of the key, to recognise it."`
	CreatedAt   time.Time  `json:"createdAt" doc:"When the key was made."`
	LastUsedAt  *time.Time `json:"lastUsedAt" doc:"Last use, to the minute." nullable:"true"`
	ExpiresAt   *time.Time `json:"expiresAt" doc:"When the key stops by itself." nullable:"true"`
	RevokedAt   *time.Time `json:"revokedAt" doc:"When the key was revoked." nullable:"true"`
}

// CreatedKey is a key with its secret, which is shown this once.
type CreatedKey struct {
	Key
	Secret string `json:"key" doc:"The key itself. It is shown once and cannot be read again."`
}

// Revocation is the answer to a revocation.
type Revocation struct {
	ID        string    `json:"id" doc:"Id of the key."`
	RevokedAt time.Time `json:"revokedAt" doc:"When the key was revoked first."`
}

// KeyList is every key of an account, newest first, revoked ones included.
type KeyList struct {
	Keys []Key `json:"keys" doc:"Newest first; revoked keys stay listed."`
}
