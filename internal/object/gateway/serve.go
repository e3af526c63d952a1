package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/internal/servers"
)

const (
	// maxConnections is several for each worker slot and browser of one machine; each costs a few kilobytes.
	maxConnections = 1024
	// maxRequests at once keep memory bounded, at up to a megabyte of buffer each; more are answered "slow down", and clients do.
	maxRequests = 256
	// maxFileActions bounds the threads that wait for the disk.
	maxFileActions = 64
	// maxParts is S3's own limit for a multipart upload.
	maxParts = 10_000
	// umask, dirMode and fileMode keep customers' files from the machine's other users.
	umask                = 0o077
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// init makes a process that was started by servers.StartS3 the server and ends it with the server: before main, so that every
// program that can start the server can also be it, test programs included. For every other process it does nothing.
func init() {
	text, asked := os.LookupEnv(servers.S3OrderEnv)
	if !asked {
		return
	}
	var order servers.S3Order
	err := json.Unmarshal([]byte(text), &order)
	if err == nil {
		err = serve(order)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "s3 server:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs the server until SIGTERM or SIGINT.
func serve(order servers.S3Order) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	syscall.Umask(umask)
	backend, err := openFiles(order.Dir)
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
		RootUserAccess:    order.AccessKey,
		RootUserSecret:    order.SecretKey,
		Region:            order.Region,
		Ports:             []string{order.Address},
		MaxConnections:    maxConnections,
		MaxRequests:       maxRequests,
		MultipartMaxParts: maxParts,
		HealthPath:        servers.S3HealthPath,
		KeepAlive:         true,
		Quiet:             true,
		DisableACLs:       true, // one owner; strangers come with signed URLs
	})
}

// openFiles opens the objects below dir, with their metadata in extended attributes, or in files beside them where the file
// system has no attributes. The choice is made once a directory.
func openFiles(dir string) (*posix.Posix, error) {
	objects, sidecar := filepath.Join(dir, "objects"), filepath.Join(dir, "metadata")
	if err := os.MkdirAll(objects, dirMode); err != nil {
		return nil, err
	}
	beside, err := needsSidecar(objects, sidecar)
	if err != nil {
		return nil, err
	}
	opts := posix.PosixOpts{Concurrency: maxFileActions}
	opts.SetNewDirPerm(dirMode)
	opts.SetNewFilePerm(fileMode)
	if !beside {
		return posix.New(objects, meta.XattrMeta{}, opts)
	}
	if err := os.MkdirAll(sidecar, dirMode); err != nil {
		return nil, err
	}
	opts.SideCarDir = sidecar
	files, err := meta.NewSideCar(sidecar)
	if err != nil {
		return nil, err
	}
	return posix.New(objects, files, opts)
}

// needsSidecar tells whether metadata goes to files beside the objects: it did so before, or the file system refuses
// extended attributes.
func needsSidecar(objects, sidecar string) (bool, error) {
	if _, err := os.Lstat(sidecar); err == nil {
		return true, nil
	}
	err := unix.Setxattr(objects, "user.molfabric", []byte("1"), 0)
	if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EPERM) {
		return true, nil
	}
	return false, err
}
