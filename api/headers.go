package api

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
)

// tags are the groups of operations, in the order of doc/contract.md §1.
var tags = []*huma.Tag{
	{Name: "Jobs", Description: "Submit, price, watch and control jobs, and read what they have made."},
	{Name: "Uploads", Description: "Bring large files in, part by part."},
	{Name: "Credits", Description: "The balance, the ledger and top-ups."},
	{Name: "API keys", Description: "Create, list and revoke keys; with a browser session alone."},
	{Name: "Settings", Description: "Licence servers of one's own; with a browser session alone."},
	{Name: "Docking", Description: "What dockings have found: experiments, batches, runs, results, poses and their interactions."},
	{Name: "Sequence search", Description: "What searches with BLAST have found: queries, hits and their alignments; the " +
		"databases that there are."},
	{Name: "Projects", Description: "Versioned workspaces with shares that are pinned to a revision."},
	{Name: "Sign-in", Description: "Accounts and browser sessions."},
	{Name: "Operator", Description: "How the deployment does; for those who run it, with a browser session alone."},
	{Name: "Public", Description: "What anybody may know without a credential."},
	{Name: "Service", Description: "The service itself."},
}

// everyAnswer are the headers that every answer carries.
var everyAnswer = map[string]*huma.Param{
	"X-Request-Id":        {Description: "Names the request in the service's logs.", Schema: text()},
	"RateLimit-Limit":     {Description: "Requests that the caller may send at once.", Schema: count()},
	"RateLimit-Remaining": {Description: "Requests that are left of them now.", Schema: count()},
	"RateLimit-Reset":     {Description: "Seconds until all of them are there again.", Schema: count()},
}

func text() *huma.Schema  { return &huma.Schema{Type: huma.TypeString} }
func count() *huma.Schema { return &huma.Schema{Type: huma.TypeInteger, Minimum: new(float64)} }

// describeHeaders adds the headers that do not come from an operation's own answer.
func describeHeaders(op *huma.Operation, rule access.Rule) {
	for status, answer := range op.Responses {
		if answer.Headers == nil {
			answer.Headers = map[string]*huma.Param{}
		}
		for name := range everyAnswer {
			answer.Headers[name] = &huma.Param{Ref: "#/components/headers/" + name}
		}
		switch code, _ := strconv.Atoi(status); code {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			answer.Headers["Retry-After"] = &huma.Param{Description: "Seconds until it is worth trying again.", Schema: count()}
		case http.StatusUnauthorized:
			answer.Headers["WWW-Authenticate"] = &huma.Param{Description: "The scheme of API keys.", Schema: text()}
		}
		if rule.Deprecated == nil {
			continue
		}
		answer.Headers["Deprecation"] = &huma.Param{Description: "Since when another operation should be used (RFC 9745).",
			Schema: text()}
		answer.Headers["Sunset"] = &huma.Param{Description: "Until when this one works (RFC 8594).", Schema: text()}
		answer.Headers["Link"] = &huma.Param{Description: `The operation to use instead, rel="successor-version".`, Schema: text()}
	}
}
