// Package gateway is the S3 server that molfabric brings along for a single machine: versitygw over a directory of files. It
// runs as a process of its own, the same program started again, which this package's init turns into the server. It holds no
// client; that is package object.
//
// The server does not flush to the disk what it has acknowledged: a power cut may lose the last objects. That is fit for one
// machine and not for a fleet, which brings its own S3.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/servers"
)

// bucket is the one bucket of an embedded server.
const bucket = "molfabric"

// module is the Go module of the server, whose version doctor reports.
const module = "github.com/versity/versitygw"

// Options says where a server keeps its objects.
type Options struct {
	Dir string       // created when missing
	Log *slog.Logger // gets the server's log at debug level; it logs no requests
}

// Gateway is a running S3 server with its bucket.
type Gateway struct {
	*servers.S3
}

// Start starts an S3 server with the objects of opts.Dir, which outlive it, and returns when its bucket is there. Its credentials
// are generated once and kept in opts.Dir. The context bounds the start; the server runs until Stop or this process' end.
//
// Errors: *servers.LockedError when another server runs in opts.Dir.
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

// Version is the server's name and version, e.g. "versitygw v1.8.0".
func (g *Gateway) Version() string {
	info, _ := debug.ReadBuildInfo() // nil only for a program built without modules
	if info != nil {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return "versitygw " + dependency.Version
			}
		}
	}
	return "versitygw"
}
