package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/internal/fault"
)

// spoolRoom is the disk that bodies on their way in may take together.
type spoolRoom struct {
	dir   string // of the temporary files; "" is the system's
	bytes int64
	taken atomic.Int64
}

func newSpoolRoom(dir string, bytes int64, registry prometheus.Registerer) *spoolRoom {
	room := &spoolRoom{dir: dir, bytes: bytes}
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "http_body_spool_bytes", Help: "Disk taken by request bodies that are on their way in.",
	}, func() float64 { return float64(room.taken.Load()) }))
	return room
}

// spool takes in one body: a small one in memory, a larger one in a file, so that whoever sends slowly holds no memory. The
// file has no name, so nothing of it is left however the process ends. It is used by one goroutine.
type spool struct {
	room   *spoolRoom
	memory bytes.Buffer
	file   *os.File // nil while the body is small
	size   int64
}

// newSpool expects expected bytes; -1 when nobody knows.
func (r *spoolRoom) newSpool(expected int64) (*spool, error) {
	s := &spool{room: r}
	if expected <= memoryBody {
		return s, nil
	}
	err := s.open()
	return s, err
}

// Write takes the next bytes in. Errors: fault.ProviderUnavailable when the disk is full, or our part of it.
func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.size+int64(len(p)) > memoryBody {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	if s.file == nil {
		s.size += int64(len(p))
		return s.memory.Write(p)
	}
	return s.append(p)
}

// open moves what has come so far into a file.
func (s *spool) open() error {
	file, err := os.CreateTemp(s.room.dir, "molfabric-body-*")
	if err != nil {
		return noRoom(err)
	}
	s.file = file
	if err := os.Remove(file.Name()); err != nil {
		return noRoom(err)
	}
	early := s.memory.Bytes()
	s.memory, s.size = bytes.Buffer{}, 0
	_, err = s.append(early)
	return err
}

func (s *spool) append(p []byte) (int, error) {
	if taken := s.room.taken.Add(int64(len(p))); taken > s.room.bytes {
		s.room.taken.Add(-int64(len(p)))
		return 0, noRoom(fmt.Errorf("%d bytes of %d are taken", taken-int64(len(p)), s.room.bytes))
	}
	s.size += int64(len(p))
	n, err := s.file.Write(p)
	if err != nil {
		return n, noRoom(err)
	}
	return n, nil
}

// content returns the whole body. The caller holds one of the slots when it is large.
func (s *spool) content() ([]byte, error) {
	if s.file == nil {
		return s.memory.Bytes(), nil
	}
	content := make([]byte, s.size)
	if _, err := s.file.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, noRoom(err)
	}
	return content, nil
}

// close gives the disk back. It may be called again.
func (s *spool) close() {
	if s.file == nil {
		return
	}
	_ = s.file.Close() // it was deleted when it was made: closing frees it, and nothing is left to save
	s.room.taken.Add(-s.size)
	s.file, s.size = nil, 0
}

func noRoom(cause error) error {
	return fault.Wrap(fmt.Errorf("keep a body on disk: %w", cause), fault.ProviderUnavailable,
		"there is no room for a body of this size at this moment: try again")
}
