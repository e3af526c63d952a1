package public

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

// cacheFor is what a browser or proxy may keep of an answer: prices and simulators change with a deployment, the status with
// the minute.
const (
	cachePrices = "public, max-age=300"
	cacheStatus = "public, max-age=10"
)

// Register adds the group's operations. Nobody needs a credential for them; they are limited by address.
func Register(api huma.API, s *Service) {
	huma.Register(api, get("get-pricing", "/v1/public/pricing", "Read the prices",
		"What plans, hardware, engines, storage and top-ups cost. Amounts are in pence; hourly prices may have a fraction."),
		func(context.Context, *struct{}) (*pricingOutput, error) {
			return &pricingOutput{CacheControl: cachePrices, Body: s.Pricing()}, nil
		})
	huma.Register(api, get("list-simulators", "/v1/public/simulators", "List the simulators",
		"Every simulator that the service knows, with the names it answers to. A simulator that is not listed here as accepted "+
			"is refused with UNSUPPORTED_SIMULATOR; "+
			"one that is accepted while no worker offers it waits in its queue."),
		func(ctx context.Context, _ *struct{}) (*simulatorsOutput, error) {
			return &simulatorsOutput{CacheControl: cacheStatus, Body: contract.SimulatorList{Simulators: s.Simulators(ctx)}}, nil
		})
	huma.Register(api, get("get-service-status", "/v1/public/status", "Read the service's status",
		"Whether the parts of the service answer, and how many workers of each engine are alive."),
		func(ctx context.Context, _ *struct{}) (*statusOutput, error) {
			return &statusOutput{CacheControl: cacheStatus, Body: s.Status(ctx)}, nil
		})
	huma.Register(api, get("get-repeats", "/v1/public/repeats", "Read how often running again made the same",
		"The service runs some tasks a second time, chosen by chance among those that ended well, at its own cost, and compares "+
			"the files by their digests. The counts are of all accounts together, by simulator."),
		func(ctx context.Context, _ *struct{}) (*repeatsOutput, error) {
			report, err := s.Repeats(ctx)
			return &repeatsOutput{CacheControl: cacheStatus, Body: report}, err
		})
}

func get(id, path, summary, text string) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Description: text, Tags: []string{"Public"},
	}, access.Rule{Public: true})
}

type pricingOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         contract.Pricing
}

type simulatorsOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         contract.SimulatorList
}

type repeatsOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         contract.RepeatReport
}

type statusOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         contract.ServiceStatus
}
