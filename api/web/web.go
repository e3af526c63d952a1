// Package web serves the app that people use in the browser. The app is static: files that set-up builds from this folder's
// TypeScript into dist, which the program carries compressed. It knows nothing but the API. Without a build this package has
// nothing to serve, and says so.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"
)

//go:embed all:dist
var dist embed.FS

const (
	// index is the one page of the app; its addresses are told apart in the browser.
	index = "index.html"
	// assets is the folder whose files have their digest in their name.
	assets = "assets/"
	// maxFileBytes bounds the unpacking of a file; the largest, which draws molecules, has 3.5 MB.
	maxFileBytes = 16 << 20
	// A file with its digest in its name is never another; the others may be after the next release.
	foreverCache = "public, max-age=31536000, immutable"
	askCache     = "no-cache"
	// share is the page whose address is all that it takes to see what it shows.
	share = "/shared/:token"
	// absent is what people read instead of the app.
	absent = "molfabric\n\nThere is no page here: this program was built without the web app. Build it with `make web build`.\n"
)

// pages are the addresses of the app, as the router in src/router.tsx has them.
var pages = []string{
	"/", "/sign-in", "/sign-up", "/enter", "/more",
	"/jobs/:jobId", "/new", "/new/docking", "/new/pockets", "/new/dynamics", "/new/search", "/new/folding", "/new/rendering",
	"/dockings", "/dockings/:runId", "/ligands/:resultId", "/poses/:poseId",
	"/searches", "/searches/:jobId", "/searches/:jobId/queries/:index",
	"/studio", "/studio/sessions", "/studio/sessions/:sessionId", "/projects", "/projects/:projectId", share,
	"/credits", "/keys", "/settings", "/operator",
}

// moved are pages that the API leads to, and that the app has elsewhere: searches, and where checkouts come back to.
var moved = []struct {
	pages    []string
	from, to string // how their addresses begin, and how those of the app do
}{
	{[]string{"/studio/searches", "/studio/searches/:jobId", "/studio/searches/:jobId/queries/:index"},
		"/studio/searches", "/searches"},
	{[]string{"/dashboard"}, "/dashboard", "/credits"},
}

// Options are what an operator's set-up decides.
type Options struct {
	// StoreOrigin is where signed URLs of files lead to, "https://files.example.org"; "" when that is this service.
	StoreOrigin string
}

// App is a built app. It is safe for concurrent use.
type App struct {
	files  map[string]file
	policy string
}

// file is one of the app's files, in every form that it is kept in.
type file struct {
	brotli, gzip, plain []byte
	kind                string // its media type
	digest              string
}

// Built tells whether this program carries the app.
func Built() bool {
	_, err := fs.Stat(dist, "dist/"+index+".gz")
	return err == nil
}

// Embedded is the app that this program carries. Errors: when it was built without.
func Embedded(options Options) (*App, error) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("web app: %w", err)
	}
	return New(files, options)
}

// New reads an app's files: NAME.br and NAME.gz of each text, and whatever is kept as it is.
func New(files fs.FS, options Options) (*App, error) {
	app := &App{files: map[string]file{}, policy: policy(options.StoreOrigin)}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return app.add(name, content)
	})
	if _, ok := app.files[index]; err == nil && !ok {
		err = errors.New("there is no " + index)
	}
	for name, one := range app.files {
		if err == nil && one.digest == "" {
			err = fmt.Errorf("%s has one form alone, which not every client takes", name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("web app: %w", err)
	}
	return app, nil
}

func (a *App) add(stored string, content []byte) error {
	form := path.Ext(stored)
	name := strings.TrimSuffix(strings.TrimSuffix(stored, ".br"), ".gz")
	one := a.files[name]
	one.kind = mediaType(name)
	text := content
	switch form {
	case ".br":
		one.brotli = content
		a.files[name] = one
		return nil
	case ".gz":
		one.gzip = content
		var err error
		if text, err = unpack(content); err != nil {
			return fmt.Errorf("%s: %w", stored, err)
		}
	default:
		one.plain = content
	}
	sum := sha256.Sum256(text)
	one.digest = base64.RawURLEncoding.EncodeToString(sum[:12])
	a.files[name] = one
	return nil
}

// mediaType does not ask the machine, whose list may lack a type or have another.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return fiber.MIMETextJavaScriptCharsetUTF8
	case ".svg":
		return "image/svg+xml"
	case ".html":
		return fiber.MIMETextHTMLCharsetUTF8
	case ".css":
		return "text/css; charset=utf-8"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return fiber.MIMEOctetStream
}

// policy lets the app load its own files and speak to this service and its store of files, and nobody else. The textures of the
// library that draws molecules are data: URLs; depictions and pictures are blobs.
func policy(storeOrigin string) string {
	connect := strings.TrimSpace("'self' " + storeOrigin)
	return "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
		"media-src 'self' blob:; font-src 'self'; connect-src " + connect + "; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}

// Mount adds the app's pages and files. They lie in memory and cost less than the count of a request would, so that no limit comes
// before them: a page has dozens of files.
func (a *App) Mount(app *fiber.App) {
	for _, page := range pages {
		app.Get(page, func(c *fiber.Ctx) error {
			err := a.send(c, http.StatusOK, index)
			if page == share {
				conceal(c)
			}
			return err
		})
	}
	for _, one := range moved {
		for _, page := range one.pages {
			app.Get(page, func(c *fiber.Ctx) error {
				to := one.to + strings.TrimPrefix(c.Path(), one.from)
				if query := string(c.Request().URI().QueryString()); query != "" {
					to += "?" + query
				}
				return c.Redirect(to, http.StatusFound)
			})
		}
	}
	for name := range a.files {
		if name != index {
			app.Get("/"+name, func(c *fiber.Ctx) error { return a.send(c, http.StatusOK, name) })
		}
	}
}

// conceal keeps the address of an answered page from other sites, search engines and caches.
func conceal(c *fiber.Ctx) {
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set("X-Robots-Tag", "noindex")
	c.Set(fiber.HeaderCacheControl, "no-store")
}

// MountMissing adds what browsers see at an address that nothing else answers: the app, which says so. It is mounted last.
func (a *App) MountMissing(app *fiber.App) {
	mountMissing(app, func(c *fiber.Ctx) error { return a.send(c, http.StatusNotFound, index) })
}

// MountAbsent adds what browsers see at the app's addresses, and at all others that nothing answers, when the program was built
// without the app. It is mounted last.
func MountAbsent(app *fiber.App) {
	mountMissing(app, func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
		return c.Status(http.StatusNotFound).SendString(absent)
	})
}

// mountMissing shows something to people at addresses that nothing answers. Programs, and the scripts of pages, get the error that
// they get everywhere.
func mountMissing(app *fiber.App, show fiber.Handler) {
	app.Use(func(c *fiber.Ctx) error {
		err := c.Next()
		reads := c.Method() == http.MethodGet || c.Method() == http.MethodHead
		missing := (*fiber.Error)(nil)
		if !reads || !errors.As(err, &missing) || missing.Code != http.StatusNotFound ||
			!strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML) {
			return err
		}
		return show(c)
	})
}

// send answers with a file in the smallest form that the client takes.
func (a *App) send(c *fiber.Ctx, status int, name string) error {
	one := a.files[name]
	c.Set(fiber.HeaderContentSecurityPolicy, a.policy)
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentType, one.kind)
	c.Set(fiber.HeaderCacheControl, askCache)
	if strings.HasPrefix(name, assets) {
		c.Set(fiber.HeaderCacheControl, foreverCache)
	}
	encoding, body, err := one.formFor(c)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	tag := one.digest
	if encoding != "" {
		c.Set(fiber.HeaderContentEncoding, encoding)
		tag += "-" + encoding
	}
	if one.plain == nil {
		c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	}
	c.Set(fiber.HeaderETag, `"`+tag+`"`)
	if status == http.StatusOK && strings.Contains(c.Get(fiber.HeaderIfNoneMatch), `"`+tag+`"`) {
		return c.SendStatus(http.StatusNotModified)
	}
	return c.Status(status).Send(body)
}

// formFor is the form of a file that a client takes, with the encoding's name; "" for the file as it is. A client that names no
// encoding may be one that knows none.
func (f file) formFor(c *fiber.Ctx) (encoding string, body []byte, err error) {
	asked := c.Get(fiber.HeaderAcceptEncoding) != ""
	switch {
	case f.plain != nil:
		return "", f.plain, nil
	case asked && f.brotli != nil && c.AcceptsEncodings("br") != "":
		return "br", f.brotli, nil
	case asked && c.AcceptsEncodings("gzip") != "":
		return "gzip", f.gzip, nil
	}
	body, err = unpack(f.gzip)
	return "", body, err
}

func unpack(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("has more than %d bytes", maxFileBytes)
	}
	return text, err
}
