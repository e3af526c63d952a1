package scenes

import (
	"context"
	"errors"

	"github.com/molfabric/molfabric/api/studio"
	"github.com/molfabric/molfabric/internal/preview"
)

// Previews has workers draw what the studio shows at once.
type Previews struct{ Client *preview.Client }

var _ studio.Previews = Previews{}

// Draw implements studio.Previews.
func (p Previews) Draw(
	ctx context.Context, accountID string, scene []byte, format string, width, height int, transparent bool,
) ([]byte, error) {
	png, err := p.Client.Draw(ctx, preview.Request{AccountID: accountID, Scene: scene, Format: format, WidthPixels: width,
		HeightPixels: height, Transparent: transparent})
	if refused, ok := errors.AsType[*preview.RefusedError](err); ok {
		return nil, &studio.UndrawableError{Reason: refused.Message}
	}
	if _, away := errors.AsType[*preview.UnavailableError](err); away {
		return nil, errors.Join(studio.ErrBusy, err)
	}
	return png, err
}
