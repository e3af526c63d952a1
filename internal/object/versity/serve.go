// Package versity is the S3 server that molfabric brings along for a single machine: versitygw over a directory of files. The
// program molfabric-store is made of it, and tests start themselves as it. The program molfabric holds nothing of it, and starts
// molfabric-store through package gateway.
//
// The server does not flush to the disk what it has acknowledged: a power cut may lose the last objects. That is fit for one
// machine and not for a fleet, which brings its own S3.
package versity

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/internal/object/order"
)

// module is the Go module of the server.
const module = "github.com/versity/versitygw"

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

// Serve runs the server that this process' environment orders, until SIGTERM or SIGINT. ordered is false when it orders none, and
// then nothing happens. The server works below its own directory and may run once a process, so a process that serves does nothing
// else.
func Serve() (ordered bool, err error) {
	asked, ordered, err := order.Given()
	if err != nil || !ordered {
		return ordered, err
	}
	return true, serve(asked)
}

func serve(asked order.Order) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	syscall.Umask(umask)
	backend, err := openFiles(asked.Dir)
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, literal{backend}, &embedgw.Config{
		RootUserAccess:    asked.AccessKey,
		RootUserSecret:    asked.SecretKey,
		Region:            asked.Region,
		Ports:             []string{asked.Address},
		MaxConnections:    maxConnections,
		MaxRequests:       maxRequests,
		MultipartMaxParts: maxParts,
		HealthPath:        asked.HealthPath,
		KeepAlive:         true,
		Quiet:             true,
		DisableACLs:       true, // one owner; strangers come with signed URLs
	})
}

// Version is the server's name and version, e.g. "versitygw v1.8.0".
func Version() string {
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
