package servers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/molfabric/molfabric/internal/object/order"
)

const (
	// portName is the file with the port of the last start.
	portName    = "port"
	s3AccessKey = "molfabric"
	s3Region    = "us-east-1" // what S3 clients assume when nobody says otherwise
)

// S3Options says where an S3 server keeps its objects.
type S3Options struct {
	Dir  string       // created when missing; holds one server's objects
	Port int          // of 127.0.0.1; 0 for the one that the directory had last, which its first start chooses
	Log  *slog.Logger // gets the server's log at debug level
	// Program is the server's; "" for the molfabric-store that lies beside this program, or else on the PATH.
	Program string
}

// S3 is a running S3 server.
type S3 struct {
	*server
	order order.Order
}

// StartS3 starts an S3 server with the objects of opts.Dir and returns when it answers. The server is a program of its own, so that
// this one has none of what it is made of.
//
// The port stays the same from start to start, since signed URLs that were given away hold it.
//
// Errors: *MissingError without the program; *LockedError when another server runs in opts.Dir; *PortTakenError when the port that
// it must have is not free.
func StartS3(ctx context.Context, opts S3Options) (*S3, error) {
	program, err := storeProgram(opts.Program)
	if err != nil {
		return nil, err
	}
	start := func(port int) (*S3, error) {
		h, err := openHome(ctx, opts.Dir, opts.Log)
		if err != nil {
			return nil, fmt.Errorf("start s3: %w", err)
		}
		return startS3(ctx, opts, h, program, port)
	}
	port, err := fixedPort(opts)
	if err != nil {
		return nil, err
	}
	if port == 0 {
		return onPort(LastingPort, start)
	}
	s, err := start(port)
	if errors.Is(err, errPortTaken) {
		return nil, &PortTakenError{Port: port}
	}
	return s, err
}

// fixedPort is the port that a server must have: the one asked for, or the one that its directory had last; 0 for none.
func fixedPort(opts S3Options) (int, error) {
	if opts.Port != 0 {
		return opts.Port, nil
	}
	text, err := os.ReadFile(filepath.Join(opts.Dir, portName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the port of s3: %w", err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("%s: want a port, 1 to 65535; remove the file, and another port is chosen",
			filepath.Join(opts.Dir, portName))
	}
	return port, nil
}

// startS3 takes h over.
func startS3(ctx context.Context, opts S3Options, h *home, program string, port int) (*S3, error) {
	asked := order.Order{
		Dir:       filepath.Clean(h.path),
		Address:   "127.0.0.1:" + strconv.Itoa(port),
		Region:    s3Region,
		AccessKey: s3AccessKey, HealthPath: order.NewHealthPath(),
	}
	var line string
	secret, err := h.password()
	if err == nil {
		asked.SecretKey = secret
		line, err = asked.Environment()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start s3 in %s: %w", h.dir, err), h.close())
	}
	c := command{
		name: "s3", argv: []string{program}, env: []string{line}, stopBy: syscall.SIGTERM, taken: "address already in use",
	}
	s, err := launch(ctx, c, h, port, opts.Log, func(ctx context.Context) error { return pingS3(ctx, asked) })
	if err != nil {
		return nil, err
	}
	if err := keepPort(h.dir, port); err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	return &S3{server: s, order: asked}, nil
}

// keepPort writes a server's port down for its next start, aside and renamed: a crash in between must not leave half of it.
func keepPort(dir string, port int) error {
	path := filepath.Join(dir, portName)
	err := os.WriteFile(path+".new", []byte(strconv.Itoa(port)+"\n"), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("keep the port of s3: %w", err)
	}
	return nil
}

// Endpoint is the server's base URL.
func (s *S3) Endpoint() string { return "http://" + s.order.Address }

// Region is what requests must be signed for.
func (s *S3) Region() string { return s.order.Region }

// AccessKey names the key that requests must be signed with.
func (s *S3) AccessKey() string { return s.order.AccessKey }

// SecretKey is the key that requests must be signed with.
func (s *S3) SecretKey() string { return s.order.SecretKey }

func pingS3(ctx context.Context, asked order.Order) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+asked.Address+asked.HealthPath, nil)
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
