package workers

import (
	"io"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/identity"
)

// Mount answers the requests of workers. It lies outside the API that accounts use, as the demand of fleets does.
func (s *Service) Mount(app *fiber.App, limit fiber.Handler) {
	app.Post(identity.Path, limit, func(c *fiber.Ctx) error {
		body, err := bodyOf(c)
		if err != nil {
			return err
		}
		grant, err := s.Issue(c.UserContext(), body, c.Get(identity.ProofHeader), access.Address(c.UserContext()))
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderCacheControl, "no-store")
		if grant.User == "" {
			return c.SendStatus(http.StatusNoContent)
		}
		return c.JSON(grant)
	})
}

// bodyOf reads a body of bounded length, whether fasthttp has it already or not.
func bodyOf(c *fiber.Ctx) ([]byte, error) {
	stream := c.Context().RequestBodyStream()
	if stream == nil {
		return c.Request().Body(), nil
	}
	body, err := io.ReadAll(io.LimitReader(stream, identity.MaxBodyBytes+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Validation, "body: did not come whole")
	}
	if len(body) > identity.MaxBodyBytes {
		return nil, fault.New(fault.PayloadTooLarge, "body: must be at most %d bytes", identity.MaxBodyBytes)
	}
	return body, nil
}
