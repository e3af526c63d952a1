package operator

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

const forOperators = " For the operators of the deployment (MOLFABRIC_OPERATORS), with a browser session; for everybody else " +
	"there is nothing here."

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	huma.Register(api, get("get-fleet", "/v1/operator/fleet", "Read the workers", "The workers that are alive, and what they do."),
		answer(s.Fleet))
	huma.Register(api, get("get-work-queues", "/v1/operator/queues", "Read what waits and runs",
		"What waits and runs of each class of work, and how many workers take it."), answer(s.Queues))
	huma.Register(api, get("get-alerts", "/v1/operator/alerts", "Read what is wrong",
		"What an operator should look at, the worst first: no scheduler leads, work waits that no worker takes or that waits for "+
			"more than ten minutes, jobs failed within the last hour."), answer(s.Alerts))
}

func get(id, path, summary, text string) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Description: text + forOperators,
		Tags: []string{"Operator"}, Errors: []int{http.StatusNotFound},
	}, access.Rule{SessionOnly: true, Operator: true})
}

type output[T any] struct{ Body T }

func answer[T contract.Fleet | contract.WorkQueues | contract.Alerts](
	read func(context.Context) (T, error),
) func(context.Context, *struct{}) (*output[T], error) {
	return func(ctx context.Context, _ *struct{}) (*output[T], error) {
		found, err := read(ctx)
		if err != nil {
			return nil, err
		}
		return &output[T]{Body: found}, nil
	}
}
