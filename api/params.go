package api

import (
	"bytes"
	"io"
	"net/url"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"

	"github.com/molfabric/molfabric/internal/fault"
)

// parameters hands the operation its path parameters as they were meant, and refuses query parameters that are there and
// empty where the operation's schema has no empty value: a forgotten value would otherwise read as no filter at all.
type parameters struct{ api huma.API }

// pass is huma middleware.
func (p parameters) pass(ctx huma.Context, next func(huma.Context)) {
	query := humafiber.UnwrapV2(ctx).Context().QueryArgs()
	for _, parameter := range ctx.Operation().Parameters {
		if parameter.In != "query" || emptyFits(p.api.OpenAPI().Components.Schemas, parameter.Schema) {
			continue
		}
		for _, value := range query.PeekMulti(parameter.Name) {
			if len(value) == 0 {
				fail(p.api, ctx, fault.New(codeOf(parameter.Name), "%s: is empty; give a value or leave the parameter out",
					parameter.Name))
				return
			}
		}
	}
	for _, parameter := range ctx.Operation().Parameters {
		if parameter.In != "header" || parameter.Name != idempotencyHeader {
			continue
		}
		given := humafiber.UnwrapV2(ctx).Request().Header.PeekAll(idempotencyHeader)
		if err := checkIdempotencyKeys(given, parameter.Required); err != nil {
			fail(p.api, ctx, err)
			return
		}
	}
	next(pathContext{ctx})
}

const idempotencyHeader = "Idempotency-Key"

// checkIdempotencyKeys looks at the header's values, of which there may be several. An empty one where none is required is refused:
// a variable that was not set must not silently give up what the header is for. Errors: fault.Validation,
// fault.IdempotencyKeyMismatch.
func checkIdempotencyKeys(given [][]byte, required bool) error {
	if !required && len(given) > 0 && len(given[0]) == 0 {
		return fault.New(fault.Validation, "the header %s is empty; give a key or leave the header out", idempotencyHeader)
	}
	for _, other := range given {
		if !bytes.Equal(other, given[0]) {
			return fault.New(fault.IdempotencyKeyMismatch, "the header %s is there twice with two keys; send one",
				idempotencyHeader)
		}
	}
	return nil
}

// emptyFits reports whether the empty text is a value of the schema.
func emptyFits(registry huma.Registry, schema *huma.Schema) bool {
	for schema != nil && schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	if schema != nil && schema.Type == huma.TypeArray {
		return emptyFits(registry, schema.Items)
	}
	return schema == nil || schema.Type == huma.TypeString && schema.Format == "" && schema.Pattern == "" &&
		len(schema.Enum) == 0 &&
		(schema.MinLength == nil || *schema.MinLength == 0)
}

// pathContext decodes path parameters: Fiber leaves percent escapes as they are, and a length would count them. The address
// has been found readable before.
type pathContext struct{ humaContext }

func (c pathContext) Param(name string) string {
	raw := c.humaContext.Param(name)
	if decoded, err := url.PathUnescape(raw); err == nil {
		return decoded
	}
	return raw
}

// Unwrap lets adapters find their own context.
func (c pathContext) Unwrap() huma.Context { return c.humaContext }

// StreamBody is what event streams ask a context for; embedding alone would hide it.
func (c pathContext) StreamBody(write func(io.Writer)) {
	if streamer, ok := c.humaContext.(interface{ StreamBody(func(io.Writer)) }); ok {
		streamer.StreamBody(write)
	}
}
