// Package docs serves the interactive API reference from the binary, and the page with the counts of repetitions. Nothing on the
// pages comes from another host, and their Content-Security-Policy would let nothing through.
package docs

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/swaggest/swgui/v5/static"
)

//go:embed page
var page embed.FS

const (
	// Path is where the reference is served.
	Path = "/docs"
	// RepeatsPath is where people read how often running tasks again made the same.
	RepeatsPath = Path + "/repeats"
)

// policy allows this host alone. Swagger UI writes style attributes, and draws its icons from data: URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// maxAssetBytes bounds the unpacking of an asset; the largest has 1.6 MB.
const maxAssetBytes = 16 << 20

// assets are the files of Swagger UI that the page uses; those marked are kept compressed.
var assets = []struct {
	name       string
	compressed bool
}{
	{"swagger-ui.css", true}, {"swagger-ui-bundle.js", true}, {"favicon-32x32.png", false},
}

// Mount adds the reference of the OpenAPI document at documentPath, and sends visitors of "/" to it. countsPath is the address of
// the operation that counts repetitions.
func Mount(app *fiber.App, documentPath, countsPath string) {
	app.Get("/", func(c *fiber.Ctx) error { return c.Redirect(Path, http.StatusFound) })
	app.Get(Path, func(c *fiber.Ctx) error { return sendPage(c, "index.html", "{{document}}", documentPath) })
	app.Get(RepeatsPath, func(c *fiber.Ctx) error { return sendPage(c, "repeats.html", "{{counts}}", countsPath) })
	for _, name := range []string{"page.css", "page.js", "repeats.js"} {
		app.Get(Path+"/"+name, func(c *fiber.Ctx) error {
			text, err := page.ReadFile("page/" + name)
			if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			return send(c, name, text)
		})
	}
	for _, asset := range assets {
		app.Get(Path+"/"+asset.name, func(c *fiber.Ctx) error { return sendAsset(c, asset.name, asset.compressed) })
	}
}

// sendPage sends a page in which a placeholder stands for the address of what it shows.
func sendPage(c *fiber.Ctx, name, placeholder, address string) error {
	text, err := page.ReadFile("page/" + name)
	if err != nil {
		return fmt.Errorf("read the page %s: %w", name, err)
	}
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	return send(c, name, bytes.ReplaceAll(text, []byte(placeholder), []byte(address)))
}

func sendAsset(c *fiber.Ctx, name string, compressed bool) error {
	stored := name
	if compressed {
		stored += ".gz"
	}
	raw, err := static.FS.ReadFile(stored)
	if err != nil {
		return fmt.Errorf("read %s: %w", stored, err)
	}
	if compressed {
		c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
		if strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
			c.Set(fiber.HeaderContentEncoding, "gzip")
		} else if raw, err = unpack(raw); err != nil {
			return fmt.Errorf("unpack %s: %w", stored, err)
		}
	}
	return send(c, name, raw)
}

func unpack(raw []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, maxAssetBytes))
}

func send(c *fiber.Ctx, name string, body []byte) error {
	c.Type(strings.TrimPrefix(path.Ext(name), "."), "utf-8")
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	return c.Send(body)
}
