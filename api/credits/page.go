package credits

import (
	"net/http"

	"github.com/gofiber/fiber/v2"
)

// landing is what a browser sees when it comes back from the payment provider, by the query parameter topup.
var landing = map[string]string{
	"success": "Thank you. The credit is booked as soon as the payment provider confirms the payment, usually within seconds. " +
		"Look at it with `molfabric balance`, or at /api/v1/credits/balance.",
	"cancelled": "The top-up was cancelled. Nothing was paid and nothing was credited.",
	"":          "Use the command line (`molfabric --help`) or the API; its reference is at /docs.",
}

// Mount adds the page that a hosted checkout leads back to. limit comes before it and counts requests by address.
func (s *Service) Mount(app *fiber.App, limit fiber.Handler) {
	app.Get("/dashboard", limit, func(c *fiber.Ctx) error {
		text, known := landing[c.Query("topup")]
		if !known {
			text = landing[""]
		}
		c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
		return c.Status(http.StatusOK).SendString("molfabric\n\n" + text + "\n")
	})
}
