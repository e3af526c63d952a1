// Package objecttest gives every test a bucket of its own in a real S3 server: in the one that TEST_S3_ENDPOINT names (with
// TEST_S3_ACCESS_KEY and TEST_S3_SECRET_KEY), or in a private one that the first test of a process starts and that ends with the
// process. It is for tests alone.
//
// That server is the test's own program, started again, so that tests need no molfabric-store.
package objecttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/gateway"
	"github.com/molfabric/molfabric/internal/object/versity"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// bucketPrefix marks the buckets of tests, so that those of a killed process can be told.
const bucketPrefix = "test-"

// Program is this test's own file, for gateway.Options: what init makes a server of.
const Program = "/proc/self/exe"

// init makes a process that was started with a server's order the server, and ends it with the server: before main, so that every
// test program can be it. For every other process it does nothing.
func init() {
	ordered, err := versity.Serve()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "s3 server:", err)
		os.Exit(1)
	case ordered:
		os.Exit(0)
	}
}

// patience bounds everything that happens outside a test's own context.
const patience = time.Minute

// New returns a store on a bucket of the test's own and how other processes reach it. The test's end deletes the bucket.
func New(t testing.TB) (*object.Store, object.Config) {
	t.Helper()
	cfg, err := server()
	serverstest.Check(t, err)
	cfg.Bucket = id.New(bucketPrefix)
	return open(t, cfg), cfg
}

// Private starts an empty server for this test alone, to stop or to kill. The test's end stops it and removes its objects; until
// then the test may start it again in dir, with gateway.Start and Program.
func Private(t testing.TB) (started *gateway.Gateway, dir string) {
	t.Helper()
	dir = serverstest.Dir(t)
	started, err := gateway.Start(t.Context(), gateway.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Program: Program})
	serverstest.Check(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := started.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return started, dir
}

func open(t testing.TB, cfg object.Config) *object.Store {
	t.Helper()
	store, err := object.New(cfg)
	if err == nil {
		err = store.EnsureBucket(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := dropBucket(ctx, cfg); err != nil {
			t.Error(err)
		}
	})
	return store
}

// server returns the address of the process' server, which the first call starts.
var server = sync.OnceValues(func() (object.Config, error) {
	if endpoint := os.Getenv("TEST_S3_ENDPOINT"); endpoint != "" {
		return object.Config{
			Endpoint:  endpoint,
			Region:    "us-east-1",
			AccessKey: os.Getenv("TEST_S3_ACCESS_KEY"),
			SecretKey: os.Getenv("TEST_S3_SECRET_KEY"),
		}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	started, err := serverstest.StartShared("s3", func(dir string) (*gateway.Gateway, error) {
		return gateway.Start(ctx, gateway.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Program: Program})
	})
	if err != nil {
		return object.Config{}, err
	}
	return started.Config(), dropLeftovers(ctx, started.Config())
})

// dropLeftovers drops the buckets of an earlier process that was killed in its tests.
func dropLeftovers(ctx context.Context, cfg object.Config) error {
	buckets, err := rawClient(cfg).ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil {
		return err
	}
	for _, bucket := range buckets.Buckets {
		if cfg.Bucket = *bucket.Name; strings.HasPrefix(cfg.Bucket, bucketPrefix) {
			err = errors.Join(err, dropBucket(ctx, cfg))
		}
	}
	return err
}

// dropBucket deletes a bucket with all that is in it, which package object rightly cannot do.
func dropBucket(ctx context.Context, cfg object.Config) error {
	store, err := object.New(cfg)
	if err != nil {
		return err
	}
	for info, err := range store.List(ctx, "") {
		if err == nil {
			err = store.Delete(ctx, info.Key)
		}
		if err != nil {
			return err
		}
	}
	_, err = rawClient(cfg).DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &cfg.Bucket})
	return err
}

func rawClient(cfg object.Config) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &cfg.Endpoint,
		Region:       cfg.Region,
		UsePathStyle: true,
		Credentials:  credentials.NewStaticCredentialsProvider(cfg.AccessKey, cfg.SecretKey, ""),
	})
}
