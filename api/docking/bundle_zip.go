package docking

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

// bundlePiece is how much of an archive is sent at once; in memory there are two of them and what the compression looks back on.
const bundlePiece = 256 << 10

// parcel is a file of an archive.
type parcel struct {
	path     string
	sha256   string // hex
	byteSize int64
	open     func(ctx context.Context) (io.ReadCloser, error)
}

// written is a file whose text is there.
func written(path string, text []byte) parcel {
	sum := sha256.Sum256(text)
	return parcel{path: path, sha256: hex.EncodeToString(sum[:]), byteSize: int64(len(text)),
		open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), nil
		}}
}

// zipper makes an archive piece by piece. The same parcels and time give the same bytes. One goroutine at a time uses it.
type zipper struct {
	at      time.Time // of every file
	left    []parcel
	out     bytes.Buffer
	archive *zip.Writer

	body  io.ReadCloser // of the parcel that is being packed, the first of those left; nil between two
	from  io.Reader     // what is read of it
	sum   hash.Hash
	entry io.Writer
	ended bool
}

func newZipper(at time.Time, parcels []parcel) *zipper {
	z := &zipper{at: at, left: parcels}
	z.archive = zip.NewWriter(&z.out)
	return z
}

// next returns the next piece, which is good until the next call; io.EOF after the last. Errors: fault.ChecksumMismatch for a
// stored file that is gone or has other bytes; object.ErrUnavailable.
func (z *zipper) next(ctx context.Context) ([]byte, error) {
	if z.ended {
		return nil, io.EOF
	}
	z.out.Reset()
	for z.out.Len() < bundlePiece && !z.ended {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := z.step(ctx); err != nil {
			return nil, err
		}
	}
	return z.out.Bytes(), nil
}

// step goes on by a part of a file, or by the archive's directory after the last.
func (z *zipper) step(ctx context.Context) error {
	if z.body != nil {
		return z.copy()
	}
	if len(z.left) == 0 {
		z.ended = true
		return z.archive.Close()
	}
	one := z.left[0]
	body, err := one.open(ctx)
	if errors.Is(err, object.ErrNotFound) {
		return one.lost()
	}
	if err != nil {
		return fmt.Errorf("packing %s: %w", one.path, err)
	}
	z.body, z.from, z.sum = body, io.LimitReader(body, one.byteSize+1), sha256.New() // a byte too many gives it away
	z.entry, err = z.archive.CreateHeader(&zip.FileHeader{Name: one.path, Method: zip.Deflate, Modified: z.at})
	return err
}

// copy packs a part of the open parcel, and holds it against its digest at its end.
func (z *zipper) copy() error {
	one := z.left[0]
	_, err := io.CopyN(io.MultiWriter(z.entry, z.sum), z.from, bundlePiece)
	if err == nil {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("packing %s: %w", one.path, err)
	}
	z.close()
	if hex.EncodeToString(z.sum.Sum(nil)) != one.sha256 {
		return one.lost()
	}
	z.left[0] = parcel{} // its text is not needed any more
	z.left = z.left[1:]
	return nil
}

// lost says that a file is not what it was.
func (p parcel) lost() error {
	return fault.New(fault.ChecksumMismatch, "the stored file %s is gone, or is not what its SHA-256 says; run the docking again "+
		"(POST …/runs/{id}/reproduce)", p.path)
}

// close lets go of what is being packed. It may be called again.
func (z *zipper) close() {
	if z.body != nil {
		_ = z.body.Close() // read to its end, or given up
		z.body = nil
	}
}
