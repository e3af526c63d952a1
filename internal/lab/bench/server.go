package bench

import (
	"context"
	"log/slog"
)

// ServerOptions say how a whole molfabric of a measurement's own is started.
type ServerOptions struct {
	Home       string // an empty directory that the stores' users may enter
	Program    string // path of the molfabric to measure
	Python     string // the scientific Python
	Components string // dictionary of chemical components; "" leaves the system without one
	Slots      int    // cores of the worker
	Log        *slog.Logger
}

// Server is a whole molfabric on loopback, with one account that can pay for everything.
type Server struct {
	URL    string
	APIKey string
	system *system
}

// StartServer starts one. The caller stops it, also when the context has ended since.
func StartServer(ctx context.Context, o ServerOptions) (*Server, error) {
	s, err := startSystem(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Server{URL: s.url, APIKey: s.key, system: s}, nil
}

// Stop ends everything that StartServer has started. It is called once.
func (s *Server) Stop(ctx context.Context) error { return s.system.stop(ctx) }
