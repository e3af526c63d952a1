package projects

import (
	"fmt"

	"github.com/gofiber/fiber/v2"
)

// Mount adds the download of a share's content, byte for byte as it was saved: what the digest is of. limit comes before it and
// counts requests by address.
func (s *Service) Mount(app *fiber.App, limit fiber.Handler) {
	app.Get("/shared/:token/content.json", limit, s.download)
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
