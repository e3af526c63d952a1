package projects

import (
	_ "embed"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// maxShownBytes bounds the content on the page, indented: more than anybody reads, and little enough for every browser.
const maxShownBytes = 256 << 10

var (
	//go:embed page/shared.html
	sharedHTML string
	//go:embed page/shared.css
	sharedCSS string

	sharedPages = page.New(page.Source{HTML: sharedHTML, CSS: sharedCSS})
)

// Mount adds the page of a share and the download of its content (doc/contract.md §4, "Shared links"). limit comes before both and
// counts requests by address.
func (s *Service) Mount(app *fiber.App, limit fiber.Handler) {
	app.Get("/shared/:token", limit, s.page)
	app.Get("/shared/:token/content.json", limit, s.download)
}

// sharedBody is what the page of a share shows.
type sharedBody struct {
	Shared   contract.SharedProject
	Saved    string // time of the revision, RFC 3339
	Download string // address of the content
	Content  string // indented, at most maxShownBytes
	Cut      bool   // the content is longer
}

func (s *Service) page(c *fiber.Ctx) error {
	token := c.Params("token")
	shared, err := s.Shared(c.UserContext(), token)
	switch {
	case fault.Is(err, fault.NotFound):
		return sharedPages.Send(c, http.StatusNotFound, page.View{Title: "No such share",
			Message: "The link is not complete, or it was never given out."})
	case fault.Is(err, fault.ShareRevoked):
		return sharedPages.Send(c, http.StatusGone, page.View{Title: "This share has ended",
			Message: "Its owner has revoked it, or has shared the project anew."})
	case err != nil:
		return err
	}
	body := sharedBody{
		Shared: shared, Saved: shared.CreatedAt.UTC().Format(time.RFC3339),
		Download: pageOf(token) + "/content.json",
	}
	body.Content, body.Cut = shown(shared.Content, maxShownBytes)
	return sharedPages.Send(c, http.StatusOK, page.View{Title: shared.Name, Body: body})
}

func (s *Service) download(c *fiber.Ctx) error {
	shared, err := s.Shared(c.UserContext(), c.Params("token"))
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Set(fiber.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="project-version-%d.json"`, shared.Version))
	c.Set(fiber.HeaderCacheControl, sharedCaching)
	c.Set("X-Robots-Tag", "noindex")
	return c.Send(shared.Content)
}

// shown is a content indented for people, cut between two characters where it is longer than limit bytes. It stops there: all
// of a deeply nested content is a hundred times as long indented, and anybody with the link may ask for it.
func shown(content contract.Content, limit int) (text string, cut bool) {
	var out []byte
	depth, quoted := 0, false
	for i := 0; i < len(content) && len(out) <= limit; i++ {
		c := content[i]
		switch {
		case quoted:
			out = append(out, c)
			if c == '\\' { // what is escaped ends no text
				i++
				out = append(out, content[i])
			}
			quoted = c != '"'
		case c == '"':
			out, quoted = append(out, c), true
		case (c == '{' || c == '[') && content[i+1] != c+2: // "{}" and "[]" stay together
			depth++
			out = newLine(append(out, c), depth)
		case (c == '}' || c == ']') && content[i-1] != c-2:
			depth--
			out = append(newLine(out, depth), c)
		case c == ',':
			out = newLine(append(out, c), depth)
		case c == ':':
			out = append(out, ": "...)
		default:
			out = append(out, c)
		}
	}
	if len(out) <= limit {
		return string(out), false
	}
	for limit > 0 && !utf8.RuneStart(out[limit]) {
		limit--
	}
	return string(out[:limit]), true
}

func newLine(out []byte, depth int) []byte {
	out = append(out, '\n')
	for range depth {
		out = append(out, "  "...)
	}
	return out
}
