// Package page sends the pages that the service makes itself. They share a frame and its style, run no script, and their browser
// may load nothing else.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/internal/fault"
)

var (
	//go:embed frame.html
	frameHTML string
	//go:embed frame.css
	frameCSS string
)

// View is what a page shows.
type View struct {
	Title   string
	Refresh int    // seconds after which the browser reads the page again; 0 for never
	Up      []Link // the pages above this, but for the kind's home
	Message string
	Body    any // of the template "body"; nil for a page that is a message alone
}

// Link is an address with its name.
type Link struct{ Name, URL string }

// Source is what pages of one kind are made from.
type Source struct {
	HTML  string // defines the template "body"
	CSS   string // beside the frame's
	Words template.FuncMap
	Home  Link // where every such page leads back to; none when zero
	Forms bool // the pages hold forms, which lead to this service
}

// Kind sends pages of one kind. It is safe for concurrent use.
type Kind struct {
	template *template.Template
	policy   string
	referrer string
}

// New reads a source. It panics when that is no template: it is part of the program.
func New(source Source) *Kind {
	css := frameCSS + source.CSS
	frame := template.FuncMap{
		"style": func() template.CSS { return template.CSS(css) }, //nolint:gosec // G203: part of the program
		"home":  func() Link { return source.Home },
	}
	sum := sha256.Sum256([]byte(css))
	words := template.New("frame").Funcs(frame).Funcs(source.Words)
	kind := &Kind{template: template.Must(template.Must(words.Parse(frameHTML)).Parse(source.HTML))}
	action := "none"
	if source.Forms {
		action, kind.referrer = "self", "same-origin" // under no-referrer the form's origin would be null
	}
	kind.policy = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action '%s'; "+
		"frame-ancestors 'none'", base64.StdEncoding.EncodeToString(sum[:]), action)
	return kind
}

// Send answers with a page.
func (k *Kind) Send(c *fiber.Ctx, status int, view View) error {
	var text bytes.Buffer
	if err := k.template.Execute(&text, view); err != nil {
		return fmt.Errorf("write the page %q: %w", view.Title, err)
	}
	c.Set(fiber.HeaderContentSecurityPolicy, k.policy)
	if k.referrer != "" {
		c.Set(fiber.HeaderReferrerPolicy, k.referrer)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Status(status).Send(text.Bytes())
}

// SendOr answers with a page of somebody's own things, or with one that says why there is none. What another account has, and what
// nobody has, is one page; a link that cannot be read is another. Any other error is returned.
func (k *Kind) SendOr(c *fiber.Ctx, view View, err error) error {
	switch {
	case err == nil:
		return k.Send(c, http.StatusOK, view)
	case fault.Is(err, fault.NotFound):
		return k.Send(c, http.StatusNotFound, View{Title: "Not found",
			Message: "There is nothing of that name in your account. Are you signed in to the right one?"})
	case fault.Is(err, fault.FilesDeleted):
		return k.Send(c, http.StatusGone, View{Title: "Deleted",
			Message: "The files and results of this job were deleted by its owner."})
	case fault.Is(err, fault.Validation), fault.Is(err, fault.InvalidCursor):
		return k.Send(c, http.StatusBadRequest, View{Title: "This link cannot be read",
			Message: "Use the link as it stands in the answer of the API, unchanged."})
	}
	return err
}
