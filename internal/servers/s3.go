package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"syscall"
)

// S3OrderEnv is the environment variable that makes this program an S3 server and nothing else; its value is an S3Order in
// JSON. Package gateway answers it.
const S3OrderEnv = "MOLFABRIC_S3_ORDER"

const (
	// S3HealthPath answers 200 without credentials when the server is ready. No bucket can have its name.
	S3HealthPath = "/healthz"
	s3AccessKey  = "molfabric"
	s3Region     = "us-east-1" // what S3 clients assume when nobody says otherwise
)

// S3Order tells an S3 server process what to serve.
type S3Order struct {
	Dir       string `json:"dir"`     // for objects and their metadata
	Address   string `json:"address"` // host:port to listen on
	Region    string `json:"region"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`
}

// S3Options says where an S3 server keeps its objects.
type S3Options struct {
	Dir string       // created when missing; holds one server's objects
	Log *slog.Logger // gets the server's log at debug level
}

// S3 is a running S3 server.
type S3 struct {
	*server
	order S3Order
}

// StartS3 starts this program's own file again, as an S3 server with the objects of opts.Dir, and returns when it answers. A
// process of its own, because the server keeps its objects below its working directory and may exist once a process.
// Only package gateway calls it, as only a program with that package answers the order.
//
// Errors: *LockedError when another server runs in opts.Dir.
func StartS3(ctx context.Context, opts S3Options) (*S3, error) {
	return onFreePort(func(port int) (*S3, error) {
		h, err := openHome(ctx, opts.Dir, opts.Log)
		if err != nil {
			return nil, fmt.Errorf("start s3: %w", err)
		}
		return startS3(ctx, opts, h, port)
	})
}

// startS3 takes h over.
func startS3(ctx context.Context, opts S3Options, h *home, port int) (*S3, error) {
	order := S3Order{
		Dir:       filepath.Clean(h.path),
		Address:   "127.0.0.1:" + strconv.Itoa(port),
		Region:    s3Region,
		AccessKey: s3AccessKey,
	}
	var text []byte
	secret, err := h.password()
	if err == nil {
		order.SecretKey = secret
		text, err = json.Marshal(order)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start s3 in %s: %w", h.dir, err), h.close())
	}
	c := command{
		name: "s3",
		// The file of this process, also when an upgrade has replaced it on disk.
		argv: []string{"/proc/self/exe"},
		// Only this user and root can read a process' environment.
		env:    []string{S3OrderEnv + "=" + string(text)},
		stopBy: syscall.SIGTERM,
		taken:  "address already in use",
	}
	s, err := launch(ctx, c, h, port, opts.Log, func(ctx context.Context) error { return pingS3(ctx, order.Address) })
	if err != nil {
		return nil, err
	}
	return &S3{server: s, order: order}, nil
}

// Endpoint is the server's base URL.
func (s *S3) Endpoint() string { return "http://" + s.order.Address }

// Region is what requests must be signed for.
func (s *S3) Region() string { return s.order.Region }

// AccessKey names the key that requests must be signed with.
func (s *S3) AccessKey() string { return s.order.AccessKey }

// SecretKey is the key that requests must be signed with.
func (s *S3) SecretKey() string { return s.order.SecretKey }

func pingS3(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+S3HealthPath, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("health answers %s", response.Status)
	}
	return nil
}
