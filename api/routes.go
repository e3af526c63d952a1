package api

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// unmatched stands for every unknown address in metrics and logs, so that foreign text cannot swell them.
const unmatched = "unmatched"

// routeTable knows every operation's address and its methods. Fiber looks for a route method by method, so that GET
// /v1/jobs/submit would be the job "submit"; here an address is found first, literal segments before parameters, and the
// method is judged afterwards.
type routeTable struct{ routes []route }

type route struct {
	template string // as in the metrics: /api/v1/jobs/{id}
	segments []string
	methods  []string
}

func (t *routeTable) add(method, template string) {
	segments := strings.Split(template, "/")
	for i := range t.routes {
		if slices.Equal(t.routes[i].segments, segments) {
			t.routes[i].methods = append(t.routes[i].methods, method)
			return
		}
	}
	shown := parameter.ReplaceAllString(template, "{$1}")
	t.routes = append(t.routes, route{template: shown, segments: segments, methods: []string{method}})
}

// find returns the template that fits the path best, with its methods, or "".
func (t *routeTable) find(path string) (template string, methods []string) {
	segments := strings.Split(path, "/")
	var best *route
	for i := range t.routes {
		if one := &t.routes[i]; one.fits(segments) && (best == nil || one.literalBefore(best)) {
			best = one
		}
	}
	if best == nil {
		return "", nil
	}
	return best.template, best.methods
}

func (r *route) fits(segments []string) bool {
	if len(segments) != len(r.segments) {
		return false
	}
	for i, segment := range segments {
		if segment == "" && i > 0 || !isParameter(r.segments[i]) && r.segments[i] != segment {
			return false
		}
	}
	return true
}

// literalBefore compares two routes that fit the same path: the one with a literal where the other has a parameter wins.
func (r *route) literalBefore(other *route) bool {
	for i := range r.segments {
		if a, b := isParameter(r.segments[i]), isParameter(other.segments[i]); a != b {
			return b
		}
	}
	return false
}

// parameter is a parameter of a Fiber route; documents and metrics write it in braces.
var parameter = regexp.MustCompile(`:([^/]+)`)

func isParameter(segment string) bool { return strings.HasPrefix(segment, ":") }

// recordingRouter is the Fiber group that operations are registered in. It notes every route and answers HEAD wherever GET
// is answered (RFC 9110, section 9.3.2).
type recordingRouter struct {
	fiber.Router
	table *routeTable
}

func (r recordingRouter) Add(method, path string, handlers ...fiber.Handler) fiber.Router {
	r.table.add(method, prefix+path)
	if method == http.MethodGet {
		r.table.add(http.MethodHead, prefix+path)
		r.Router.Add(http.MethodHead, path, handlers...)
	}
	return r.Router.Add(method, path, handlers...)
}
