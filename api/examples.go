package api

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
)

// examples holds a request of each operation that takes a body, in a file named after the operation's id.
//
//go:embed examples
var examples embed.FS

// addExample shows an operation's example in the document. An operation without one stays as it is; a test asks for all.
func addExample(op *huma.Operation) error {
	if op.RequestBody == nil || op.RequestBody.Content[fiber.MIMEApplicationJSON] == nil {
		return nil
	}
	text, err := examples.ReadFile("examples/" + op.OperationID + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the example of %s: %w", op.OperationID, err)
	}
	if err := json.Unmarshal(text, &op.RequestBody.Content[fiber.MIMEApplicationJSON].Example); err != nil {
		return fmt.Errorf("example of %s: %w", op.OperationID, err)
	}
	return nil
}
