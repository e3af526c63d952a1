package jobs

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
)

// previewStep is how often the end of a picture's address moves. Between two steps a client that polls may be told that nothing
// has changed, and the address that it has is still good for an hour.
const previewStep = 30 * time.Minute

// show turns a record into what its owner sees, with an address of the job's picture where there is one.
func (s *Service) show(ctx context.Context, r record) (contract.Job, error) {
	view, err := r.view(s.deps.Currency)
	if err != nil || !r.PreviewKey.Valid {
		return view, err
	}
	now := s.deps.Now().UTC()
	expiresAt := now.Truncate(previewStep).Add(previewStep + outputURLLifetime)
	url, err := s.deps.Objects.PresignGet(ctx, r.PreviewKey.String, path.Base(r.PreviewName.String), expiresAt.Sub(now))
	if err != nil {
		return contract.Job{}, fmt.Errorf("signing the picture of job %s: %w", r.ID, err)
	}
	view.Preview = &contract.Preview{URL: url, ExpiresAt: expiresAt}
	return view, nil
}
