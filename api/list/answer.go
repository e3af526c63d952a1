package list

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Documented documents the media types of an operation that answers with a T in JSON, and with files too. counted names the files
// whose entries are counted beforehand, for people; "" for none.
func Documented[T any](api huma.API, op huma.Operation, counted string, files ...string) huma.Operation {
	content := map[string]*huma.MediaType{
		JSON: {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")},
	}
	for _, mediaType := range files {
		content[mediaType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: content}}
	if counted != "" {
		op.Responses["200"].Headers = map[string]*huma.Param{
			"X-Total-Count": {Description: "Of " + counted + ": how many entries there are.",
				Schema: &huma.Schema{Type: huma.TypeInteger}},
			"X-Truncated": {Description: "Of " + counted + ": whether the answer stops before the last entry.",
				Schema: &huma.Schema{Type: huma.TypeBoolean}},
		}
	}
	return op
}

// InJSON is an answer in JSON of an operation that can also answer otherwise.
func InJSON(api huma.API, body any, err error) (*huma.StreamResponse, error) {
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("Content-Type", JSON)
		out.SetHeader("Vary", "Accept")
		out.SetStatus(http.StatusOK)
		if err := api.Marshal(out.BodyWriter(), JSON, body); err != nil {
			panic(err) // a view that JSON cannot write is a fault of ours; the front door answers it
		}
	}}, nil
}
