package objecttest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	// otherProgram is where set-up builds the second server, relative to the repository.
	otherProgram = "bin/tools/minio"
	otherInstall = "make bin/tools/minio"
	// portTries bounds how often another port is tried: one is taken between its choice and its use only by chance.
	portTries = 5
	// pollInterval is short against what a start takes (about a second).
	pollInterval = 20 * time.Millisecond
)

// OnEach runs a test on a bucket of its own in every kind of S3 server: the one that molfabric brings along and another
// maker's, side by side. What passes needs nothing but S3. Without the second server its half is skipped, loudly.
func OnEach(t *testing.T, test func(t *testing.T, store *object.Store, cfg object.Config)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []struct {
		name string
		open func(testing.TB) (*object.Store, object.Config)
	}{{"embedded", New}, {"minio", NewOther}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			store, cfg := kind.open(t)
			test(t, store, cfg)
		})
	}
}

// NewOther is New on another maker's S3 server, which set-up builds for the tests and the first test of a process starts.
func NewOther(t testing.TB) (*object.Store, object.Config) {
	t.Helper()
	cfg, err := other()
	serverstest.Check(t, err)
	cfg.Bucket = id.New(bucketPrefix)
	return open(t, cfg), cfg
}

var other = sync.OnceValues(func() (object.Config, error) {
	program, err := findOther()
	if err != nil {
		return object.Config{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cfg, err := serverstest.StartShared("minio", func(dir string) (object.Config, error) { return startOther(ctx, program, dir) })
	if err != nil {
		return object.Config{}, err
	}
	return cfg, dropLeftovers(ctx, cfg)
})

// findOther looks for the program in the repository that the test runs in.
func findOther() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		program := filepath.Join(dir, otherProgram)
		if _, err := os.Stat(program); err != nil {
			return "", &servers.MissingError{Program: otherProgram, Install: otherInstall}
		}
		return program, nil
	}
	return "", errors.New("the test runs outside a Go module")
}

// startOther starts the program on the objects of dir, for as long as this process lives.
func startOther(ctx context.Context, program, dir string) (object.Config, error) {
	if err := lock(dir); err != nil {
		return object.Config{}, err
	}
	cfg := object.Config{Region: "us-east-1", AccessKey: "molfabric", SecretKey: id.New("")}
	for try := 1; ; try++ {
		address, err := freeAddress()
		if err != nil {
			return object.Config{}, err
		}
		cfg.Endpoint = "http://" + address
		err = launch(ctx, program, dir, address, cfg)
		if err == nil || try == portTries {
			return cfg, err
		}
	}
}

// lock takes dir for this process, whose end frees it.
func lock(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(&servers.LockedError{Dir: dir}, file.Close())
	}
	held = append(held, file)
	return nil
}

// held keeps locked files from being closed as garbage.
var held []*os.File

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// launch starts the program and returns when it answers.
func launch(ctx context.Context, program, dir, address string, cfg object.Config) error {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	cmd := exec.Command(program, "server", "--quiet", "--anonymous", "--address", address, "--console-address", "127.0.0.1:0", data) //nolint:noctx // lives as long as this process
	cmd.Env = append(os.Environ(), "HOME="+dir, "MINIO_ROOT_USER="+cfg.AccessKey, "MINIO_ROOT_PASSWORD="+cfg.SecretKey,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CI_CD=on")
	if err := proc.Start(cmd); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !answers(ctx, cfg.Endpoint+"/minio/health/ready") {
		select {
		case err := <-ended:
			return fmt.Errorf("%s ended by itself: %w", program, err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), proc.SignalGroup(cmd.Process.Pid, syscall.SIGKILL))
		case <-tick.C:
		}
	}
	return nil
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
