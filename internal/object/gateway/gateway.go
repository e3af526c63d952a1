// Package gateway starts the S3 server that molfabric brings along for a single machine, the program molfabric-store, and makes its
// bucket. It holds neither the server, which is package versity, nor a client, which is package object.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/servers"
)

// bucket is the one bucket of an embedded server.
const bucket = "molfabric"

// Options says where a server keeps its objects.
type Options struct {
	Dir  string       // created when missing
	Port int          // of 127.0.0.1; 0 for the one that Dir had last, which its first start chooses
	Log  *slog.Logger // gets the server's log at debug level; it logs no requests
	// Program is the server's; "" for the molfabric-store that lies beside this program, or else on the PATH.
	Program string
}

// Gateway is a running S3 server with its bucket.
type Gateway struct {
	*servers.S3
}

// Start starts an S3 server with the objects of opts.Dir, which outlive it, and returns when its bucket is there. Its credentials
// are generated once and kept in opts.Dir. The context bounds the start; the server runs until Stop or this process' end.
//
// Errors: *servers.MissingError without the program; *servers.LockedError when another server runs in opts.Dir;
// *servers.PortTakenError.
func Start(ctx context.Context, opts Options) (*Gateway, error) {
	started, err := servers.StartS3(ctx, servers.S3Options(opts))
	if err != nil {
		return nil, err
	}
	g := &Gateway{S3: started}
	store, err := object.New(g.Config())
	if err == nil {
		err = store.EnsureBucket(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start s3 in %s: %w", opts.Dir, err), g.Stop(ctx))
	}
	return g, nil
}

// Config is what a client needs to reach the server's bucket.
func (g *Gateway) Config() object.Config {
	return object.Config{
		Endpoint:  g.Endpoint(),
		Region:    g.Region(),
		Bucket:    bucket,
		AccessKey: g.AccessKey(),
		SecretKey: g.SecretKey(),
	}
}
