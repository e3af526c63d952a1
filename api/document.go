package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/api/strictjson"
)

const (
	documentPath = "/v1/openapi.json"
	documentType = "application/json; charset=utf-8"
	// documentCache is what may be kept of the document: it changes with the program alone.
	documentCache = "public, max-age=300"
)

// setHumaRules sets what huma keeps in globals: how its schemas are made and how its messages read.
var setHumaRules = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	plain := huma.ErrorFormatter
	// A parser's own error repeats what was submitted: a rule that would print one is cut before it.
	huma.ErrorFormatter = func(format string, args ...any) string {
		for _, arg := range args {
			if _, isError := arg.(error); isError {
				rule, _, _ := strings.Cut(format, ":")
				return rule
			}
		}
		for i, arg := range args {
			if bound, isNumber := arg.(float64); isNumber {
				args[i] = plainNumber(bound)
			}
		}
		if format == validation.MsgExpectedOneOf {
			format = "expected one of %s"
		}
		return plain(format, args...)
	}
})

func humaConfig(version string) huma.Config {
	config := huma.DefaultConfig("molfabric", version)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil
	config.RejectUnknownQueryParameters = true
	config.Formats = map[string]huma.Format{
		fiber.MIMEApplicationJSON: {Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: strictjson.Unmarshal},
	}
	config.Info.Description = "Molecular docking and scientific simulation over HTTP. Every failure is the closed envelope " +
		"Error. " +
		"Every answer carries X-Request-Id, RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset; 429 and 503 add Retry-After."
	config.Tags = tags
	config.Servers = []*huma.Server{{URL: prefix, Description: "This host"}}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"apiKey": {
			Type: "http", Scheme: "bearer",
			Description: "An API key: svc_live_… is billed, svc_test_… is not and cannot submit jobs. An operation lists the " +
				"scope it needs.",
		},
		"session": {
			Type: "apiKey", In: "cookie", Name: auth.CookieName,
			Description: "The cookie of a browser that has signed in. It holds every scope of its account.",
		},
	}
	config.Components.Headers = everyAnswer
	config.OnAddOperation = append(config.OnAddOperation, bodyLimits)
	return config
}

// bodyLimits takes huma's own limits away: the body has been read, within the operation's limit and a deadline, by bodyGate.
func bodyLimits(_ *huma.OpenAPI, op *huma.Operation) {
	op.MaxBodyBytes, op.BodyReadTimeout = -1, 0
}

type documentInput struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of an earlier answer."`
}

type documentOutput struct {
	Status       int
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	ETag         string `header:"ETag"`
	Body         []byte
}

// registerDocument registers the document as an operation like every other, so that it describes itself.
func registerDocument(api huma.API, document func() []byte) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "get-openapi", Method: http.MethodGet, Path: documentPath, Tags: []string{"Service"},
		Summary: "Read this document", Description: "The OpenAPI 3.1 document of the service, also at /.well-known/openapi.json " +
			"of the host.",
		Responses: map[string]*huma.Response{"200": {
			Description: "The document", Content: map[string]*huma.MediaType{
				fiber.MIMEApplicationJSON: {Schema: &huma.Schema{Type: huma.TypeObject}}},
		}, "304": {Description: "The document is as the ETag in If-None-Match says."}},
	}, access.Rule{Public: true}), func(_ context.Context, in *documentInput) (*documentOutput, error) {
		out := &documentOutput{Status: http.StatusOK, ContentType: documentType, CacheControl: documentCache,
			ETag: etagOf(document()), Body: document()}
		if in.IfNoneMatch == out.ETag {
			out.Status, out.Body = http.StatusNotModified, nil
		}
		return out, nil
	})
}

func etagOf(document []byte) string {
	return fmt.Sprintf(`"%x"`, sha256.Sum256(document))
}

func sendDocument(c *fiber.Ctx, document []byte) error {
	c.Set(fiber.HeaderContentType, documentType)
	c.Set(fiber.HeaderCacheControl, documentCache)
	c.Set(fiber.HeaderETag, etagOf(document))
	if c.Get(fiber.HeaderIfNoneMatch) == etagOf(document) {
		return c.SendStatus(http.StatusNotModified)
	}
	return c.Send(document)
}

// finish makes the document say what the server does, and writes it. It is called once, when every operation is registered.
func finish(document *huma.OpenAPI) ([]byte, error) {
	requests := map[*huma.Schema]bool{}
	for _, item := range document.Paths {
		for _, op := range methodsOf(item) {
			describeErrors(op)
			if err := addExample(op); err != nil {
				return nil, err
			}
			if op.RequestBody != nil {
				for _, media := range op.RequestBody.Content {
					reach(document.Components.Schemas, media.Schema, requests)
				}
			}
		}
	}
	for schema := range requests {
		// No member of a request may be null: that a Go field is a pointer only tells "left out" from "zero".
		schema.Nullable = false
	}
	for name, schema := range document.Components.Schemas.Map() {
		// Within v1 answers may gain members (doc/contract.md §9); the error envelope alone is closed for good.
		if closed, ok := schema.AdditionalProperties.(bool); ok && !closed && !requests[schema] && name != "Error" {
			schema.AdditionalProperties = nil
		}
	}
	return json.Marshal(document)
}

func methodsOf(item *huma.PathItem) map[string]*huma.Operation {
	operations := map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodDelete: item.Delete, http.MethodPatch: item.Patch,
	}
	for method, op := range operations {
		if op == nil {
			delete(operations, method)
		}
	}
	return operations
}

// describeErrors replaces huma's automatic answers by those that every operation of its kind can give. What a group has
// listed in Operation.Errors stays.
func describeErrors(op *huma.Operation) {
	rule := access.RuleOf(op)
	if op.Security == nil && !rule.Public { // an operation without a rule: say what the guard does
		op.Security = access.Guarded(*op, rule).Security
	}
	delete(op.Responses, "default")
	for _, automatic := range []int{http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		if !slices.Contains(listed(op), automatic) {
			delete(op.Responses, strconv.Itoa(automatic))
		}
	}
	statuses := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusRequestHeaderFieldsTooLarge}
	if op.RequestBody != nil {
		statuses = append(statuses, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	} else {
		statuses = append(statuses, http.StatusBadRequest) // unknown query parameters
	}
	if !rule.Public {
		statuses = append(statuses, http.StatusUnauthorized, http.StatusForbidden)
	} else if op.Method != http.MethodGet {
		statuses = append(statuses, http.StatusForbidden) // a browser that another site makes send it is refused all the same
	}
	if strings.Contains(op.Path, "{") {
		statuses = append(statuses, http.StatusNotFound)
	}
	for _, status := range statuses {
		key := strconv.Itoa(status)
		if op.Responses[key] == nil {
			op.Responses[key] = &huma.Response{Description: http.StatusText(status), Content: map[string]*huma.MediaType{
				fiber.MIMEApplicationJSON: {Schema: &huma.Schema{Ref: "#/components/schemas/Error"}},
			}}
		}
	}
	describeHeaders(op, rule)
}

// listed is Operation.Errors as the group wrote it: huma has appended 422, where there is something to validate, and 500.
func listed(op *huma.Operation) []int {
	errors := op.Errors
	if n := len(errors); n > 0 && errors[n-1] == http.StatusInternalServerError {
		errors = errors[:n-1]
	}
	if n := len(errors); n > 0 && errors[n-1] == http.StatusUnprocessableEntity &&
		(len(op.Parameters) > 0 || op.RequestBody != nil) {
		errors = errors[:n-1]
	}
	return errors
}

// reach collects every schema that a request may be validated with.
func reach(registry huma.Registry, schema *huma.Schema, found map[*huma.Schema]bool) {
	for schema != nil && schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	if schema == nil || found[schema] {
		return
	}
	found[schema] = true
	for _, property := range schema.Properties {
		reach(registry, property, found)
	}
	for _, list := range [][]*huma.Schema{schema.OneOf, schema.AnyOf, schema.AllOf} {
		for _, one := range list {
			reach(registry, one, found)
		}
	}
	reach(registry, schema.Items, found)
	if extra, ok := schema.AdditionalProperties.(*huma.Schema); ok {
		reach(registry, extra, found)
	}
}
